// The files beside a recipe: what `include`, `template_file` and the includes of templates name.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "recipe/inputs.hpp"

namespace recipe {

// The largest file that a recipe may name.
inline constexpr std::size_t kLargestFile = 4 * 1024 * 1024;

// What `name` means in a file of `folder`, both relative to the recipe's folder: "db/x.j2" for "x.j2" in
// "db". Refused: "..", absolute paths, and what is no path.
base::Result<std::string> file_name_in(std::string_view folder, std::string_view name);
// "db" for "db/x.j2", "" for "x.j2".
std::string_view folder_of(std::string_view name);

// Files of a folder on this machine. Links are not followed: what a recipe names is what lies beside it. One
// thread.
class FolderFiles final : public FileSource {
 public:
  explicit FolderFiles(std::string folder) : folder_(std::move(folder)) {}
  base::Result<std::string> file(std::string_view name) override;

 private:
  std::string folder_;
};

// The files of the folder in which the recipe at `path` is; "-" and others that are no files in a folder:
// those of the working folder.
std::shared_ptr<FileSource> files_beside(const std::string& path);

}  // namespace recipe
