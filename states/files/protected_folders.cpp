#include "states/files/protected_folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/files/folder_walk.hpp"
#include "base/fnv.hpp"

namespace states::files {

namespace {

constexpr std::array<std::string_view, 17> kProtected{"/",    "/bin",   "/boot",  "/dev",    "/etc",  "/home",
                                                      "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/root",
                                                      "/run", "/sbin",  "/sys",   "/usr",    "/var"};

base::Error refusal(std::string_view path, const std::string& why) {
  return {base::ErrorCode::invalid,
          "Refusing to remove " + std::string(path) + (why.empty() ? "" : ": " + why)};
}

// Whether it is the same directory as one of the protected ones.
bool is_protected(const struct stat& found, base::Tree& tree) {
  return std::ranges::any_of(kProtected, [&](std::string_view path) {
    auto folder = tree.folder(path);
    struct stat st {};
    return folder && ::fstat(*folder, &st) == 0 && st.st_dev == found.st_dev && st.st_ino == found.st_ino;
  });
}

}  // namespace

bool is_protected_name(std::string_view clean_path) {
  if (std::ranges::find(kProtected, clean_path) != kProtected.end()) return true;
  return clean_path.starts_with("/lib") && clean_path.find('/', 1) == std::string_view::npos;
}

base::Result<Removable> look_at_removable(std::string_view path, base::Tree& tree, base::Interrupt& interrupt,
                                          bool wants_mark) {
  const base::SplitPath parts = base::split_path(path);
  auto folder = tree.folder(parts.folder);
  if (!folder) return std::move(folder).error();
  const base::UniqueFd top = base::open_subfolder(*folder, std::string(parts.name).c_str());
  if (!top && errno == EXDEV) return refusal(path, "it is a mount point");
  struct stat st {};
  if (!top || ::fstat(top.get(), &st) != 0) return base::os_error(errno, "cannot open " + std::string(path));
  if (is_protected(st, tree)) return refusal(path, {});
  Removable found;
  const auto visit = [&](const base::WalkEntry& entry) -> base::Result<void> {
    if (entry.is_mount) return refusal(path, entry.path() + " is a mount point");
    ++found.entries;
    if (!wants_mark) return {};
    // A sum: folders are not read in the same order each time.
    const struct stat& info = entry.info;
    std::string text = entry.path();
    for (const auto number :
         {std::uint64_t(info.st_mode), std::uint64_t(info.st_ino), std::uint64_t(info.st_size),
          std::uint64_t(info.st_mtim.tv_sec), std::uint64_t(info.st_mtim.tv_nsec)})
      text += " " + std::to_string(number);
    found.mark += base::fnv1a(text);
    return {};
  };
  if (auto walked = base::walk_below(top.get(), path, interrupt, visit); !walked)
    return std::move(walked).error();
  return found;
}

}  // namespace states::files
