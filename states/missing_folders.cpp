#include "states/missing_folders.hpp"

#include <algorithm>

namespace states {

base::Result<std::vector<std::string>> missing_folders(std::string_view path, Context& context) {
  std::vector<std::string> missing;
  for (std::string_view folder = base::split_path(path).folder; folder != "/";
       folder = base::split_path(folder).folder) {
    const Overlay::Entry* planned = context.overlay.path(folder);
    if (planned && planned->effect.present && planned->effect.kind == EffectKind::directory) break;
    auto found = context.tree.look(folder);
    if (!found) return std::move(found).error();
    if (*found) break;
    missing.emplace_back(folder);
  }
  std::ranges::reverse(missing);
  return missing;
}

}  // namespace states
