#include "states/linux_mount/mount_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "states/block_devices/block_device.hpp"

namespace states::linux_mount {

namespace {

using block_devices::Mount;

// A word of a recipe, the flag that the kernel shows for it, and whether that is to be there.
struct Flag {
  std::string_view word;
  std::string_view shown;
  bool is_set;
};
// Not "norelatime": the kernel takes relatime all the same where neither noatime nor strictatime is asked
// for.
constexpr std::array<Flag, 16> kFlags{{{"ro", "ro", true},
                                       {"rw", "ro", false},
                                       {"nosuid", "nosuid", true},
                                       {"suid", "nosuid", false},
                                       {"nodev", "nodev", true},
                                       {"dev", "nodev", false},
                                       {"noexec", "noexec", true},
                                       {"exec", "noexec", false},
                                       {"noatime", "noatime", true},
                                       {"atime", "noatime", false},
                                       {"relatime", "relatime", true},
                                       {"strictatime", "relatime", false},
                                       {"nodiratime", "nodiratime", true},
                                       {"diratime", "nodiratime", false},
                                       {"nosymfollow", "nosymfollow", true},
                                       {"symfollow", "nosymfollow", false}}};

constexpr std::array<std::string_view, 7> kPasswords{"password", "password2", "pass",      "passwd",
                                                     "pwd",      "secret",    "passphrase"};

std::string_view value_of(std::string_view options, std::string_view name) {
  std::string_view value;
  for (const std::string_view option : base::split(options, ','))
    if (option.size() > name.size() && option.starts_with(name) && option[name.size()] == '=')
      value = option.substr(name.size() + 1);
  return value;
}

// In KiB, rounded up to pages as the kernel does; nothing for percentages and what is no size.
std::optional<std::int64_t> tmpfs_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t unit = 1;
  switch (std::tolower(static_cast<unsigned char>(text.back()))) {
    case 'k':
      unit = 1LL << 10;
      break;
    case 'm':
      unit = 1LL << 20;
      break;
    case 'g':
      unit = 1LL << 30;
      break;
    default:
      break;
  }
  if (unit > 1) text.remove_suffix(1);
  const auto count = base::parse_integer(text);
  if (!count || *count < 0 || *count > (1LL << 60) / unit) return std::nullopt;
  constexpr std::int64_t kPage = 4096;
  return (*count * unit + kPage - 1) / kPage * (kPage / 1024);
}

bool is_shown(const Mount& mount, std::string_view flag) {
  if (has_option(mount.options, flag)) return true;
  // The whole file system may be read-only, whatever this mount says.
  return flag == "ro" && has_option(mount.super_options, flag);
}

}  // namespace

base::Result<void> check_options(List given) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  for (const std::string_view text : given) {
    if (std::ranges::any_of(text, is_control))
      return base::Error(base::ErrorCode::invalid,
                         "Illegal value for 'opts': it contains control characters");
    for (const std::string_view option : base::split(text, ',')) {
      const std::string_view name = base::trim(option.substr(0, option.find('=')));
      // "user=name%password", as smbclient and mount.cifs read it.
      const bool is_login = (name == "user" || name == "username") && option.find('%') != option.npos;
      if (is_login ||
          (option.find('=') != option.npos && std::ranges::find(kPasswords, name) != kPasswords.end()))
        return base::Error(
            base::ErrorCode::invalid,
            "Illegal value for 'opts': everybody could read the value of '" + std::string(name) +
                "' in /etc/fstab and among the arguments of mount; put it into a file that only "
                "root may read, and use 'credentials=FILE'");
    }
  }
  return {};
}

base::Result<void> check_device(std::string_view device) {
  if (without_password(device) == device) return {};
  return base::Error(
      base::ErrorCode::invalid,
      "Illegal value for 'device': everybody could read the password in it in /etc/fstab, in "
      "/proc/mounts and among the arguments of mount; put name and password into a file that only "
      "root may read, and use 'credentials=FILE', or what this file system calls it");
}

std::string without_password(std::string_view device) {
  // "//name:password@host/share", "https://name:password@host/", "name:password@host:/export"
  if (block_devices::is_tag(device)) return std::string(device);
  const std::size_t slashes = device.find("//");
  const bool has_scheme = slashes != device.npos && (slashes == 0 || device.front() != '/');
  const std::size_t begin = has_scheme ? slashes + 2 : 0;
  const std::string_view authority = device.substr(begin, device.find('/', begin) - begin);
  // What begins with a slash or a tag has no login, and of what is behind the host nothing counts.
  const std::size_t at = authority.rfind('@'), colon = authority.find_first_of(":%");
  if (at == authority.npos || colon == authority.npos || colon > at) return std::string(device);
  std::string text(device);
  return text.replace(begin + colon + 1, at - colon - 1, "***");
}

std::string without_passwords(std::string_view options) {
  std::string text;
  for (const std::string_view option : base::split(options, ',')) {
    const std::string_view name = option.substr(0, option.find('='));
    const bool is_secret =
        option.size() > name.size() && std::ranges::find(kPasswords, name) != kPasswords.end();
    const bool is_login = (name == "user" || name == "username") && option.find('%') != option.npos;
    text.append(text.empty() ? "" : ",");
    text.append(is_secret || is_login ? std::string(name) + "=***" : std::string(option));
  }
  return text;
}

std::string options_text(List given, bool is_bind) {
  std::string text;
  for (const std::string_view part : given)
    for (const std::string_view option : base::split(part, ','))
      if (const std::string_view word = base::trim(option); !word.empty())
        text.append(text.empty() ? "" : ",").append(word);
  if (is_bind && !has_option(text, "bind") && !has_option(text, "rbind"))
    text = text.empty() || text == "defaults" ? "bind" : "bind," + text;
  return text.empty() ? "defaults" : text;
}

bool has_option(std::string_view options, std::string_view name) {
  const std::vector<std::string_view> words = base::split(options, ',');
  return std::ranges::find(words, name) != words.end();
}

std::string missing_options(std::string_view wanted, const Mount& mount) {
  std::map<std::string_view, const Flag*>
      last;  // by what the kernel shows: of two that contradict, the later
  for (const std::string_view option : base::split(wanted, ','))
    for (const Flag& flag : kFlags)
      if (flag.word == option) last[flag.shown] = &flag;
  std::string missing;
  for (const auto& [shown, flag] : last)
    if (is_shown(mount, shown) != flag->is_set)
      missing.append(missing.empty() ? "" : ", ").append(flag->word);
  if (mount.type == "tmpfs") {
    const std::string_view size = value_of(wanted, "size");
    const auto asked = tmpfs_size(size);
    if (asked && asked != tmpfs_size(value_of(mount.super_options, "size")))
      missing.append(missing.empty() ? "" : ", ").append("size=").append(size);
  }
  return missing;
}

}  // namespace states::linux_mount
