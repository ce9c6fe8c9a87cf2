#include "agent/metadata/userdata.hpp"

#include <algorithm>
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

}  // namespace

std::map<std::string, std::string> userdata_settings(std::string_view userdata) {
  std::map<std::string, std::string> settings;
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
