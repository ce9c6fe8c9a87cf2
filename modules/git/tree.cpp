#include "modules/git/tree.hpp"

#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.hpp"

namespace modules::git {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestMode = 6;

// Characters that Apple's file systems leave out when they compare names; as git has them.
bool is_ignored_by_hfs(char32_t c) {
  return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x206a && c <= 0x206f) ||
         c == 0xfeff;
}

// The name without them, ASCII letters lower case.
std::string plain_form(std::string_view name) {
  std::string plain;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = std::max<std::size_t>(1, base::utf8_length(name, at));
    const std::string_view sequence = name.substr(at, length);
    if (length == 1)
      plain += static_cast<char>(sequence[0] >= 'A' && sequence[0] <= 'Z' ? sequence[0] + 32 : sequence[0]);
    else if (!is_ignored_by_hfs(base::utf8_character(sequence)))
      plain += sequence;
    at += length;
  }
  return plain;
}

// NTFS drops blanks and dots at the end, and a stream's name behind a colon.
bool is_git_folder(std::string_view name) {
  std::string plain = plain_form(name);
  plain = plain.substr(0, plain.find(':'));
  const std::size_t end = plain.find_last_not_of(" .");
  plain.resize(end == std::string::npos ? 0 : end + 1);
  return plain == ".git" || plain == "git~1";
}

// As a file system that ignores case would compare it. Letters of all scripts where the C library knows them.
std::u32string folded(std::string_view name) {
  static const locale_t kUnicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::u32string text;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = std::max<std::size_t>(1, base::utf8_length(name, at));
    char32_t c = base::utf8_character(name.substr(at, length));
    if (kUnicode != nullptr)
      c = static_cast<char32_t>(::towlower_l(static_cast<wint_t>(c), kUnicode));
    else if (c >= U'A' && c <= U'Z')
      c += U'a' - U'A';
    text += c;
    at += length;
  }
  return text;
}

Result<EntryKind> kind_of_mode(std::string_view mode, const std::string& name) {
  if (mode == "40000") return EntryKind::folder;
  if (mode == "100644" || mode == "100664") return EntryKind::file;  // 664: of early versions of git
  if (mode == "100755") return EntryKind::program;
  if (mode == "120000") return EntryKind::link;
  if (mode == "160000")
    return Error(ErrorCode::invalid, "'" + name +
                                         "' is a submodule: submodules are not fetched; put its files into "
                                         "the repository itself");
  return Error(ErrorCode::invalid,
               "'" + name + "' is neither file, link nor folder (mode " + std::string(mode) + ")");
}

// Git compares as if the names of folders ended in a slash.
std::string order_key(const TreeEntry& entry) {
  return entry.kind == EntryKind::folder ? entry.name + '/' : entry.name;
}

Error damaged_tree() {
  return Error(ErrorCode::invalid, "a tree of the repository is damaged");
}

// The entry at the beginning of `rest`, which it is taken from.
Result<TreeEntry> take_entry(std::string_view& rest) {
  const std::size_t blank = rest.substr(0, kLongestMode + 1).find(' ');
  if (blank == std::string_view::npos || blank == 0) return damaged_tree();
  const std::string_view mode = rest.substr(0, blank);
  const std::size_t nul = rest.find('\0', blank);
  if (nul == std::string_view::npos || rest.size() - nul - 1 < ObjectId::kSize) return damaged_tree();
  TreeEntry entry;
  entry.name = rest.substr(blank + 1, nul - blank - 1);
  if (const std::string problem = name_problem(entry.name); !problem.empty())
    return Error(ErrorCode::invalid, "the name '" + base::quote_of(entry.name) + "' " + problem);
  const auto kind = kind_of_mode(mode, entry.name);
  if (!kind) return kind.error();
  entry.kind = *kind;
  std::copy_n(rest.data() + nul + 1, ObjectId::kSize, reinterpret_cast<char*>(entry.id.bytes.data()));
  rest.remove_prefix(nul + 1 + ObjectId::kSize);
  return entry;
}

}  // namespace

std::string name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name == "." || name == "..") return "would lead out of its folder";
  if (name.size() > kLongestName) return "is longer than 255 bytes";
  if (name.find('/') != std::string_view::npos) return "has a slash in it";
  if (!base::is_utf8(name)) return "is not UTF-8";
  if (is_git_folder(name)) return "is, on some file systems, git's own folder";
  for (std::size_t at = 0; at < name.size(); at += base::utf8_length(name, at)) {
    const char32_t c = base::utf8_character(name.substr(at, base::utf8_length(name, at)));
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || base::changes_reading(c))
      return "has a character in it that cannot be seen";
  }
  return {};
}

Result<std::vector<TreeEntry>> parse_tree(std::string_view content) {
  std::vector<TreeEntry> entries;
  std::set<std::u32string> names;
  std::string last_key;
  while (!content.empty()) {
    auto entry = take_entry(content);
    if (!entry) return std::move(entry).error();
    if (!names.insert(folded(entry->name)).second)
      return Error(ErrorCode::invalid, "two names differ by the case of letters only, or not at all: '" +
                                           entry->name + "' is one of them");
    std::string key = order_key(*entry);
    if (!entries.empty() && key <= last_key) return damaged_tree();
    last_key = std::move(key);
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace modules::git
