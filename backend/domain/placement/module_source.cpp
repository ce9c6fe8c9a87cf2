#include "backend/domain/placement/module_source.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "modules/fetch/repository_address.hpp"
#include "recipe/document.hpp"

namespace backend::domain {

namespace {

using base::Value;

bool is_commit(std::string_view text) {
  constexpr std::size_t kDigits = 40;
  return text.size() == kDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

class Reader {
 public:
  explicit Reader(recipe::Document& document) : document_(document), lines_(document) {}

  NamedModules read() {
    const Value* given = document_.root.find("module");
    if (!given || given->is_null()) return {};
    named_.position = lines_.locate(given->offset());
    // What is wrong with its form the check of the recipe says.
    if (!given->is_object()) return std::move(named_);
    ModuleSource source;
    for (const base::Member& member : given->members()) {
      if (member.key == "repo")
        source.repo = text_of(member);
      else if (member.key == "tag")
        source.tag = text_of(member);
      else if (member.key == "commit")
        source.commit = text_of(member);
    }
    if (source.repo.empty() || source.tag.empty()) return std::move(named_);
    if (named_.problems.empty())
      if (std::string wrong = problem_of_source(source); !wrong.empty()) problem(std::move(wrong), *given);
    if (named_.problems.empty()) named_.source = std::move(source);
    return std::move(named_);
  }

 private:
  std::string text_of(const base::Member& member) {
    return std::string(member.value.as_line(document_.arena).value_or(""));
  }
  void problem(std::string message, const Value& value) {
    named_.problems.push_back(
        {.message = std::move(message), .state_id = "", .position = lines_.locate(value.offset())});
  }

  recipe::Document& document_;
  const recipe::LineIndex lines_;
  NamedModules named_;
};

}  // namespace

NamedModules read_named_modules(std::string_view content) {
  recipe::Document document;
  document.syntax = recipe::guess_syntax("", content);
  document.text = std::string(content);
  if (content.size() > recipe::kLargestRecipe || recipe::parse(document) || !document.root.is_object())
    return {};
  return Reader(document).read();
}

std::string problem_of_source(const ModuleSource& source) {
  // file and git are for the agents' configuration to allow.
  if (auto address = ::modules::fetch::parse_repository(source.repo, {"file", "git"}); !address)
    return address.error().message();
  if (source.tag.empty()) return "the module repository needs a tag";
  if (auto tag = ::modules::fetch::check_tag_name(source.tag); !tag) return tag.error().message();
  if (!source.commit.empty() && !is_commit(source.commit))
    return "'" + base::quote_of(source.commit) + "' is not a commit: 40 hexadecimal digits, lower case";
  return {};
}

std::string describe(const ModuleSource& source) {
  constexpr std::size_t kShown = 12;
  return source.repo + " at " + source.tag +
         (source.commit.empty() ? "" : " (commit " + source.commit.substr(0, kShown) + ")");
}

}  // namespace backend::domain
