#include "states/linux_cmd/paths.hpp"

#include <cerrno>

#include "base/text.hpp"

namespace states::linux_cmd {

base::Result<std::optional<struct stat>> found_at(std::string_view path, std::optional<uid_t> whose,
                                                  Context& context) {
  auto found = context.tree.follow(path, whose);
  if (!found) {
    const base::ErrorCode why = found.error().code();
    if (why == base::ErrorCode::not_found || why == base::ErrorCode::exists)
      return std::optional<struct stat>();
    return std::move(found).error();
  }
  struct stat st {};
  if (::fstat(found->get(), &st) != 0) return base::os_error(errno, path);
  return std::optional(st);
}

const Overlay::Entry* planned_at(std::string_view path, const Context& context) {
  if (context.overlay.empty()) return nullptr;
  auto clean = base::clean_path(path);
  return clean ? context.overlay.followed(*clean) : nullptr;
}

}  // namespace states::linux_cmd
