// Names and selectors in requests.
#pragma once

#include <string_view>

#include "backend/api/callers/scope.hpp"
#include "backend/api/fields.hpp"
#include "backend/domain/selectors/selector.hpp"
#include "protocol/ids.hpp"

namespace backend::api {

// Complains when it cannot be the name of an app, an instance, a recipe, an operator, a run.
inline void check_name(Fields& fields, std::string_view field, std::string_view name) {
  if (const std::string_view wrong = protocol::problem_of_name(name); !wrong.empty())
    fields.complain(field, std::string(wrong));
}

// What is said about a revision.
inline void check_message(Fields& fields, std::string_view message) {
  constexpr std::size_t kLongestMessage = 256;
  if (message.size() > kLongestMessage) fields.complain("message", "has at most 256 bytes");
  // It stands in lists, beside what others have written.
  if (const auto hidden = protocol::problem_of_id(message); !message.empty() && !hidden.empty())
    fields.complain("message", std::string(hidden));
}

// The selector of a member, narrowed to what the caller reaches; everything of that when it is not there.
inline domain::Selector read_selector(Fields& fields, std::string_view field, const Scope& scope) {
  auto parsed = domain::Selector::parse(fields.text_or(field, "*"));
  if (parsed) parsed = narrowed(scope, *parsed);
  if (parsed) return std::move(*parsed);
  fields.complain(field, parsed.error().message());
  return {};
}

using TagPatch = std::map<std::string, std::optional<std::string>>;

// {"role": "db", "old": null}
inline TagPatch read_tags(Fields& fields, const base::Value& tags) {
  constexpr std::size_t kLongestTag = 256;
  TagPatch patch;
  for (const base::Member& member : tags.members()) {
    const std::string name = "tags." + std::string(member.key);
    if (const auto wrong = protocol::problem_of_name(member.key); !wrong.empty())
      fields.complain(name, std::string(wrong));
    else if (member.value.is_null())
      patch.emplace(member.key, std::nullopt);
    else if (!member.value.is_text() || member.value.text().size() > kLongestTag)
      fields.complain(name, "must be null or text of 256 bytes at most");
    // They stand on screens and in logs, beside what others have written.
    else if (const auto hidden = protocol::problem_of_id(member.value.text()); !hidden.empty())
      fields.complain(name, std::string(hidden));
    else
      patch.emplace(member.key, std::string(member.value.text()));
  }
  return patch;
}

}  // namespace backend::api
