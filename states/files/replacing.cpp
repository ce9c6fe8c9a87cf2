#include "states/files/replacing.hpp"

#include <fcntl.h>

#include <cerrno>

#include "base/tree/carry_over.hpp"

namespace states::files {

namespace {

// What is at the path now, and the folder that it is in (borrowed from the tree).
struct Opened {
  int folder = -1;
  base::UniqueFd file;
};

base::Result<Opened> open_found(std::string_view path, Context& context) {
  const base::SplitPath parts = base::split_path(path);
  const auto folder = context.tree.folder(parts.folder);
  if (!folder) return folder.error();
  Opened opened{.folder = *folder};
  opened.file.reset(::openat(*folder, std::string(parts.name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.file) return base::os_error(errno, std::string(path));
  return opened;
}

void show(std::string_view path, const std::vector<base::CarryOver::Lost>& lost,
          std::vector<Change>& changes) {
  for (const base::CarryOver::Lost& one : lost)
    changes.push_back(
        {.what = one.name + " of " + std::string(path), .before = "present", .after = "dropped: " + one.why});
}

}  // namespace

std::string why_locked(std::string_view path, base::Changing what, Context& context) {
  const base::SplitPath parts = base::split_path(path);
  const auto folder = context.tree.folder(parts.folder);
  return folder ? base::why_locked(*folder, std::string(parts.name), path, what) : std::string();
}

base::Result<void> show_lost_by_replacing(std::string_view path, const struct stat& found,
                                          const base::Attributes& wanted, Context& context,
                                          std::vector<Change>& changes) {
  if (!S_ISREG(found.st_mode)) return {};
  if (found.st_nlink > 1)
    changes.push_back({.what = "hard links of " + std::string(path),
                       .before = std::to_string(found.st_nlink) + " names",
                       .after = "a file of its own; the other names keep what is there now"});
  auto opened = open_found(path, context);
  if (!opened) return std::move(opened).error();
  auto what = base::what_carries_over(opened->folder, opened->file.get(), found, wanted);
  if (!what) return std::move(what).error();
  show(path, what->lost, changes);
  return {};
}

base::Result<void> show_lost_by_owner(std::string_view path, const struct stat& found,
                                      const base::Attributes& wanted, Context& context,
                                      std::vector<Change>& changes) {
  if (!S_ISREG(found.st_mode)) return {};
  auto opened = open_found(path, context);
  if (!opened) return std::move(opened).error();
  auto lost = base::lost_by_owner(opened->file.get(), found, wanted);
  if (!lost) return std::move(lost).error();
  show(path, *lost, changes);
  return {};
}

}  // namespace states::files
