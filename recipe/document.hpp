// Document: the text of a recipe with the values that were read from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/values/json.hpp"
#include "base/values/value.hpp"

namespace recipe {

enum class Syntax { json, yaml };

struct Position {
  std::size_t line = 0;  // from 1; 0: unknown
  std::size_t column = 0;
};

// The largest recipe that is read. Ten thousand states with their files are about 4 MB.
inline constexpr std::size_t kLargestRecipe = 32 * 1024 * 1024;

struct Document {
  std::string text;
  Syntax syntax = Syntax::yaml;
  base::Arena arena;
  base::Value root;
};

// A document with states: the recipe itself, or a file that it includes.
struct Source {
  std::unique_ptr<Document> document;
  std::string file;  // "": the recipe itself; else its name in the recipe's folder
};

// Finds lines and columns in a document's text. Made only when there is something to complain about: it reads
// all of it.
class LineIndex {
 public:
  explicit LineIndex(const Document& document);
  // Where an offset of a value or of a syntax problem is.
  Position locate(std::uint32_t offset) const;

 private:
  struct Line {
    std::size_t byte;  // where it starts
    std::size_t
        counted;  // the same in the unit of offsets: bytes for JSON, characters for YAML (as libyaml counts)
  };
  const Document& document_;
  std::vector<Line> lines_;
};

// By the file's ending, else by its first character.
Syntax guess_syntax(std::string_view name, std::string_view text);

// Fills `document.root` from its text, within limits.
std::optional<base::SyntaxProblem> parse(Document& document);

// The list of states in a recipe that is an object; null when it has none. Also of the original's files:
// {"component": {"init": {"state": [...]}}}
const base::Value* find_states(const base::Value& root);

// What the recipe says under `version`; 1 when it says nothing, 0 for what is no version.
int recipe_version(const base::Value& root);

// YAML text to Value. Scalars without quotes stay undecided (Value::Kind::plain). Anchors and merge keys are
// understood.
std::variant<base::Value, base::SyntaxProblem> parse_yaml(std::string_view text, base::Arena& arena,
                                                          base::DocumentLimits limits = {});

}  // namespace recipe
