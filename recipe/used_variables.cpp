#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
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

// The lines of what stands in a document, asked for in the order of its text: each place is looked for from
// the one before it.
class Lines {
 public:
  explicit Lines(const Document& document) : document_(document) {}

  // Of the expression with this number in the text that begins at `offset`.
  std::size_t of_expression(std::uint32_t offset, std::size_t number) {
    go_to(offset);
    const std::string_view text = document_.text;
    for (; passed_ <= number; ++passed_) {
      const std::size_t found = text.find(kExpressionBegin, passed_ == 0 ? at_ : at_ + 1);
      if (found == std::string_view::npos) break;  // an anchor's text stands before
      line_ += lines_in(text.substr(at_, found - at_));
      at_ = found;
    }
    return line_;
  }

  // Of a line of the template that begins at `offset`.
  std::size_t of_template(std::uint32_t offset, std::size_t line) {
    go_to(offset);
    const bool is_block =
        document_.syntax == Syntax::yaml && start_ < document_.text.size() && document_.text[start_] == '|';
    return start_line_ + (is_block ? line : 0);
  }

 private:
  static std::size_t lines_in(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  void go_to(std::uint32_t offset) {
    if (offset == offset_) return;
    if (offset < offset_) offset_ = 0, start_ = 0, start_line_ = 1;
    const std::string_view text = document_.text;
    const std::size_t before = start_;
    if (document_.syntax == Syntax::json)
      start_ = std::min<std::size_t>(offset, text.size());
    else
      for (; offset_ < offset && start_ < text.size(); ++offset_)
        start_ += std::max<std::size_t>(base::utf8_length(text, start_), 1);
    offset_ = offset;
    start_line_ += lines_in(text.substr(before, start_ - before));
    at_ = start_;
    line_ = start_line_;
    passed_ = 0;
  }

  const Document& document_;
  std::uint32_t offset_ = 0;  // as values have it
  std::size_t start_ = 0, start_line_ = 1;
  std::size_t passed_ = 0;  // expressions of the text that begins there
  std::size_t at_ = 0, line_ = 1;
};

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
    Lines lines(document);
    const Place place{document, shown, lines};
    for (const base::Member& member : document.root.members())
      if (member.key != "files")
        if (auto read = value(place, member.value); !read) return read;
    if (document.root.is_list()) return value(place, document.root);
    return {};
  }

  UsedVariables take() && { return std::move(used_); }

 private:
  // Of what is read.
  struct Place {
    const Document& document;
    std::string_view shown;
    Lines& lines;
  };

  static std::string where(std::string_view shown, Position at) {
    return std::string(shown) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
  }

  Result<void> value(const Place& place, const Value& given) {
    if (given.is_text()) return text(place, given);
    for (const Value& item : given.items())
      if (auto read = value(place, item); !read) return read;
    for (const base::Member& member : given.members()) {
      if (auto read = value(place, member.value); !read) return read;
      if (member.key == "template" && member.value.is_text()) {
        if (auto read = source(place, member.value); !read) return read;
      } else if (member.key == "template_file" || member.key == "include") {
        used_.has_expressions = true;
        if (auto read = named_files(member, folder_of(place.shown)); !read) return read;
      } else if (member.key == "each") {
        used_.has_expressions = true;
      }
    }
    return {};
  }

  Result<void> text(const Place& place, const Value& given) {
    if (!has_expression(given.text())) return {};
    used_.has_expressions = true;
    const auto parsed = parse_pieces(given.text());
    if (const auto* problem = std::get_if<PieceProblem>(&parsed)) {
      const Position at =
          locate_expression(place.document, given.offset(), problem->number, problem->line, problem->column);
      return Error(ErrorCode::invalid, where(place.shown, at) + problem->message);
    }
    for (const Piece& piece : std::get<0>(parsed))
      if (piece.expression)
        add(templates::uses_of(*piece.expression), place.shown, [&](const templates::Use& use) {
          return place.lines.of_expression(given.offset(), piece.number) + use.line - 1;
        });
    return {};
  }

  Result<void> source(const Place& place, const Value& given) {
    used_.has_expressions = true;
    const auto parsed = templates::Template::parse("", given.text());
    if (const auto* problem = std::get_if<templates::Problem>(&parsed))
      return Error(ErrorCode::invalid, where(place.shown, locate_in_text(place.document, given.offset(),
                                                                         problem->line, problem->column)) +
                                           problem->message);
    const templates::Uses uses = templates::uses_of(*std::get<0>(parsed));
    add(uses, place.shown,
        [&](const templates::Use& use) { return place.lines.of_template(given.offset(), use.line); });
    return included_templates(uses, folder_of(place.shown));
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

  enum class Kind { recipe, templates };

  // Nothing, when there is nobody to ask, or it was read as that before.
  Result<std::optional<std::string>> file(const std::string& name, Kind kind) {
    if (seen_.contains({name, kind})) return std::optional<std::string>();
    if (seen_.size() >= kMostFiles) return Error(ErrorCode::invalid, "the recipe names more than 1000 files");
    seen_.emplace(name, kind);
    for (const auto& [own, text] : own_files_)
      if (own == name) return std::optional(text);
    if (!files_) return std::optional<std::string>();
    auto text = files_->file(name);
    if (!text) return std::move(text).error();
    return std::optional(std::move(*text));
  }

  Result<void> recipe_file(const std::string& name) {
    auto text = file(name, Kind::recipe);
    if (!text) return std::move(text).error();
    return *text ? document(name, name, std::move(**text), false) : Result<void>();
  }

  Result<void> template_file(const std::string& name) {
    auto text = file(name, Kind::templates);
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
      const auto [known, is_new] = uses_.emplace(use.path, used_.uses.size());
      if (is_new) {
        used_.uses.push_back({use.path, std::string(shown), line(use), use.may_be_missing});
        continue;
      }
      bool& may_be_missing = used_.uses[known->second].may_be_missing;
      may_be_missing = may_be_missing && use.may_be_missing;
    }
    for (const std::string& name : uses.secrets)
      if (secrets_.insert(name).second) used_.secrets.push_back(name);
  }

  FileSource* files_;
  std::vector<std::pair<std::string, std::string>> own_files_;
  std::set<std::pair<std::string, Kind>> seen_;
  std::map<std::vector<std::string>, std::size_t> uses_;  // of used_, by path
  std::set<std::string> secrets_;                         // of used_
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
