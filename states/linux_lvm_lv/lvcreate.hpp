// lvcreate: its options as parameters of a state, what is wrong with them, and the command that they make.
// Pure: nothing is read or run here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/param.hpp"

namespace states::linux_lvm_lv {

struct Params {
  std::string_view name;
  std::string_view vg_name;
  List path;
  std::string_view le_size;
  std::string_view le_number;
  std::string_view available;
  std::string_view chunk_size;
  std::string_view stripe_number;
  std::string_view stripe_size;
  std::string_view mirror_number;
  std::string_view region_size;
  std::string_view readahead;
  std::string_view discards;
  std::string_view permission;
  std::string_view type;
  std::string_view virtual_size;
  std::string_view tag;
  std::string_view allocation_policy;
  std::string_view pool_metadata_size;
  std::string_view thinpool;
  std::string_view minor_number;
  bool persistent = false;
  std::optional<bool> contiguous;
  std::optional<bool> zero;
  std::optional<bool> monitor;
  std::optional<bool> autobackup;
  bool no_udev_sync = false;
  bool ignore_monitoring = false;
  std::string_view snapshot;
};

// Rules that need no look at the machine.
base::Result<void> check_options(const Params& params);

// "8", "8m", "1.5G" in bytes; a number without a unit counts MiB, as for LVM. Nothing when it is no size.
std::optional<std::uint64_t> bytes_of(std::string_view size);

// The volume that `snapshot` names: "origin", "vg/origin" or "/dev/vg/origin".
std::string_view origin_of(const Params& params);
// The pool that `thinpool` names: "pool" or "vg/pool".
std::string_view pool_of(const Params& params);

// Whether one of 'le-size' and 'le-number' is given.
inline bool has_size(const Params& params) {
  return !params.le_size.empty() || !params.le_number.empty();
}
// A thin volume in a pool that is there already.
inline bool is_in_old_pool(const Params& params) {
  return !params.thinpool.empty() && !params.virtual_size.empty() && !has_size(params);
}
// A pool and a thin volume in it at once.
inline bool makes_pool_and_volume(const Params& params) {
  return !params.thinpool.empty() && !params.virtual_size.empty() && has_size(params);
}
// Without a device when it is made.
bool stays_inactive(const Params& params);

// The tag that a volume has until it is complete; see mark_of().
inline constexpr std::string_view kUnfinished = "opsagent-unfinished";
// Whether the new volume gets that tag. When a pool and a volume are made at once, LVM gives tags to the
// pool.
inline bool is_marked(const Params& params) {
  return !makes_pool_and_volume(params);
}

// `devices`: the physical volumes, without links.
std::vector<std::string> command_for(const Params& params, const std::vector<std::string>& devices);

}  // namespace states::linux_lvm_lv
