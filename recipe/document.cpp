#include "recipe/document.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace recipe {

LineIndex::LineIndex(const Document& document) : document_(document), lines_{{0, 0}} {
  const std::string& text = document.text;
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool continues = (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    if (!continues) ++characters;
    if (text[at] == '\n') lines_.push_back({at + 1, document.syntax == Syntax::json ? at + 1 : characters});
  }
}

Position LineIndex::locate(std::uint32_t offset) const {
  const auto after = std::ranges::upper_bound(lines_, offset, {}, &Line::counted);
  const Line& line = *std::prev(after);
  Position position{static_cast<std::size_t>(after - lines_.begin()), 1};
  std::size_t counted = line.counted;
  for (std::size_t at = line.byte; at < document_.text.size() && counted < offset; ++position.column) {
    const std::size_t length = std::max<std::size_t>(base::utf8_length(document_.text, at), 1);
    at += length;
    counted += document_.syntax == Syntax::json ? length : 1;
  }
  return position;
}

Syntax guess_syntax(std::string_view name, std::string_view text) {
  if (name.ends_with(".json")) return Syntax::json;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return Syntax::yaml;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[') ? Syntax::json
                                                                                       : Syntax::yaml;
}

const base::Value* find_states(const base::Value& root) {
  for (const std::string_view key : {"states", "state"})
    if (const base::Value* states = root.find(key)) return states;
  const base::Value* component = root.find("component");
  const base::Value* init = component ? component->find("init") : nullptr;
  return init ? init->find("state") : nullptr;
}

int recipe_version(const base::Value& root) {
  const base::Value* version = root.find("version");
  if (!version) return 1;
  const auto number = version->as_integer();
  return number && (*number == 1 || *number == 2) ? static_cast<int>(*number) : 0;
}

std::optional<base::SyntaxProblem> parse(Document& document) {
  auto parsed = document.syntax == Syntax::json ? base::parse_json(document.text, document.arena)
                                                : parse_yaml(document.text, document.arena);
  if (auto* problem = std::get_if<base::SyntaxProblem>(&parsed)) return std::move(*problem);
  document.root = std::get<base::Value>(parsed);
  return std::nullopt;
}

}  // namespace recipe
