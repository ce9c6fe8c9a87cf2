#include "agent/modules/host/lines.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "base/values/json_text.hpp"

namespace agent::modules {

namespace {

using base::Error;
using base::ErrorCode;
using base::JsonText;
using base::Result;
using base::Value;

// Deeper or larger than any answer is.
constexpr base::DocumentLimits kDocument{.depth = 16, .values = 50'000};

JsonText begun(std::string_view type, const Request& request) {
  JsonText json;
  json.begin_object().member("type", type).member("id", request.id).member("state_id", request.state_id);
  json.member("deadline_ms", request.time_left.count()).key("parameter").json(request.parameter);
  return json;
}

Error wrong(std::string text) {
  return {ErrorCode::invalid, std::move(text)};
}

// A line that was parsed.
struct Answer {
  base::Arena arena;
  Value root;
};

Result<void> parse(std::string_view line, Answer& answer) {
  auto parsed = base::parse_json(line, answer.arena, kDocument);
  if (const auto* problem = std::get_if<base::SyntaxProblem>(&parsed))
    return wrong("wrote a line to descriptor 4 that is not JSON (" + problem->message + " at byte " +
                 std::to_string(problem->offset) + "): " + base::quote_of(line));
  answer.root = std::get<Value>(parsed);
  if (!answer.root.is_object())
    return wrong("wrote a line to descriptor 4 that is not an object: " + base::quote_of(line));
  return {};
}

std::string_view text_of(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found ? found->text() : std::string_view();
}

// The answer to a request must be of this type and have its id.
Result<void> check(const Value& root, std::string_view type, std::uint64_t id) {
  if (text_of(root, "type") != type)
    return wrong("answered with type '" + base::quote_of(text_of(root, "type")) + "'; '" + std::string(type) +
                 "' was asked for");
  const Value* given = root.find("id");
  const auto number =
      given && given->kind() == Value::Kind::integer ? given->as_integer() : std::optional<std::int64_t>();
  if (!number || std::cmp_not_equal(*number, id))
    return wrong("answered with " + (number ? "another id (" + std::to_string(*number) + ")" : "no id") +
                 " than that of the request (" + std::to_string(id) + ")");
  return {};
}

// A member that may be missing, or be text.
Result<std::string> optional_text(const Value& object, std::string_view key, std::size_t longest) {
  const Value* found = object.find(key);
  if (!found || found->is_null()) return std::string();
  if (!found->is_text()) return wrong("answered with a '" + std::string(key) + "' that is not text");
  return base::cut_text(found->text(), longest);
}

Result<states::Change> read_change(const Value& value) {
  states::Change change;
  if (!value.is_object()) return wrong("answered with a change that is not an object");
  struct Field {
    std::string_view key;
    std::string* into;
    std::size_t longest;
  };
  for (const Field& field :
       {Field{"what", &change.what, kLongestMessage}, Field{"before", &change.before, kLongestMessage},
        Field{"after", &change.after, kLongestMessage}, Field{"diff", &change.diff, kLongestDiff}}) {
    auto text = optional_text(value, field.key, field.longest);
    if (!text) return std::move(text).error();
    *field.into = std::move(*text);
  }
  if (change.what.empty()) return wrong("answered with a change that does not say 'what'");
  return change;
}

Result<std::vector<states::Change>> read_changes(const Value& root) {
  std::vector<states::Change> changes;
  const Value* list = root.find("changes");
  if (!list || list->is_null()) return changes;
  if (!list->is_list()) return wrong("answered with 'changes' that are not a list");
  if (list->items().size() > kMostChanges)
    return wrong("answered with more than " + std::to_string(kMostChanges) + " changes");
  for (const Value& item : list->items()) {
    auto change = read_change(item);
    if (!change) return std::move(change).error();
    changes.push_back(std::move(*change));
  }
  return changes;
}

constexpr std::array<std::pair<std::string_view, states::Verdict>, 4> kVerdicts{
    {{"kept", states::Verdict::kept},
     {"change", states::Verdict::change},
     {"fail", states::Verdict::fail},
     {"unknown", states::Verdict::unknown}}};

Result<void> check_planned(const Planned& planned) {
  if (planned.verdict == states::Verdict::change && planned.changes.empty())
    return wrong("answered 'change' without saying in 'changes' what would change");
  if (planned.verdict == states::Verdict::kept && !planned.changes.empty())
    return wrong("answered 'kept' with a list of changes");
  if (planned.verdict == states::Verdict::fail && planned.message.empty())
    return wrong("answered 'fail' without a 'message' that says why");
  return {};
}

}  // namespace

std::string plan_line(const Request& request) {
  return begun("plan", request).end_object().take() + "\n";
}

std::string apply_line(const Request& request, const std::vector<states::Change>& changes) {
  JsonText json = begun("apply", request);
  json.key("changes").begin_list();
  for (const states::Change& change : changes) {
    json.begin_object().member("what", change.what).member("before", change.before);
    json.member("after", change.after).end_object();
  }
  return json.end_list().end_object().take() + "\n";
}

std::string cancel_line(std::uint64_t id) {
  return JsonText().begin_object().member("type", "cancel").member("id", id).end_object().take() + "\n";
}

Result<void> read_hello(std::string_view line, const ::modules::Manifest& manifest) {
  Answer answer;
  if (auto parsed = parse(line, answer); !parsed) return parsed;
  const Value& root = answer.root;
  if (text_of(root, "type") != "hello") return wrong("did not say hello first: " + base::quote_of(line));
  const Value* protocol = root.find("protocol");
  if (!protocol || protocol->kind() != Value::Kind::integer || protocol->as_integer() != kProtocol)
    return wrong("speaks another protocol than " + std::to_string(kProtocol));
  if (text_of(root, "module") != manifest.name)
    return wrong("says that it is '" + base::quote_of(text_of(root, "module")) + "'; its manifest says '" +
                 manifest.name + "'");
  if (text_of(root, "version") != manifest.version)
    return wrong("says that its version is '" + base::quote_of(text_of(root, "version")) +
                 "'; its manifest says '" + manifest.version + "'");
  return {};
}

Result<Planned> read_planned(std::string_view line, std::uint64_t id) {
  Answer answer;
  if (auto parsed = parse(line, answer); !parsed) return std::move(parsed).error();
  if (auto fits = check(answer.root, "planned", id); !fits) return std::move(fits).error();
  Planned planned;
  const std::string_view verdict = text_of(answer.root, "verdict");
  const auto* const found =
      std::ranges::find(kVerdicts, verdict, &std::pair<std::string_view, states::Verdict>::first);
  if (found == kVerdicts.end())
    return wrong("answered with the verdict '" + base::quote_of(verdict) +
                 "'; there are kept, change, fail, unknown");
  planned.verdict = found->second;
  auto changes = read_changes(answer.root);
  if (!changes) return std::move(changes).error();
  planned.changes = std::move(*changes);
  auto message = optional_text(answer.root, "message", kLongestMessage);
  if (!message) return std::move(message).error();
  planned.message = std::move(*message);
  if (auto fits = check_planned(planned); !fits) return std::move(fits).error();
  return planned;
}

Result<Done> read_applied(std::string_view line, std::uint64_t id) {
  Answer answer;
  if (auto parsed = parse(line, answer); !parsed) return std::move(parsed).error();
  if (auto fits = check(answer.root, "applied", id); !fits) return std::move(fits).error();
  const Value* ok = answer.root.find("ok");
  if (!ok || ok->kind() != Value::Kind::boolean) return wrong("answered without 'ok': true or false");
  auto message = optional_text(answer.root, "message", kLongestMessage);
  if (!message) return std::move(message).error();
  if (!*ok->as_bool() && message->empty())
    return wrong("answered that it failed, without a 'message' that says why");
  return Done{.ok = *ok->as_bool(), .message = std::move(*message)};
}

}  // namespace agent::modules
