#include "states/files/working_folder.hpp"

#include <unistd.h>

#include <vector>

namespace states::files {

base::Result<void> make_folders(std::string_view path, const base::Attributes& attributes,
                                ApplyContext& context) {
  std::vector<std::string> missing;  // innermost first
  for (std::string_view folder = path; folder != "/"; folder = base::split_path(folder).folder) {
    auto found = context.tree.look(folder);
    if (!found) return std::move(found).error();
    if (*found) break;
    missing.emplace_back(folder);
  }
  for (; !missing.empty(); missing.pop_back())
    if (auto made = context.files.make_folder(missing.back(), attributes); !made) return made;
  return {};
}

base::Result<std::string> working_folder(ApplyContext& context) {
  auto path = base::clean_path(context.host.state_dir + "/tmp");
  if (!path) return std::move(path).error();
  // Commands that run as other users enter it; what is in it is for those who know its name.
  const base::Attributes attributes{.uid = ::geteuid(), .gid = ::getegid(), .mode = 0711};
  if (auto made = make_folders(*path, attributes, context); !made) return std::move(made).error();
  return path;
}

}  // namespace states::files
