#include "states/files/missing_folders.hpp"

#include <algorithm>

namespace states::files {

namespace {

// Whether a link on the way leads to something, or may do so once earlier states have been applied.
bool leads_somewhere(std::string_view link, Context& context) {
  auto opened = context.tree.folder(link);
  if (opened || opened.error().code() != base::ErrorCode::not_found) return true;
  if (context.overlay.empty()) return false;
  const auto destination = context.tree.link_destination(link);
  return !destination || context.overlay.provider(EffectKind::directory, *destination);
}

}  // namespace

base::Result<std::vector<std::string>> missing_folders(std::string_view path, Context& context) {
  std::vector<std::string> missing;
  if (context.tree.folder(base::split_path(path).folder)) return missing;  // mostly: it was used just now
  for (std::string_view folder = base::split_path(path).folder; folder != "/";
       folder = base::split_path(folder).folder) {
    const Overlay::Entry* planned = context.overlay.path(folder);
    if (planned && planned->effect.present && planned->effect.kind == EffectKind::directory) break;
    auto found = context.tree.look(folder);
    if (!found) return std::move(found).error();
    if (*found && S_ISLNK((*found)->st_mode) && !leads_somewhere(folder, context))
      return base::Error(base::ErrorCode::not_found,
                         std::string(folder) + " is a symlink that leads nowhere");
    if (*found) break;
    missing.emplace_back(folder);
  }
  std::ranges::reverse(missing);
  return missing;
}

}  // namespace states::files
