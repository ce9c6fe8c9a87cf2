#include "states/files/repository_file.hpp"

#include <algorithm>

#include "base/diff.hpp"
#include "base/text.hpp"
#include "states/files/marking.hpp"
#include "states/files/missing_folders.hpp"
#include "states/files/ownership.hpp"
#include "states/files/replacing.hpp"

namespace states::files {

namespace {

constexpr base::Attributes kAttributes{.uid = 0, .gid = 0, .mode = 0644};

// "https://user:password@host": old recipes have them, and a diff must not.
bool has_credentials(std::string_view text) {
  for (std::size_t at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
    const std::string_view host = text.substr(at + 3, text.find_first_of("/ \t\n", at + 3) - at - 3);
    if (host.find('@') != host.npos) return true;
  }
  return false;
}

}  // namespace

std::string repository_text(std::string_view content) {
  std::string text(content);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

std::string repository_diff(std::string_view before, std::string_view after) {
  if (after.size() > kLargestRepositoryDiffed || !base::is_utf8(before) || !base::is_utf8(after)) return {};
  if (has_credentials(before) || has_credentials(after)) return {};
  return base::unified_diff(before, after);
}

base::Result<void> plan_repository_file(RepositoryFile& file, Plan& plan, Context& context) {
  const std::string& path = file.path;
  auto looked = context.tree.look(path);
  if (!looked) return std::move(looked).error();
  file.seen = base::Seen(*looked);
  Differences differences;
  if (!*looked) {
    auto missing = missing_folders(path, context);
    if (!missing) return std::move(missing).error();
    file.missing_folders = std::move(*missing);
    plan.changes.push_back({.what = path,
                            .before = "absent",
                            .after = "repository file, root:root, 0644",
                            .diff = repository_diff({}, file.content)});
  } else if (S_ISLNK((*looked)->st_mode)) {
    differences.add(Aspect::content, path, "a symlink", "a regular file");
  } else if (!S_ISREG((*looked)->st_mode)) {
    return base::Error(base::ErrorCode::exists,
                       path + " is " + std::string(file_type_name((*looked)->st_mode)));
  } else {
    auto same = context.tree.has_content(path, file.content);
    if (!same) return std::move(same).error();
    file.has_new_content = !*same;
    if (!*same) {
      const auto before = context.tree.read(path, kLargestRepositoryDiffed);
      differences.add(Aspect::content, path, std::to_string((*looked)->st_size) + " bytes",
                      std::to_string(file.content.size()) + " bytes",
                      before ? repository_diff(*before, file.content) : std::string());
    }
    compare_attributes(**looked, kAttributes, path, context, differences);
  }
  std::ranges::move(differences.changes, std::back_inserter(plan.changes));
  file.write = !plan.changes.empty();
  if (!file.write) return {};
  if (std::string why = why_locked(path, base::Changing::name, context); !why.empty())
    return base::Error(base::ErrorCode::permission, std::move(why));
  if (*looked) {
    if (auto shown = show_lost_by_replacing(path, **looked, kAttributes, context, plan.changes); !shown)
      return shown;
    if (auto marked = mark_content(path, **looked, context, plan); !marked) return marked;
  }
  plan.message = "Write repository file " + path;
  for (const std::string& folder : file.missing_folders)
    plan.effects.push_back({.kind = EffectKind::directory, .name = folder});
  plan.effects.push_back({.kind = EffectKind::file, .name = path});
  plan.written = {path};
  return {};
}

base::Result<void> write_repository_file(const RepositoryFile& file, ApplyContext& context) {
  for (const std::string& folder : file.missing_folders)
    if (auto made = context.files.make_folder(folder, {.uid = 0, .gid = 0, .mode = 0755}); !made) return made;
  return context.files.write_file(file.path, file.seen, file.content, kAttributes);
}

}  // namespace states::files
