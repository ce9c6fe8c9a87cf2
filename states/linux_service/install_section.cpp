#include "states/linux_service/install_section.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/files/below_root.hpp"
#include "base/text.hpp"

namespace states::linux_service {

namespace {

constexpr std::size_t kLargestUnit = 1024 * 1024;
constexpr std::array<std::string_view, 5> kKeys{"WantedBy", "RequiredBy", "UpheldBy", "Also", "Alias"};

enum class Says { nothing, no, yes };

// What is at the path, links followed as far as the tree follows any.
Says look_into(const std::string& path, base::Tree& tree) {
  const auto end = tree.followed_path(path);
  if (!end) return end.error().code() == base::ErrorCode::not_found ? Says::nothing : Says::yes;
  const auto text = tree.read(*end, kLargestUnit);
  return !text || has_install_section(*text) ? Says::yes : Says::no;
}

}  // namespace

std::string template_of(std::string_view unit) {
  const std::size_t at = unit.find('@');
  return at == std::string_view::npos
             ? std::string()
             : std::string(unit.substr(0, at + 1)) + std::string(unit.substr(unit.rfind('.')));
}

bool has_install_section(std::string_view text) {
  bool is_inside = false;
  bool is_continued = false;  // the line goes on from the one before
  for (std::string_view line : base::split(text, '\n')) {
    line = base::trim(line);
    const bool goes_on = std::exchange(is_continued, line.ends_with('\\'));
    if (goes_on || line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      is_inside = line == "[Install]";
      continue;
    }
    const std::size_t sign = line.find('=');
    if (!is_inside || sign == std::string_view::npos) continue;
    const bool is_known = std::ranges::find(kKeys, base::trim(line.substr(0, sign))) != kKeys.end();
    if (is_known && !base::trim(line.substr(sign + 1)).empty()) return true;
  }
  return false;
}

bool may_be_enabled(const std::string& unit, base::Tree& tree) {
  bool is_found = false;
  for (const std::string& name : {unit, template_of(unit)}) {
    if (name.empty()) continue;
    for (const std::string_view folder : kUnitFolders) {
      const std::string path = std::string(folder) + "/" + name;
      const Says says = look_into(path, tree);
      if (says == Says::yes) return true;
      is_found = is_found || says == Says::no;
      for (const std::string& drop_in : base::names_below(tree.root(), path + ".d"))
        if (drop_in.ends_with(".conf") && look_into(path + ".d/" + drop_in, tree) == Says::yes) return true;
    }
  }
  return !is_found;
}

}  // namespace states::linux_service
