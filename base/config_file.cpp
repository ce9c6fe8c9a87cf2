#include "base/config_file.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace base {

namespace {

std::string_view unquoted(std::string_view value) {
  const bool quoted =
      value.size() >= 2 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// The error text, or an empty one.
std::string read_line(std::string_view line, Setting& setting) {
  const bool is_option = line.starts_with("--");
  if (is_option) line.remove_prefix(2);
  std::size_t end = line.find('=');
  // "--state-dir /x" is how it may stand on a command line, too.
  if (is_option) end = std::min(end, line.find_first_of(" \t"));
  const std::string_view name = trim(line.substr(0, end));
  if (!is_name(name)) return "expected 'name = value' or '--name=value'";
  setting.name = option_name(name);
  setting.has_value = end != std::string_view::npos;
  if (!setting.has_value && !is_option) return "'" + std::string(name) + "' needs '= value'";
  if (setting.has_value) setting.value = unquoted(trim(line.substr(end + 1)));
  return {};
}

}  // namespace

std::string option_name(std::string_view name) {
  std::string option;
  for (const char c : name)
    option += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return option;
}

ConfigFile parse_config(std::string_view text, std::string_view file_name) {
  ConfigFile file;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') continue;
    Setting setting{.line = number};
    if (const std::string problem = read_line(line, setting); !problem.empty())
      file.problems.push_back(std::string(file_name) + ":" + std::to_string(number) + ": " + problem);
    else
      file.settings.push_back(std::move(setting));
  }
  return file;
}

}  // namespace base
