#include "states/linux_lvm_lv/lvcreate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "base/text.hpp"
#include "states/block_devices/lvm.hpp"

namespace states::linux_lvm_lv {

namespace {

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

base::Error illegal(std::string_view param, std::string_view value) {
  return invalid("Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'");
}

bool is_digit(unsigned char c) {
  return std::isdigit(c) != 0;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_digit);
}

// "100", "50%FREE"
bool is_extents(std::string_view text) {
  const std::size_t percent = text.find('%');
  if (!is_number(text.substr(0, percent))) return false;
  if (percent == text.npos) return true;
  constexpr std::array<std::string_view, 4> kOf{"VG", "FREE", "PVS", "ORIGIN"};
  return std::ranges::any_of(
      kOf, [&](std::string_view of) { return base::equal_ignoring_case(text.substr(percent + 1), of); });
}

// What stands behind "/dev/", the group and slashes; "" when another group is named.
std::string_view name_in_group(std::string_view text, std::string_view group) {
  if (text.starts_with("/dev/")) text.remove_prefix(5);
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return text;
  return text.substr(0, slash) == group ? text.substr(slash + 1) : std::string_view();
}

base::Result<void> check_sizes(const Params& params) {
  const std::pair<std::string_view, std::string_view> sizes[] = {
      {"le-size", params.le_size},           {"chunk-size", params.chunk_size},
      {"stripe-size", params.stripe_size},   {"region-size", params.region_size},
      {"virtual-size", params.virtual_size}, {"pool-metadata-size", params.pool_metadata_size}};
  for (const auto& [name, value] : sizes)
    if (!value.empty() && !bytes_of(value)) return illegal(name, value);
  const std::pair<std::string_view, std::string_view> numbers[] = {{"stripe-number", params.stripe_number},
                                                                   {"mirror-number", params.mirror_number},
                                                                   {"minor-number", params.minor_number}};
  for (const auto& [name, value] : numbers)
    if (!value.empty() && !is_number(value)) return illegal(name, value);
  if (!params.le_number.empty() && !is_extents(params.le_number))
    return illegal("le-number", params.le_number);
  if (!params.readahead.empty() && params.readahead != "auto" && params.readahead != "none" &&
      !bytes_of(params.readahead))
    return illegal("readahead", params.readahead);
  return {};
}

base::Result<void> check_words(const Params& params) {
  constexpr std::array<std::string_view, 7> kActivations{"y", "ay", "n", "ey", "en", "ly", "ln"};
  constexpr std::array<std::string_view, 3> kDiscards{"ignore", "nopassdown", "passdown"};
  constexpr std::array<std::string_view, 2> kPermissions{"r", "rw"};
  constexpr std::array<std::string_view, 5> kPolicies{"anywhere", "contiguous", "cling", "inherit", "normal"};
  const auto is_one = [](std::string_view value, std::span<const std::string_view> words) {
    return value.empty() || std::ranges::find(words, value) != words.end();
  };
  if (!is_one(params.available, kActivations)) return illegal("available", params.available);
  if (!is_one(params.discards, kDiscards)) return illegal("discards", params.discards);
  if (!is_one(params.permission, kPermissions)) return illegal("permission", params.permission);
  if (!is_one(params.allocation_policy, kPolicies))
    return illegal("allocation-policy", params.allocation_policy);
  if (!params.type.empty())
    if (auto fine = block_devices::check_lvm_name("type", params.type); !fine) return fine;
  return block_devices::check_lvm_value("tag", params.tag);
}

base::Result<void> check_names(const Params& params) {
  if (auto fine = block_devices::check_lvm_name("name", params.name); !fine) return fine;
  if (auto fine = block_devices::check_lvm_name("vg-name", params.vg_name); !fine) return fine;
  for (const std::string_view path : params.path)
    if (auto fine = block_devices::check_device_path("path", path); !fine) return fine;
  if (!params.snapshot.empty() && !block_devices::check_lvm_name("snapshot", origin_of(params)))
    return illegal("snapshot", params.snapshot);
  if (!params.snapshot.empty() && origin_of(params) == params.name)
    return invalid("'snapshot' is the volume that is there, 'name' the new one: they must differ");
  if (!params.thinpool.empty() && !block_devices::check_lvm_name("thinpool", pool_of(params)))
    return illegal("thinpool", params.thinpool);
  return {};
}

}  // namespace

std::optional<std::uint64_t> bytes_of(std::string_view size) {
  const auto end = std::ranges::find_if_not(size, [](unsigned char c) { return is_digit(c) || c == '.'; });
  const std::string number(size.begin(), end);
  std::string unit(end, size.end());
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::size_t kLongest = 20;
  if (number.empty() || !is_digit(static_cast<unsigned char>(number.front())) ||
      !is_digit(static_cast<unsigned char>(number.back())) || number.size() > kLongest ||
      std::ranges::count(number, '.') > 1)
    return std::nullopt;
  double factor = 1;
  constexpr std::string_view kUnits = "kmgtpe";
  if (unit == "s")
    factor = 512;
  else if (unit.empty())
    factor = 1024.0 * 1024;
  else if (unit != "b") {
    const std::size_t power = kUnits.find(unit.front());
    const std::string rest = unit.substr(1);
    if (power == kUnits.npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
    factor = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = std::strtod(number.c_str(), nullptr) * factor;
  if (!(bytes < std::ldexp(1.0, 63))) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string_view origin_of(const Params& params) {
  return name_in_group(params.snapshot, params.vg_name);
}

std::string_view pool_of(const Params& params) {
  return name_in_group(params.thinpool, params.vg_name);
}

bool stays_inactive(const Params& params) {
  return params.available == "n" || params.available == "en" || params.available == "ln";
}

base::Result<void> check_options(const Params& params) {
  if (auto fine = check_names(params); !fine) return fine;
  if (auto fine = check_sizes(params); !fine) return fine;
  if (auto fine = check_words(params); !fine) return fine;
  const bool has_both = !params.le_size.empty() && !params.le_number.empty();
  // Whether the origin of a snapshot is thin is seen when it is looked at.
  const bool needs_none = is_in_old_pool(params) || !params.snapshot.empty();
  if (has_both || (!has_size(params) && !needs_none))
    return invalid("Give exactly one of 'le-size' and 'le-number'");
  if (!params.minor_number.empty() && !params.persistent) return invalid("'minor-number' needs 'persistent'");
  return {};
}

std::vector<std::string> command_for(const Params& params, const std::vector<std::string>& devices) {
  std::vector<std::string> argv{"lvcreate", "--yes"};
  const auto option = [&](const char* name, std::string_view value) {
    if (value.empty()) return;
    argv.emplace_back(name);
    argv.emplace_back(value);
  };
  const auto choice = [&](const char* name, std::optional<bool> value) {
    if (value) option(name, *value ? "y" : "n");
  };
  const auto flag = [&](const char* name, bool value) {
    if (value) argv.emplace_back(name);
  };
  const bool is_snapshot = !params.snapshot.empty();
  const bool makes_pool = params.type == "thin-pool" || (!params.thinpool.empty() && has_size(params));
  const bool is_only_pool = (makes_pool || params.type.ends_with("-pool")) && params.virtual_size.empty();
  option("--name", params.name);
  flag("--snapshot", is_snapshot);
  option("--size", params.le_size);
  option("--extents", params.le_number);
  option("--activate", params.available);
  option("--chunksize", params.chunk_size);
  option("--stripes", params.stripe_number);
  option("--stripesize", params.stripe_size);
  option("--mirrors", params.mirror_number);
  option("--regionsize", params.region_size);
  option("--readahead", params.readahead);
  // Recipes have it for other volumes, too: an editor filled it in.
  if (makes_pool) option("--discards", params.discards);
  option("--permission", params.permission);
  option("--type", params.type);
  option("--virtualsize", params.virtual_size);
  if (is_marked(params)) option("--addtag", kUnfinished);
  option("--addtag", params.tag);
  option("--alloc", params.allocation_policy);
  option("--poolmetadatasize", params.pool_metadata_size);
  option("--thinpool", pool_of(params));
  if (!params.minor_number.empty()) {
    option("--minor", params.minor_number);
    option("--persistent", "y");
  }
  choice("--contiguous", params.contiguous);
  // What has no device, or one that only reads, cannot be cleared: LVM wants to be told so.
  const bool can_be_cleared = !stays_inactive(params) && params.permission != "r";
  choice("--zero", params.zero || can_be_cleared || is_snapshot ? params.zero : std::optional(false));
  // LVM takes the option for what has content of its own from the beginning.
  if (!is_snapshot && !is_only_pool) option("--wipesignatures", can_be_cleared ? "y" : "n");
  choice("--monitor", params.monitor);
  choice("--autobackup", params.autobackup);
  flag("--noudevsync", params.no_udev_sync);
  flag("--ignoremonitoring", params.ignore_monitoring);
  argv.emplace_back("--");
  argv.push_back(std::string(params.vg_name) + (is_snapshot ? "/" + std::string(origin_of(params)) : ""));
  argv.insert(argv.end(), devices.begin(), devices.end());
  return argv;
}

}  // namespace states::linux_lvm_lv
