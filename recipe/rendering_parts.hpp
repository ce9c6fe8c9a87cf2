// The parts of a Rendering, for its own files.
#pragma once

#include "recipe/file_source.hpp"
#include "recipe/rendering.hpp"

namespace recipe {

// Whether an expression stands anywhere in it.
bool any_expression(const base::Value& value);

// Variables of one place, with what it is called.
struct Rendering::Layer {
  std::string origin;  // "": the recipe's own, or an included file's; its line is the origin
  base::Value values;
  const Source* source = nullptr;
};

// What a name stands for in one place: in the recipe, in an included file, for one item of `each`.
struct Rendering::Scope {
  Scope(const Source& of, const Scope* outside, bool sees_outside)
      : source(of),
        outer(sees_outside ? outside : nullptr),
        depth(outside ? outside->depth : 0),
        is_unknown(outside && outside->is_unknown),
        continues(outside ? outside->continues : std::nullopt),
        part(outside ? outside->part : 0),
        variables(sees_outside && outside ? &outside->variables : nullptr) {}

  const Source& source;
  const Scope* outer;             // null: of a file
  unsigned depth;                 // of includes
  bool is_unknown;                // nobody knows whether, or how often, this is there
  std::optional<bool> continues;  // as RenderedState has it
  std::size_t part;
  templates::Variables variables;
  std::vector<std::pair<std::string_view, base::Value>> names;
  std::vector<Layer> layers;  // of a file: its variables, from weak to strong
  std::size_t number = 0;     // of an item, from 1

  const Scope& file_scope() const { return outer ? outer->file_scope() : *this; }
};

struct Rendering::Pattern {
  enum class Kind { fixed, text, list, object, template_text, template_file };
  Kind kind = Kind::fixed;
  base::Value value;
  std::vector<Piece> pieces = {};
  std::vector<Pattern> items = {};  // of a list, or of an object's members in their order
  std::shared_ptr<const templates::Template> source = {};
  std::optional<std::vector<std::string>> path = {};  // of a text that only leads to a value
  const Piece* single() const { return pieces.size() == 1 && pieces[0].expression ? &pieces[0] : nullptr; }
};

struct Rendering::Made {
  base::Value value = {};
  bool has_failed = false;
  bool is_unknown = false;
  bool is_secret = false;          // it has a secret in it
  bool is_made_of_secret = false;  // an evaluation has used one, so that its very shape may tell of it
};

// An entry of `states`, with all that has to be read only once.
struct Rendering::Form {
  base::Value entry;
  const states::StateType* type = nullptr;
  base::Value module;  // its name, and where it stands
  std::optional<Pattern> id = {}, each = {}, when = {};
  base::Value parameter;  // as written
  struct Param {
    std::string_view name;  // as it is called in the state: "content" for a template
    std::uint32_t offset = 0;
    Pattern pattern;
  };
  std::vector<Param> params = {};
  std::vector<Param> others = {};  // timeout, retries …
};

// Templates that are included, of one folder.
class Rendering::TemplateFiles final : public templates::Loader {
 public:
  TemplateFiles(Rendering& rendering, std::string folder)
      : rendering_(rendering), folder_(std::move(folder)) {}

  templates::Answer<std::shared_ptr<const templates::Template>> load(std::string_view name) override;

 private:
  Rendering& rendering_;
  const std::string folder_;
  std::map<std::string, std::shared_ptr<const templates::Template>, std::less<>> parsed_;
};

}  // namespace recipe
