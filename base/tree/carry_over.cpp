#include "base/tree/carry_over.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include "base/files/others.hpp"
#include "base/text.hpp"
#include "base/tree/access_list.hpp"

namespace base {

namespace {

constexpr std::string_view kAccessList = "system.posix_acl_access";
constexpr std::string_view kCapabilities = "security.capability";

// Descriptors that are O_PATH have no attributes; their entries in /proc lead to the very same inode.
std::string by_descriptor(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

bool has_none(int why) {
  return why == ENODATA || why == EOPNOTSUPP;
}

// The names of its extended attributes that we may see.
Result<std::vector<std::string>> names_of(int file) {
  const std::string path = by_descriptor(file);
  std::string names;
  while (true) {
    const ssize_t size = ::listxattr(path.c_str(), nullptr, 0);
    if (size == 0 || (size < 0 && has_none(errno))) return std::vector<std::string>();
    if (size < 0) return os_error(errno, "listxattr");
    names.resize(static_cast<std::size_t>(size));
    const ssize_t got = ::listxattr(path.c_str(), names.data(), names.size());
    if (got < 0 && errno == ERANGE) continue;  // more have come meanwhile
    if (got < 0) return os_error(errno, "listxattr");
    names.resize(static_cast<std::size_t>(got));
    break;
  }
  std::vector<std::string> all;
  for (const std::string_view name : split(names, '\0'))
    if (!name.empty()) all.emplace_back(name);
  return all;
}

// Nothing when it was taken away meanwhile.
Result<std::optional<std::string>> value_of(int file, const std::string& name) {
  const std::string path = by_descriptor(file);
  std::string value;
  while (true) {
    const ssize_t size = ::getxattr(path.c_str(), name.c_str(), nullptr, 0);
    if (size < 0 && errno == ENODATA) return std::optional<std::string>();
    if (size < 0) return os_error(errno, name);
    value.resize(static_cast<std::size_t>(size));
    const ssize_t got = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (got < 0 && errno == ERANGE) continue;
    if (got < 0) return os_error(errno, name);
    value.resize(static_cast<std::size_t>(got));
    return std::optional(std::move(value));
  }
}

std::string shown_name(std::string_view name) {
  if (name == kAccessList) return "access list";
  return name == kCapabilities ? "capabilities" : "attribute " + std::string(name);
}

// Made by the kernel for the very bytes or inode, or by a file system for itself.
bool is_the_kernels(std::string_view name) {
  return name == "security.ima" || name == "security.evm" || name.starts_with("trusted.overlay.");
}

bool is_label(std::string_view name) {
  return name.starts_with("security.") && name != kCapabilities;
}

// Why somebody else may have put there what the file has; "" when nobody can have.
std::string why_not_trusted(int folder, const struct stat& found, const Attributes& wanted) {
  const bool keeps_owner = wanted.uid.value_or(found.st_uid) == found.st_uid;
  if (is_other(found.st_uid) && !keeps_owner) return "it was given by uid " + std::to_string(found.st_uid);
  struct stat in {};
  if (::fstat(folder, &in) != 0) return "its folder cannot be looked at";
  const std::string how =
      how_others_write_to(folder, in, keeps_owner ? std::optional(found.st_uid) : std::nullopt);
  return how.empty() ? how : "others may have put it there: its folder " + how;
}

// Why one of the attributes is not carried over; "" when it is.
std::string why_lost(std::string_view name, const std::string& distrust, bool loses_writers) {
  if (name == kCapabilities) return "new content does not inherit them";
  if (!distrust.empty()) return distrust;
  if (name.starts_with("system.") && name != kAccessList) return "only POSIX access lists are carried over";
  if (name.starts_with("user.") && loses_writers)
    return "those who may no longer write to the file may have put it there";
  return {};
}

Result<void> put(const std::string& name, const std::string& value, int new_file) {
  std::string present(value.size() + 1, '\0');
  const ssize_t size = ::fgetxattr(new_file, name.c_str(), present.data(), present.size());
  if (size >= 0 && std::string_view(present.data(), static_cast<std::size_t>(size)) == value) return {};
  if (::fsetxattr(new_file, name.c_str(), value.data(), value.size(), 0) == 0) return {};
  const bool is_refused = errno == EPERM || errno == EACCES || errno == EOPNOTSUPP;
  if (is_refused && is_label(name)) return {};
  return os_error(errno, "cannot carry the extended attribute " + name +
                             " over from the file that is replaced (setfattr -x " + name + " removes it)");
}

}  // namespace

Result<CarryOver> what_carries_over(int folder, int file, const struct stat& found,
                                    const Attributes& wanted) {
  auto names = names_of(file);
  if (!names) return std::move(names).error();
  CarryOver what;
  if (names->empty()) return what;
  const std::string distrust = why_not_trusted(folder, found, wanted);
  const bool loses_writers = takes_write_access(found, wanted);
  for (std::string& name : *names) {
    if (is_the_kernels(name)) continue;
    std::string why = why_lost(name, distrust, loses_writers);
    if (why.empty())
      what.kept.push_back(std::move(name));
    else if (!is_label(name))  // the kernel labels the new file by its policy
      what.lost.push_back({.name = shown_name(name), .why = std::move(why)});
  }
  return what;
}

Result<void> carry_over(const CarryOver& what, int file, int new_file) {
  for (const std::string& name : what.kept) {
    auto value = value_of(file, name);
    if (!value) return std::move(value).error().with_context("reading an extended attribute");
    if (!*value) continue;
    auto done =
        name == kAccessList ? put_access_list(new_file, std::move(**value)) : put(name, **value, new_file);
    if (!done) return done;
  }
  return {};
}

Result<std::vector<CarryOver::Lost>> lost_by_owner(int file, const struct stat& found,
                                                   const Attributes& wanted) {
  std::vector<CarryOver::Lost> lost;
  const bool keeps_owner = wanted.uid.value_or(found.st_uid) == found.st_uid;
  const bool keeps_list = keeps_owner || !is_other(found.st_uid);
  const bool keeps_rights = keeps_capabilities(found, wanted);
  if (keeps_list && keeps_rights) return lost;
  auto names = names_of(file);
  if (!names) return std::move(names).error();
  const auto has = [&](std::string_view name) { return std::ranges::find(*names, name) != names->end(); };
  if (!keeps_list && has(kAccessList))
    lost.push_back({"access list", "it was given by uid " + std::to_string(found.st_uid)});
  if (!keeps_rights && has(kCapabilities))
    lost.push_back({"capabilities", "a file that gets another owner loses them"});
  return lost;
}

}  // namespace base
