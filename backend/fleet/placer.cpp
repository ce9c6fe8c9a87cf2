#include "backend/fleet/placer.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "backend/domain/placement.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"

namespace backend::fleet {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// An assignment, ready to be compared with instances.
struct Rule {
  domain::Assignment assignment;
  domain::Selector selector;
  std::int64_t revision = 0;  // the newest where the assignment names none
};

// Something that an instance can be given: the same for all with the same rules.
struct Choice {
  domain::PlacementKey key = 0;
  std::shared_ptr<const domain::StateList> states;  // read when waits are checked, or when it is new
};

class Placer {
 public:
  Placer(store::Store& store, std::string_view app_id) : store_(store), app_id_(app_id) {}

  Result<void> load() {
    auto assignments = store_.assignments_in_order(app_id_);
    if (!assignments) return std::move(assignments).error();
    for (domain::Assignment& assignment : *assignments) {
      auto selector = domain::Selector::parse(assignment.selector);
      if (!selector) return std::move(selector).error();
      auto revision = store_.find_revision_row(assignment.recipe, assignment.revision);
      if (!revision) return std::move(revision).error();
      uses_facts_ = uses_facts_ || selector->uses_facts();
      rules_.push_back({std::move(assignment), std::move(*selector), revision->revision});
    }
    return {};
  }
  bool uses_facts() const { return uses_facts_; }

  // The rules that match, in order.
  std::vector<std::size_t> matching(const domain::Instance& instance) const {
    const domain::Tags tags = instance.tags();
    domain::SelectorSubject subject{instance.app_id, instance.instance_id, tags, nullptr};
    base::Arena arena;
    std::variant<base::Value, base::SyntaxProblem> facts;
    if (uses_facts_ && !instance.facts.empty()) {
      facts = base::parse_json(instance.facts, arena);
      subject.facts = std::get_if<base::Value>(&facts);
    }
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < rules_.size(); ++i)
      if (rules_[i].selector.matches(subject)) found.push_back(i);
    return found;
  }

  // What an instance with these rules runs. Error `exists`: their recipes do not go together.
  Result<Choice*> choose(const std::vector<std::size_t>& rules) {
    if (const auto found = choices_.find(rules); found != choices_.end()) return &found->second;
    domain::Placement placement;
    describe(rules, placement);
    Choice choice;
    auto known = store_.find_placement(placement.source);
    if (!known) return std::move(known).error();
    if (*known) {
      choice.key = **known;
    } else {
      auto made = make(rules, placement);
      if (!made) return std::move(made).error();
      choice = std::move(*made);
    }
    return &choices_.emplace(rules, std::move(choice)).first->second;
  }

  Result<std::shared_ptr<const domain::StateList>> states_of(domain::PlacementKey key) {
    if (key == 0) return std::shared_ptr<const domain::StateList>();
    const auto [found, is_new] = lists_.try_emplace(key);
    if (!is_new) return found->second;
    auto placement = store_.find_placement(key);
    if (!placement) return std::move(placement).error();
    auto states = domain::read_states(placement->states);
    if (!states) return std::move(states).error();
    return found->second = std::move(*states);
  }

  // The states of every assigned recipe, whether a machine runs it or not.
  Result<std::vector<std::shared_ptr<const domain::StateList>>> assigned() {
    std::vector<std::shared_ptr<const domain::StateList>> lists;
    for (const Rule& rule : rules_) {
      auto revision = store_.find_revision(rule.assignment.recipe, rule.revision);
      if (!revision) return std::move(revision).error();
      auto states = domain::read_states(revision->states);
      if (!states) return std::move(states).error();
      lists.push_back(std::move(*states));
    }
    return lists;
  }

  Result<void> check(std::span<const domain::PlacedInstance> instances) {
    const bool any_waits = std::ranges::any_of(instances, [](const domain::PlacedInstance& each) {
      return each.states && !each.states->waits.empty();
    });
    if (!any_waits) return {};
    auto lists = assigned();
    if (!lists) return std::move(lists).error();
    return domain::check_waits(app_id_, instances, *lists);
  }

 private:
  void describe(const std::vector<std::size_t>& rules, domain::Placement& placement) const {
    for (const std::size_t i : rules) {
      const Rule& rule = rules_[i];
      placement.source += rule.assignment.recipe + "@" + std::to_string(rule.revision) + " ";
      placement.kill_on_change = placement.kill_on_change || rule.assignment.kill_on_change;
      // The shortest pause: who asked for it wants drift repaired by then.
      if (const auto delay = rule.assignment.round_delay_s)
        placement.round_delay_s = std::min(placement.round_delay_s.value_or(*delay), *delay);
    }
    placement.source += placement.kill_on_change ? "kill " : "finish ";
    placement.source += placement.round_delay_s ? std::to_string(*placement.round_delay_s) : "-";
  }

  Result<Choice> make(const std::vector<std::size_t>& rules, domain::Placement& placement) {
    std::vector<domain::Revision> revisions;
    for (const std::size_t i : rules) {
      auto revision = store_.find_revision(rules_[i].assignment.recipe, rules_[i].revision);
      if (!revision) return std::move(revision).error();
      revisions.push_back(std::move(*revision));
    }
    std::vector<std::string_view> texts;
    std::string names;
    for (const domain::Revision& revision : revisions) {
      texts.push_back(revision.states);
      names += (names.empty() ? "" : ", ") + revision.name;
    }
    placement.states = domain::concatenate_states(texts);
    auto states = domain::read_states(placement.states);
    if (states && placement.states.size() > domain::kLargestStates)
      return Error(ErrorCode::exists, "the recipes " + names + " are together too large for one message");
    if (!states)
      return Error(ErrorCode::exists, "the recipes " + names +
                                          " do not go together on one machine: " + states.error().message());
    // Of all that the agent keeps, so that it is sent anew when any of that is another.
    placement.digest =
        base::sha256_hex(placement.states + (placement.kill_on_change ? "\nkill " : "\nfinish ") +
                         (placement.round_delay_s ? std::to_string(*placement.round_delay_s) : "-"));
    placement.has_waits = !(*states)->waits.empty();
    auto key = store_.put_placement(placement);
    if (!key) return std::move(key).error();
    lists_.emplace(*key, *states);
    return Choice{*key, std::move(*states)};
  }

  store::Store& store_;
  const std::string app_id_;
  std::vector<Rule> rules_;
  bool uses_facts_ = false;
  std::map<std::vector<std::size_t>, Choice> choices_;
  std::unordered_map<domain::PlacementKey, std::shared_ptr<const domain::StateList>> lists_;
};

Result<std::vector<domain::Instance>> instances_of(store::Store& store, std::string_view app_id,
                                                   bool with_facts) {
  std::vector<domain::Instance> all;
  domain::PageRequest request{"", domain::kLargestPage};
  do {
    auto page = store.list_instances({.app_id = std::string(app_id)}, nullptr, request, with_facts);
    if (!page) return std::move(page).error();
    std::ranges::move(page->items, std::back_inserter(all));
    request.after = std::move(page->next);
  } while (!request.after.empty());
  return all;
}

// An instance that never had anything to run and has nothing now is left alone: its agent keeps what it may
// have from elsewhere.
bool is_untouched(const domain::Instance& instance, const std::vector<std::size_t>& rules) {
  return rules.empty() && instance.placement == 0;
}

Result<void> give(store::Store& store, const domain::Instance& instance, domain::PlacementKey key,
                  Placed& placed) {
  if (instance.placement == key)
    return instance.problem.empty() ? Result<void>() : store.set_problem(instance.key, "");
  auto version = store.place(instance.key, key);
  if (!version) return std::move(version).error();
  placed.changed.push_back({instance.key, instance.app_id, instance.instance_id, *version, key});
  return {};
}

// All of an app as it would be; `only`: one instance gets another placement than it has.
Result<void> check_whole_app(store::Store& store, Placer& placer, const domain::Instance& only,
                             domain::PlacementKey key) {
  auto instances = instances_of(store, only.app_id, false);
  if (!instances) return std::move(instances).error();
  std::vector<domain::PlacedInstance> placed;
  for (const domain::Instance& instance : *instances) {
    auto states = placer.states_of(instance.key == only.key ? key : instance.placement);
    if (!states) return std::move(states).error();
    placed.push_back({instance.instance_id, instance.tags(), std::move(*states)});
  }
  return placer.check(placed);
}

// Whether an instance that gets `key` can matter for waits at all. Most that join cannot: others have the
// same already, and nobody waits for this one.
Result<bool> touches_waits(store::Store& store, Placer& placer, const domain::Instance& instance,
                           domain::PlacementKey key) {
  auto waiting = store.waiting_placements(instance.app_id);
  if (!waiting) return std::move(waiting).error();
  const domain::Tags tags = instance.tags();
  for (const domain::Placement& placement : *waiting) {
    auto states = placer.states_of(placement.key);
    if (!states) return std::move(states).error();
    for (const domain::WaitState& wait : (*states)->waits)
      for (const domain::WaitTarget& target : wait.targets)
        if (target.selector ? target.selector->matches({instance.app_id, instance.instance_id, tags, nullptr})
                            : target.instance_id == instance.instance_id)
          return true;
  }
  auto states = placer.states_of(key);
  if (!states) return std::move(states).error();
  if (!*states || (*states)->waits.empty()) return false;
  auto is_known = store.is_placed(instance.app_id, key);
  if (!is_known) return std::move(is_known).error();
  return !*is_known;
}

}  // namespace

Result<Placed> place_app(store::Store& store, std::string_view app_id) {
  Placer placer(store, app_id);
  if (auto loaded = placer.load(); !loaded) return std::move(loaded).error();
  auto instances = instances_of(store, app_id, placer.uses_facts());
  if (!instances) return std::move(instances).error();

  Placed placed;
  std::vector<domain::PlacementKey> keys;
  std::vector<domain::PlacedInstance> after;
  for (const domain::Instance& instance : *instances) {
    const std::vector<std::size_t> rules = placer.matching(instance);
    if (!rules.empty()) ++placed.matched;
    domain::PlacementKey key = 0;
    if (!is_untouched(instance, rules)) {
      auto choice = placer.choose(rules);
      if (!choice) return std::move(choice).error().with_context("instance '" + instance.instance_id + "'");
      key = (*choice)->key;
    }
    auto states = placer.states_of(key);
    if (!states) return std::move(states).error();
    keys.push_back(key);
    after.push_back({instance.instance_id, instance.tags(), std::move(*states)});
  }
  if (auto fine = placer.check(after); !fine) return std::move(fine).error();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == 0) continue;
    if (auto given = give(store, (*instances)[i], keys[i], placed); !given) return std::move(given).error();
  }
  return placed;
}

Result<Placed> place_instance(store::Store& store, domain::InstanceKey key) {
  auto instance = store.find_instance(key);
  if (!instance) return std::move(instance).error();
  Placer placer(store, instance->app_id);
  if (auto loaded = placer.load(); !loaded) return std::move(loaded).error();
  const std::vector<std::size_t> rules = placer.matching(*instance);
  Placed placed;
  placed.matched = rules.empty() ? 0 : 1;
  if (is_untouched(*instance, rules)) return placed;

  const auto reject = [&](const Error& error) -> Result<Placed> {
    if (error.code() != ErrorCode::exists) return error;
    if (auto noted = store.set_problem(key, error.message()); !noted) return std::move(noted).error();
    return placed;
  };
  auto choice = placer.choose(rules);
  if (!choice) return reject(choice.error());
  const domain::PlacementKey placement = (*choice)->key;
  if (placement != instance->placement || !instance->problem.empty()) {
    auto touches = touches_waits(store, placer, *instance, placement);
    if (!touches) return std::move(touches).error();
    if (*touches)
      if (auto fine = check_whole_app(store, placer, *instance, placement); !fine)
        return reject(fine.error());
  }
  if (auto given = give(store, *instance, placement, placed); !given) return std::move(given).error();
  return placed;
}

Result<std::size_t> count_matches(store::Store& store, std::string_view app_id,
                                  const domain::Selector& selector) {
  std::size_t count = 0;
  domain::PageRequest request{"", domain::kLargestPage};
  do {
    auto page = store.list_instances({.app_id = std::string(app_id)}, &selector, request);
    if (!page) return std::move(page).error();
    count += page->items.size();
    request.after = std::move(page->next);
  } while (!request.after.empty());
  return count;
}

}  // namespace backend::fleet
