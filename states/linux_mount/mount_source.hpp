// What is to be mounted: a device, the image of one, a folder (a bind mount), or something that only its file
// system knows (a share of a server, tmpfs). Reads only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/block_devices/mount_table.hpp"
#include "states/context.hpp"

namespace states::linux_mount {

struct Source {
  enum class Kind { device, image, bind, name };
  Kind kind = Kind::name;
  std::string argument;  // for mount(8)
  dev_t number = 0;      // of a device, and of what is bound
  std::string root;      // of what is bound: which part of its file system
  bool is_file = false;  // what is bound is no folder
};

struct WantedSource {
  std::string_view device;  // as the recipe says
  std::string_view filesystem;
  bool is_bind = false;  // the type is "none", or an option says so
};

// Nothing when it is not there.
base::Result<std::optional<Source>> find_source(const WantedSource& wanted, Context& context);

// Whether that is what this mount shows.
bool is_mounted(const Source& source, std::string_view filesystem, const block_devices::Mount& mount);

}  // namespace states::linux_mount
