#include "states/linux_supervisord/included_files.hpp"

#include <glob.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <memory>

#include "base/text.hpp"

namespace states::linux_supervisord {

namespace {

constexpr std::string_view kWildcards = "*?[";

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

// A remark at the end of a line begins with " ;".
std::string_view without_remark(std::string_view line) {
  return line.substr(0, std::min(line.find(" ;"), line.find("\t;")));
}

// The value of `files` below [include], which may go on in lines that begin with a blank.
std::string included_text(std::string_view config) {
  std::string value;
  bool is_inside = false, is_files = false;
  for (const std::string_view whole : base::split(config, '\n')) {
    const std::string_view line = without_remark(whole);
    const std::string_view words = base::trim(line);
    if (words.empty() || words.front() == ';' || words.front() == '#') continue;
    const bool goes_on = line.front() == ' ' || line.front() == '\t';
    if (goes_on && is_files) {
      value.append(" ").append(words);
      continue;
    }
    is_files = false;
    if (words.front() == '[') {
      is_inside = words == "[include]";
      continue;
    }
    const std::size_t sign = words.find_first_of("=:");
    if (!is_inside || sign == words.npos ||
        !base::equal_ignoring_case(base::trim(words.substr(0, sign)), "files"))
      continue;
    is_files = true;
    value = base::trim(words.substr(sign + 1));
  }
  return value;
}

}  // namespace

std::vector<std::string> included_patterns(std::string_view config, const std::string& folder) {
  std::vector<std::string> patterns;
  utsname machine{};
  const bool has_name = ::uname(&machine) == 0;
  const std::string value = included_text(config);
  for (const std::string_view word : base::split_words(value)) {
    std::string pattern(word);
    replace_all(pattern, "%(here)s", folder);
    if (has_name) replace_all(pattern, "%(host_node_name)s", machine.nodename);
    if (pattern.find("%(") != pattern.npos) continue;
    if (!pattern.starts_with('/')) pattern = (folder == "/" ? "" : folder) + "/" + pattern;
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

base::Result<std::vector<std::string>> files_of(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const std::unique_ptr<glob_t, void (*)(glob_t*)> freed(&found, ::globfree);
    const int answer = ::glob(pattern.c_str(), GLOB_NOESCAPE, nullptr, &found);
    if (answer == GLOB_NOSPACE) return base::Error(base::ErrorCode::limit, "No memory for " + pattern);
    if (answer != 0) continue;  // nothing there
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat st {};
      if (::stat(found.gl_pathv[i], &st) == 0 && S_ISREG(st.st_mode)) files.emplace_back(found.gl_pathv[i]);
    }
    if (files.size() > kMostIncluded)
      return base::Error(base::ErrorCode::limit,
                         "More than " + std::to_string(kMostIncluded) + " files are included by " + pattern);
  }
  std::ranges::sort(files);
  const auto again = std::ranges::unique(files);
  files.erase(again.begin(), again.end());
  return files;
}

std::string folder_of_pattern(std::string_view pattern) {
  const std::string_view plain = pattern.substr(0, pattern.find_first_of(kWildcards));
  const std::size_t slash = plain.rfind('/');
  return slash == 0 || slash == plain.npos ? "/" : std::string(plain.substr(0, slash));
}

}  // namespace states::linux_supervisord
