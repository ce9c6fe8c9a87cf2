// Trees of a git repository, read strictly: what could lead out of a folder, hide in it, or mean one thing
// here and another elsewhere is refused with words. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "modules/git/object.hpp"

namespace modules::git {

enum class EntryKind { folder, file, program, link };

struct TreeEntry {
  EntryKind kind = EntryKind::file;
  std::string name;
  ObjectId id;
};

// The entries of a tree object. Refused: what is not in git's order, a name twice, names that differ by the
// case of letters only, names that name_problem() objects to, submodules, and modes that are none of file,
// program, link and folder.
base::Result<std::vector<TreeEntry>> parse_tree(std::string_view content);

// What is wrong with a name in a tree; "" when nothing is. Refused: "", ".", "..", ".git" and what some file
// system takes for it (other case, ignored characters, "git~1", blanks and dots behind it), "/", control
// characters and those that change how text is read, text that is not UTF-8, names over 255 bytes.
std::string name_problem(std::string_view name);

}  // namespace modules::git
