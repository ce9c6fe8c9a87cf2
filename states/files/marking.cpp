#include "states/files/marking.hpp"

#include "base/sha256.hpp"

namespace states::files {

base::Result<void> mark_content(std::string_view path, const struct stat& found, Context& context,
                                Plan& plan) {
  if (context.plan_salt.empty()) return {};
  base::Sha256 hash;
  hash.add(context.plan_salt);
  if (S_ISREG(found.st_mode)) {
    if (auto read = context.tree.read_pieces(path, [&](std::string_view piece) { hash.add(piece); }); !read)
      return read;
  } else if (S_ISLNK(found.st_mode)) {
    auto destination = context.tree.read_link(path);
    if (!destination) return std::move(destination).error();
    hash.add(*destination);
  }
  plan.mark += hash.finish();
  return {};
}

}  // namespace states::files
