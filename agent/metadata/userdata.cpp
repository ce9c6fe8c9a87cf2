#include "agent/metadata/userdata.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"

namespace agent::metadata {

namespace {

constexpr std::string_view kBegin = "# opsagent settings";
constexpr std::string_view kEnd = "# end of settings";

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

// What a shell makes of 'a b' and of 'it'\''s': single quotes only, and nothing behind them.
std::optional<std::string> unquoted(std::string_view text) {
  std::string value;
  while (true) {
    if (!text.starts_with('\'')) return std::nullopt;
    const std::size_t end = text.find('\'', 1);
    if (end == std::string_view::npos) return std::nullopt;
    value += text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (text.empty()) return value;
    constexpr std::string_view kQuote = "\\'";
    if (!text.starts_with(kQuote)) return std::nullopt;
    value += '\'';
    text.remove_prefix(kQuote.size());
    if (text.empty()) return value;
  }
}

// What an original's script gives a name: a word, or one in quotes; nothing that a shell would compute.
std::optional<std::string> plain_value(std::string_view text) {
  text = base::trim(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  if (text.find_first_of("'\"`$\\;&|<>() \t") != std::string_view::npos) return std::nullopt;
  return std::string(text);
}

// The userdata of the original: a shell script that begins with what it knows, NAME=value. Of these names the
// app is the only one that says who the machine is.
std::map<std::string, std::string> settings_of_original(std::string_view userdata) {
  static constexpr std::array<std::string_view, 5> kNames{"APP_ID", "WS_URI", "VERSION", "BASE_REMOTE",
                                                          "GPG_KEY_URI"};
  std::map<std::string_view, std::string> found;
  for (const std::string_view raw : base::split(userdata, '\n')) {
    std::string_view line = base::trim(raw);
    if (line.starts_with("export ")) line = base::trim(line.substr(7));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = std::ranges::find(kNames, line.substr(0, equals));
    if (name == kNames.end() || found.contains(*name)) continue;
    if (auto value = plain_value(line.substr(equals + 1))) found.emplace(*name, std::move(*value));
  }
  const bool is_original = found.contains("APP_ID") && !found["APP_ID"].empty() && found.contains("WS_URI");
  if (!is_original) return {};
  return {{"app", found["APP_ID"]}};
}

}  // namespace

std::map<std::string, std::string> userdata_settings(std::string_view userdata) {
  std::map<std::string, std::string> settings;
  if (userdata.find(kBegin) == std::string_view::npos) return settings_of_original(userdata);
  bool inside = false;
  for (const std::string_view raw : base::split(userdata, '\n')) {
    const std::string_view line = base::trim(raw);  // in a cloud-config the script is indented
    if (!inside) {
      inside = line == kBegin;
      continue;
    }
    if (line == kEnd) return settings;
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    const auto value = equals == std::string_view::npos ? std::nullopt : unquoted(line.substr(equals + 1));
    if (!is_name(name) || !value) return {};
    settings.insert_or_assign(std::string(name), *value);
  }
  return {};
}

}  // namespace agent::metadata
