// The sources, a row each. Inside agent/metadata/.
#pragma once

#include <span>
#include <string_view>

#include "agent/metadata/metadata.hpp"

namespace agent::metadata {

struct Source {
  std::string_view name;
  // One attempt. ErrorCode::io and timed_out: it may be there later. All others: it is not this cloud, or it
  // says what cannot be used.
  base::Result<Metadata> (*read)(const SourceOptions& options);
};

std::span<const Source> sources();

base::Result<Metadata> read_ec2(const SourceOptions& options);
base::Result<Metadata> read_openstack(const SourceOptions& options);
base::Result<Metadata> read_nocloud(const SourceOptions& options);
base::Result<Metadata> read_local_file(const SourceOptions& options);

// Takes over the settings of the userdata, and checks all names. Only a file may leave out the machine's.
base::Result<Metadata> finished(Metadata metadata, bool may_lack_id = false);

// Clouds allow 16 KiB (EC2) to 64 KiB (OpenStack, encoded).
inline constexpr std::size_t kLargestUserdata = 64 * 1024;

}  // namespace agent::metadata
