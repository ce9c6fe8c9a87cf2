#include "states/linux_raid/mdadm_conf.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.hpp"

namespace states::linux_raid {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// A line with those that go on with it, which begin with a blank.
std::vector<std::string_view> entries_of(std::string_view conf) {
  std::vector<std::string_view> entries;
  std::size_t begin = 0;
  while (begin < conf.size()) {
    std::size_t end = begin;
    do {
      end = std::min(conf.find('\n', end), conf.size() - 1) + 1;
    } while (end < conf.size() && is_blank(conf[end]));
    entries.push_back(conf.substr(begin, end - begin));
    begin = end;
  }
  return entries;
}

// mdadm is content with the first three letters of a keyword.
bool is_array_keyword(std::string_view word) {
  constexpr std::string_view kKeyword = "array";
  return word.size() >= 3 && word.size() <= kKeyword.size() &&
         base::equal_ignoring_case(word, kKeyword.substr(0, word.size()));
}

std::string digits_of(std::string_view uuid) {
  std::string digits;
  for (const unsigned char c : uuid)
    if (std::isxdigit(c) != 0) digits += static_cast<char>(std::tolower(c));
  return digits;
}

bool is_of(std::string_view entry, const ArrayName& array) {
  if (entry.starts_with('#')) return false;
  const auto words = base::split_words(entry);
  if (words.empty() || !is_array_keyword(words[0])) return false;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word.starts_with('#')) break;
    const std::size_t equals = word.find('=');
    if (equals == word.npos) {
      if (word == array.device ||
          (array.is_device && word.starts_with('/') && array.is_device(std::string(word))))
        return true;
    } else if (base::equal_ignoring_case(word.substr(0, equals), "uuid") && !array.uuid.empty() &&
               digits_of(word.substr(equals + 1)) == digits_of(array.uuid)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool has_array(std::string_view conf, const ArrayName& array) {
  return std::ranges::any_of(entries_of(conf), [&](std::string_view entry) { return is_of(entry, array); });
}

std::string put_array(std::string_view conf, const ArrayName& array, std::string_view line) {
  std::string text;
  bool is_put = false;
  for (const std::string_view entry : entries_of(conf)) {
    if (!is_of(entry, array)) {
      text += entry;
      continue;
    }
    if (!is_put) text.append(line).append("\n");
    is_put = true;
  }
  if (is_put) return text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text.append(line).append("\n");
}

std::string array_line(std::string_view printed, std::string_view device) {
  for (const std::string_view line : base::split(printed, '\n')) {
    const auto words = base::split_words(line);
    if (words.empty() || words[0] != "ARRAY") continue;
    std::string found = "ARRAY " + std::string(device);
    // Of a container mdadm names no device.
    for (std::size_t at = 1; at < words.size(); ++at)
      if (at > 1 || words[at].find('=') != std::string_view::npos) found.append(" ").append(words[at]);
    return found;
  }
  return {};
}

}  // namespace states::linux_raid
