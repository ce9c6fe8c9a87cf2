#include <algorithm>

#include "recipe/expressions.hpp"
#include "recipe/file_source.hpp"
#include "recipe/inputs.hpp"
#include "templates/uses.hpp"

namespace recipe {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

constexpr std::size_t kMostFiles = 1000;

class Collector {
 public:
  explicit Collector(FileSource* files) : files_(files) {}

  Result<void> document(std::string_view name, std::string_view shown, std::string text, bool is_main) {
    Document document;
    document.syntax = guess_syntax(name, text);
    document.text = std::move(text);
    if (document.text.size() > kLargestRecipe) return Error(ErrorCode::invalid, "the recipe is too large");
    if (auto wrong = parse(document)) {
      const Position at = LineIndex(document).locate(wrong->offset);
      return Error(ErrorCode::invalid, where(shown, at) + wrong->message);
    }
    if (is_main)
      if (const Value* own = document.root.find("files"))
        for (const base::Member& file : own->members())
          own_files_.emplace_back(file.key, file.value.text());
    const Value* version = document.root.find("version");
    if (version && version->as_integer().value_or(1) < 2) return {};
    if (!version && is_main) return {};
    for (const base::Member& member : document.root.members())
      if (member.key != "files")
        if (auto read = value(document, shown, member.value); !read) return read;
    if (document.root.is_list()) return value(document, shown, document.root);
    return {};
  }

  UsedVariables take() && { return std::move(used_); }

 private:
  static std::string where(std::string_view shown, Position at) {
    return std::string(shown) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
  }

  Result<void> value(const Document& document, std::string_view shown, const Value& given) {
    if (given.is_text()) return text(document, shown, given);
    for (const Value& item : given.items())
      if (auto read = value(document, shown, item); !read) return read;
    for (const base::Member& member : given.members()) {
      if (auto read = value(document, shown, member.value); !read) return read;
      if (member.key == "template" && member.value.is_text()) {
        if (auto read = source(document, shown, member.value); !read) return read;
      } else if (member.key == "template_file" || member.key == "include") {
        used_.has_expressions = true;
        if (auto read = named_files(member, folder_of(shown)); !read) return read;
      } else if (member.key == "each") {
        used_.has_expressions = true;
      }
    }
    return {};
  }

  Result<void> text(const Document& document, std::string_view shown, const Value& given) {
    if (!has_expression(given.text())) return {};
    used_.has_expressions = true;
    const auto parsed = parse_pieces(given.text());
    if (const auto* problem = std::get_if<PieceProblem>(&parsed)) {
      const Position at =
          locate_expression(document, given.offset(), problem->number, problem->line, problem->column);
      return Error(ErrorCode::invalid, where(shown, at) + problem->message);
    }
    for (const Piece& piece : std::get<0>(parsed))
      if (piece.expression)
        add(templates::uses_of(*piece.expression), shown, [&](const templates::Use& use) {
          return locate_expression(document, given.offset(), piece.number, use.line, use.column).line;
        });
    return {};
  }

  Result<void> source(const Document& document, std::string_view shown, const Value& given) {
    used_.has_expressions = true;
    const auto parsed = templates::Template::parse("", given.text());
    if (const auto* problem = std::get_if<templates::Problem>(&parsed))
      return Error(ErrorCode::invalid,
                   where(shown, locate_in_text(document, given.offset(), problem->line, problem->column)) +
                       problem->message);
    const templates::Uses uses = templates::uses_of(*std::get<0>(parsed));
    add(uses, shown, [&](const templates::Use& use) {
      return locate_in_text(document, given.offset(), use.line, use.column).line;
    });
    return included_templates(uses, folder_of(shown));
  }

  Result<void> included_templates(const templates::Uses& uses, std::string_view folder) {
    used_.has_computed_files = used_.has_computed_files || uses.has_computed_templates;
    for (const std::string& name : uses.templates) {
      auto clean = file_name_in(folder, name);
      if (!clean) return std::move(clean).error();
      if (auto read = template_file(*clean); !read) return read;
    }
    return {};
  }

  Result<void> named_files(const base::Member& member, std::string_view folder) {
    const auto read = [&](const Value& name) -> Result<void> {
      if (!name.is_text()) return {};
      if (has_expression(name.text())) {
        used_.has_computed_files = true;
        return {};
      }
      auto clean = file_name_in(folder, name.text());
      if (!clean) return std::move(clean).error();
      return member.key == "include" ? recipe_file(*clean) : template_file(*clean);
    };
    for (const Value& item : member.value.items())
      if (auto done = read(item); !done) return done;
    return read(member.value);
  }

  // Nothing, when there is nobody to ask.
  Result<std::optional<std::string>> file(const std::string& name) {
    if (std::ranges::find(seen_, name) != seen_.end()) return std::optional<std::string>();
    if (seen_.size() >= kMostFiles) return Error(ErrorCode::invalid, "the recipe names more than 1000 files");
    seen_.push_back(name);
    for (const auto& [own, text] : own_files_)
      if (own == name) return std::optional(text);
    if (!files_) return std::optional<std::string>();
    auto text = files_->file(name);
    if (!text) return std::move(text).error();
    return std::optional(std::move(*text));
  }

  Result<void> recipe_file(const std::string& name) {
    auto text = file(name);
    if (!text) return std::move(text).error();
    return *text ? document(name, name, std::move(**text), false) : Result<void>();
  }

  Result<void> template_file(const std::string& name) {
    auto text = file(name);
    if (!text) return std::move(text).error();
    if (!*text) return {};
    const auto parsed = templates::Template::parse(name, **text);
    if (const auto* problem = std::get_if<templates::Problem>(&parsed))
      return Error(ErrorCode::invalid, describe(*problem));
    const templates::Uses uses = templates::uses_of(*std::get<0>(parsed));
    add(uses, name, [](const templates::Use& use) { return use.line; });
    return included_templates(uses, folder_of(name));
  }

  template <class Line>
  void add(const templates::Uses& uses, std::string_view shown, Line line) {
    for (const templates::Use& use : uses.variables) {
      if (std::ranges::find(kGivenNames, use.path.front()) == std::end(kGivenNames)) continue;
      const auto known = std::ranges::find(used_.uses, use.path, &UsedVariables::Use::path);
      if (known == used_.uses.end())
        used_.uses.push_back({use.path, std::string(shown), line(use), use.may_be_missing});
      else
        known->may_be_missing = known->may_be_missing && use.may_be_missing;
    }
    for (const std::string& name : uses.secrets)
      if (std::ranges::find(used_.secrets, name) == used_.secrets.end()) used_.secrets.push_back(name);
  }

  FileSource* files_;
  std::vector<std::pair<std::string, std::string>> own_files_;
  std::vector<std::string> seen_;
  UsedVariables used_;
};

}  // namespace

bool UsedVariables::reads(std::string_view given) const {
  return std::ranges::any_of(uses, [&](const Use& use) { return use.path.front() == given; });
}

Result<UsedVariables> used_variables(std::string_view name, std::string text, FileSource* files) {
  Collector collector(files);
  if (auto read = collector.document(name, "", std::move(text), true); !read) return std::move(read).error();
  return std::move(collector).take();
}

}  // namespace recipe
