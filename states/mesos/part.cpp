#include "states/mesos/part.hpp"

#include <algorithm>
#include <iterator>
#include <variant>
#include <vector>

#include "base/values/json.hpp"

namespace states::mesos {

namespace {

const StateType* find_type(std::string_view name) {
  for (const RegistryEntry& entry : native_states())
    if (entry.type->name() == name) return entry.type;
  return nullptr;
}

void append(std::string& text, const std::string& more, std::string_view between) {
  if (!text.empty() && !more.empty()) text += between;
  text += more;
}

}  // namespace

Part::Part(std::string_view type, std::string parameter) : type_(find_type(type)) {
  auto value = base::parse_json(arena_.copy(parameter), arena_);
  std::vector<ParamProblem> problems;
  if (type_ && std::holds_alternative<base::Value>(value))
    params_ = type_->read_params(std::get<base::Value>(value), arena_, problems);
}

bool Part::add_to(Plan& all, Context& context) const {
  Plan plan = params_ ? type_->make_plan(*params_, context) : Plan::fail("Internal error: a part is wrong");
  if (plan.verdict == Verdict::kept) return true;
  if (plan.verdict != Verdict::change) {
    all = std::move(plan);
    return false;
  }
  all.verdict = Verdict::change;
  append(all.message, plan.message, "; ");
  std::ranges::move(plan.changes, std::back_inserter(all.changes));
  std::ranges::move(plan.effects, std::back_inserter(all.effects));
  std::ranges::move(plan.written, std::back_inserter(all.written));
  all.mark += plan.mark;
  all.fails_in_part = all.fails_in_part || plan.fails_in_part;
  return true;
}

base::Result<void> Part::make_true(ApplyContext& context, std::string& comment, std::string& output) const {
  if (!params_) return base::Error(base::ErrorCode::internal, "Internal error: a part is wrong");
  const Plan plan = type_->make_plan(*params_, context);
  if (plan.verdict == Verdict::kept) return {};
  if (plan.verdict != Verdict::change) return base::Error(base::ErrorCode::io, plan.message);
  const Applied applied = type_->apply_plan(*params_, plan, context);
  context.facts.clear();
  append(output, applied.output, "\n\n");
  if (applied.end == AppliedEnd::cancelled) return base::Error(base::ErrorCode::cancelled, applied.comment);
  if (applied.end == AppliedEnd::timed_out) return base::Error(base::ErrorCode::timed_out, applied.comment);
  if (applied.end == AppliedEnd::failed) return base::Error(base::ErrorCode::io, applied.comment);
  append(comment, applied.comment, "\n\n");
  return {};
}

}  // namespace states::mesos
