#include "backend/api/changes/change_terms.hpp"

#include <algorithm>
#include <iterator>

#include "backend/api/callers/scope.hpp"
#include "backend/api/callers/self_reports.hpp"

namespace backend::api {

using base::Result;

std::vector<int> read_per_cent(Fields& fields, std::string_view name, const base::Value& given) {
  std::vector<int> rings;
  if (given.is_list())
    for (const base::Value& item : given.items()) {
      const std::int64_t part = item.as_integer().value_or(0);
      if (part < 1 || part > 100 || (!rings.empty() && part <= rings.back())) {
        rings.clear();
        break;
      }
      rings.push_back(static_cast<int>(part));
    }
  if (rings.empty() || rings.size() >= domain::kMostRings || rings.back() != 100)
    fields.complain(name, "must be growing percentages that end with 100, at most 9 of them: [10, 50, 100]");
  return rings;
}

namespace {

constexpr std::int64_t kDay = 24 * 3600;
constexpr std::int64_t kMostCanaries = 100'000;
constexpr std::int64_t kMostMayFail = 50;

}  // namespace

rollouts::ChangeTerms read_change_terms(Fields& fields, const base::Value* given, const Scope& scope) {
  rollouts::ChangeTerms terms;
  if (!given || given->is_null()) return terms;
  if (!given->is_object()) {
    fields.complain("rollout", R"(must be an object: {"rings": [10, 50, 100]} or {"now": true})");
    return terms;
  }
  if (given->members().empty()) return terms;
  Fields inner(*given);
  const bool is_now = inner.flag_or("now", false);
  const base::Value* rings = inner.value("rings");
  if (rings) terms.per_cent = read_per_cent(inner, "rings", *rings);
  if (const auto canaries = inner.integer("canaries", 1, kMostCanaries))
    terms.canaries = static_cast<std::size_t>(*canaries);
  terms.may_fail = inner.integer_or("may_fail", terms.may_fail, 0, kMostMayFail);
  terms.pause_s = inner.integer_or("pause_s", terms.pause_s, 0, 30 * kDay);
  terms.jitter_s = inner.integer_or("jitter_s", terms.jitter_s, 0, kDay);
  terms.timeout_s = inner.integer_or("timeout_s", terms.timeout_s, 1, 30 * kDay);
  if (const std::string text = inner.text_or("canary", ""); !text.empty()) {
    auto canary = domain::Selector::parse(text);
    if (canary) canary = narrowed(scope, *canary);
    if (canary)
      terms.canary = canary->strict();
    else
      inner.complain("canary", canary.error().message());
  }
  if (is_now && given->members().size() > 1)
    inner.complain("now", "goes to all at once: there are no rings to say anything about");
  for (ProblemItem& item : inner.problem_items())
    fields.complain("rollout." + item.field, std::move(item.message));
  terms.pace = is_now ? domain::ChangePace::at_once : domain::ChangePace::in_rings;
  return terms;
}

rollouts::ChangeTerms terms_of_query(Fields& fields, const Call& call) {
  const std::string_view asked = call.http.parameter("rollout");
  if (asked.empty()) return {};
  const auto read = JsonBody::read(asked);
  if (const auto* body = std::get_if<JsonBody>(&read))
    return read_change_terms(fields, &body->root(), call.caller.scope);
  fields.complain("rollout", R"(must be a JSON object: {"rings": [10, 50, 100]} or {"now": true})");
  return {};
}

Result<void> place_noted(store::Store& store, const Actor& actor, const rollouts::ChangeOrder& order,
                         fleet::Placed& placed, ChangeEffect& effect) {
  if (order.terms.canary)
    if (auto fine = check_self_report(store, order.app_id, *order.terms.canary); !fine)
      return std::move(fine).error().with_context("canary");
  auto done = rollouts::place_change(store, order);
  if (!done) return as_conflict(std::move(done).error());
  placed.matched += done->placed.matched;
  std::ranges::move(done->placed.changed, std::back_inserter(placed.changed));
  std::ranges::move(done->placed.rejected, std::back_inserter(placed.rejected));
  effect.affected += done->affected;
  std::ranges::move(done->rejected, std::back_inserter(effect.rejected));
  if (!done->rollout) return {};
  auto noted = audit(store, actor, "rollout", order.app_id + "/" + done->rollout->id,
                     done->rollout->version + " to " + done->rollout->selector);
  if (!noted) return noted;
  effect.rollouts.push_back(std::move(*done->rollout));
  return {};
}

void add_rollouts(base::JsonText& json, const std::vector<domain::Rollout>& rollouts) {
  json.key("rollouts").begin_list();
  for (const domain::Rollout& rollout : rollouts) {
    std::size_t machines = 0;
    json.begin_object().member("id", rollout.id).member("app_id", rollout.app_id);
    json.key("rings").begin_list();
    for (const std::size_t size : rollout.rings) {
      json.value(size);
      machines += size;
    }
    json.end_list().member("machines", machines).end_object();
  }
  json.end_list();
}

}  // namespace backend::api
