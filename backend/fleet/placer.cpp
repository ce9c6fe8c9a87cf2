#include "backend/fleet/placer.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "backend/domain/placement/module_source.hpp"
#include "backend/domain/placement/placement.hpp"
#include "backend/domain/placement/placement_rules.hpp"
#include "backend/domain/variables/merge.hpp"
#include "backend/domain/variables/recipe_inputs.hpp"
#include "base/sha256.hpp"
#include "base/values/json.hpp"

namespace backend::fleet {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// One of the two sides of a change that is being rolled out.
struct Side {
  std::size_t rollout = 0;  // among the held ones
  bool is_after = false;    // for those who were told; else for those who were not
};

// An assignment, ready to be compared with instances.
struct Rule {
  domain::Assignment assignment;
  domain::Selector selector;
  std::int64_t revision = 0;     // the newest where the assignment names none
  std::vector<Side> sides = {};  // it is for those alone who are on all of these
  domain::RecipeInputs inputs = {};
};

// A layer of variables, likewise.
struct LayerRule {
  domain::VariableLayer layer;
  domain::Selector selector = {};  // of LayerKind::selector
  std::vector<Side> sides = {};
};

// What is for an instance: rules and layers by their numbers. Layers only where its recipes ask for
// variables, from weak to strong.
struct Match {
  std::vector<std::size_t> rules, layers;
  bool operator==(const Match&) const = default;
};

// Something that an instance can be given: the same for all with the same rules.
struct Choice {
  domain::PlacementKey key = 0;
  std::shared_ptr<const domain::StateList> states;  // read when waits are checked, or when it is new
};

class Placer {
 public:
  Placer(store::Store& store, std::string_view app_id) : store_(store), app_id_(app_id) {}

  // `only`: no other instance will be asked for.
  Result<void> load(const domain::Instance* only = nullptr) {
    auto assignments = store_.assignments_in_order(app_id_);
    if (!assignments) return std::move(assignments).error();
    if (auto held = load_held(only ? std::optional(only->key) : std::nullopt); !held) return held;
    for (domain::Assignment& assignment : *assignments) {
      std::vector<Side> sides;
      for (std::size_t i = 0; i < held_.size(); ++i)
        if (held_[i].change.assignment == assignment.id) sides.push_back({.rollout = i, .is_after = true});
      if (auto added = add_rule(std::move(assignment), std::move(sides)); !added) return added;
    }
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (const auto& before = held_[i].change.before)
        if (auto added = add_rule(*before, {{.rollout = i, .is_after = false}}); !added) return added;
    if (!held_.empty())
      std::ranges::stable_sort(
          rules_, {}, [](const Rule& rule) { return std::pair(rule.assignment.order, rule.assignment.id); });
    const bool ask_for_variables = std::ranges::any_of(rules_, asks_for_variables);
    return ask_for_variables ? load_layers(only) : Result<void>();
  }
  bool uses_facts() const { return uses_facts_; }

  // The rules that match, in order, and the layers.
  Match matching(const domain::Instance& instance) const { return matching(instance, instance.trust); }
  // Those that match whatever the machine says of itself.
  Match matching_anyhow(const domain::Instance& instance) const {
    return matching(instance, domain::SelfTrust::off);
  }
  Match matching(const domain::Instance& instance, domain::SelfTrust trust) const {
    const domain::Tags tags = instance.tags_under(trust);
    domain::SelectorSubject subject{.app_id = instance.app_id,
                                    .instance_id = instance.instance_id,
                                    .tags = tags,
                                    .self_tags = &instance.agent_tags,
                                    .trusts_self_reported = trust != domain::SelfTrust::off,
                                    .tag_scopes = &instance.tag_scopes,
                                    .takes_self_tags = trust == domain::SelfTrust::all};
    base::Arena arena;
    std::variant<base::Value, base::SyntaxProblem> facts;
    if (uses_facts_ && subject.trusts_self_reported && !instance.facts.empty()) {
      facts = base::parse_json(instance.facts, arena);
      subject.facts = std::get_if<base::Value>(&facts);
    }
    Match found;
    bool ask_for_variables = false;
    for (std::size_t i = 0; i < rules_.size(); ++i)
      if (is_on_its_sides(rules_[i].sides, instance.key) && rules_[i].selector.matches(subject)) {
        found.rules.push_back(i);
        ask_for_variables = ask_for_variables || asks_for_variables(rules_[i]);
      }
    for (std::size_t i = 0; ask_for_variables && i < layers_.size(); ++i)
      if (is_on_its_sides(layers_[i].sides, instance.key) && reaches(layers_[i], subject))
        found.layers.push_back(i);
    return found;
  }

  // What the instance, for which this is, runs. Error `exists`: it cannot be given that.
  Result<Choice*> choose(const Match& match, const domain::Instance& instance) {
    auto plain = choose(match.rules);
    if (!plain) return plain;
    std::vector<const domain::RecipeInputs*> inputs;
    for (const std::size_t i : match.rules)
      if (rules_[i].inputs.are_needed) inputs.push_back(&rules_[i].inputs);
    if (inputs.empty()) return plain;
    if (!instance.takes_inputs) return Error(ErrorCode::exists, why_no_inputs(match.rules, instance));
    std::vector<const domain::VariableLayer*> layers;
    for (const std::size_t i : match.layers)
      layers.push_back(&layers_[i].layer);
    auto filled = domain::fill_inputs(inputs, layers, instance.operator_tags);
    if (!filled) return Error(ErrorCode::exists, filled.error().message());
    if (filled->vars.empty() && filled->tags.empty()) return plain;
    return choose_filled(match.rules, **plain, *filled);
  }

  // What an instance with these rules runs, without variables. Error `exists`: their recipes do not go
  // together.
  Result<Choice*> choose(const std::vector<std::size_t>& rules) {
    if (const auto found = choices_.find(rules); found != choices_.end()) return &found->second;
    if (const auto failed = failures_.find(rules); failed != failures_.end()) return failed->second;
    domain::Placement placement;
    describe(rules, placement);
    Choice choice;
    auto known = store_.find_placement(placement.source);
    if (!known) return std::move(known).error();
    if (*known) {
      choice.key = **known;
    } else {
      auto made = make(rules, placement);
      if (!made) return failures_.emplace(rules, std::move(made).error()).first->second;
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
    if (placement->base != 0) {
      auto shared = states_of(placement->base);
      if (shared) lists_[key] = *shared;
      return shared;
    }
    auto states = domain::read_states(placement->states);
    if (!states) return std::move(states).error();
    return lists_[key] = std::move(*states);
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

  // Why each cannot be: see domain::isolate_waits().
  Result<std::vector<std::string>> check(std::span<const domain::PlacedInstance> instances,
                                         const std::vector<bool>& suspects) {
    const bool any_waits = std::ranges::any_of(instances, [](const domain::PlacedInstance& each) {
      return each.states && !each.states->waits.empty();
    });
    if (!any_waits) return std::vector<std::string>(instances.size());
    auto lists = assigned();
    if (!lists) return std::move(lists).error();
    return domain::isolate_waits(app_id_, instances, suspects, *lists);
  }

  // Whether one of these rules or layers is what has changed.
  bool is_touched(const Match& match, const Change& change) const {
    if (change.layer)
      return std::ranges::any_of(match.layers,
                                 [&](std::size_t i) { return layers_[i].layer.id == change.layer; });
    const bool is_anything = !change.assignment && change.recipe.empty();
    return std::ranges::any_of(match.rules, [&](std::size_t i) {
      const domain::Assignment& assignment = rules_[i].assignment;
      return is_anything || assignment.id == change.assignment ||
             (!change.recipe.empty() && assignment.recipe == change.recipe && !assignment.revision);
    });
  }

 private:
  Result<void> load_held(std::optional<domain::InstanceKey> only) {
    auto held = store_.held_changes(app_id_);
    if (!held) return std::move(held).error();
    held_ = std::move(*held);
    for (const domain::Rollout& rollout : held_) {
      auto told = store_.told_machines(rollout, only);
      if (!told) return std::move(told).error();
      told_.emplace_back(told->begin(), told->end());
    }
    return {};
  }

  // An assignment that follows a recipe whose newest revision is being rolled out is two rules.
  Result<void> add_rule(domain::Assignment assignment, std::vector<Side> sides) {
    auto selector = domain::Selector::parse(assignment.selector);
    if (!selector) return std::move(selector).error();
    auto revision = store_.find_revision_row(assignment.recipe, assignment.revision);
    if (!revision) return std::move(revision).error();
    uses_facts_ = uses_facts_ || selector->uses_facts();
    const auto held = std::ranges::find_if(held_, [&](const domain::Rollout& rollout) {
      return !assignment.revision && rollout.change.is_of_recipe() &&
             rollout.change.recipe == assignment.recipe;
    });
    if (held != held_.end()) {
      auto earlier = store_.find_revision_row(assignment.recipe, held->change.from_revision);
      if (!earlier) return std::move(earlier).error();
      Rule before{assignment, selector->strict(), held->change.from_revision, sides,
                  domain::read_recipe_inputs(earlier->inputs)};
      const auto rollout = static_cast<std::size_t>(held - held_.begin());
      before.sides.push_back({.rollout = rollout, .is_after = false});
      rules_.push_back(std::move(before));
      sides.push_back({.rollout = rollout, .is_after = true});
    }
    rules_.push_back({std::move(assignment), selector->strict(), revision->revision, std::move(sides),
                      domain::read_recipe_inputs(revision->inputs)});
    return {};
  }

  static bool asks_for_variables(const Rule& rule) {
    return rule.inputs.uses_all_variables || !rule.inputs.variables.empty();
  }

  Result<void> load_layers(const domain::Instance* only) {
    auto layers =
        store_.layers_of(app_id_, only ? std::optional<std::string_view>(only->instance_id) : std::nullopt);
    if (!layers) return std::move(layers).error();
    for (domain::VariableLayer& layer : *layers) {
      std::vector<Side> sides;
      for (std::size_t i = 0; i < held_.size(); ++i)
        if (held_[i].change.layer == layer.id) sides.push_back({.rollout = i, .is_after = true});
      if (auto added = add_layer(std::move(layer), std::move(sides)); !added) return added;
    }
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (const auto& before = held_[i].change.layer_before)
        if (auto added = add_layer(*before, {{.rollout = i, .is_after = false}}); !added) return added;
    std::ranges::stable_sort(layers_, {},
                             [](const LayerRule& rule) { return domain::strength_of(rule.layer); });
    return {};
  }

  Result<void> add_layer(domain::VariableLayer layer, std::vector<Side> sides) {
    LayerRule rule{.layer = std::move(layer), .sides = std::move(sides)};
    if (rule.layer.kind == domain::LayerKind::selector) {
      auto selector = domain::Selector::parse(rule.layer.target);
      if (!selector) return std::move(selector).error();
      uses_facts_ = uses_facts_ || selector->uses_facts();
      rule.selector = selector->strict();
    }
    layers_.push_back(std::move(rule));
    return {};
  }

  static bool reaches(const LayerRule& rule, const domain::SelectorSubject& subject) {
    switch (rule.layer.kind) {
      case domain::LayerKind::app:
        return true;
      case domain::LayerKind::selector:
        return rule.selector.matches(subject);
      case domain::LayerKind::machine:
        break;
    }
    return rule.layer.target == subject.instance_id;
  }

  std::string why_no_inputs(const std::vector<std::size_t>& rules, const domain::Instance& instance) const {
    std::string names;
    for (const std::size_t i : rules)
      if (rules_[i].inputs.are_needed) names += (names.empty() ? "" : ", ") + rules_[i].assignment.recipe;
    return "its agent" + (instance.agent_version.empty() ? "" : ", version " + instance.agent_version + ",") +
           " knows nothing of expressions and variables, and " + names +
           " has such: update it ('opsctl update')";
  }

  // The same states, with what they are filled in with.
  Result<Choice*> choose_filled(const std::vector<std::size_t>& rules, const Choice& plain,
                                const domain::FilledInputs& filled) {
    domain::Placement placement;
    describe(rules, placement);
    placement.source += " inputs " + base::sha256_hex(filled.vars + "\n" + filled.tags);
    const auto found = filled_.find(placement.source);
    if (found != filled_.end()) return &found->second;
    Choice choice{.key = 0, .states = plain.states};
    auto known = store_.find_placement(placement.source);
    if (!known) return std::move(known).error();
    if (*known) {
      choice.key = **known;
    } else {
      auto shared = store_.find_placement(plain.key);
      if (!shared) return std::move(shared).error();
      if (shared->states.size() + filled.vars.size() + filled.tags.size() > domain::kLargestStates)
        return Error(ErrorCode::exists,
                     "its recipes and their variables are together too large for one message");
      placement.digest = base::sha256_hex(shared->digest + "\nvars " + filled.vars + "\ntags " + filled.tags);
      placement.has_waits = shared->has_waits;
      placement.module = shared->module;
      placement.vars = filled.vars;
      placement.tags = filled.tags;
      placement.base = plain.key;
      placement.needs_inputs = true;
      auto key = store_.put_placement(placement);
      if (!key) return std::move(key).error();
      choice.key = *key;
    }
    return &filled_.emplace(placement.source, std::move(choice)).first->second;
  }

  bool is_on_its_sides(const std::vector<Side>& sides, domain::InstanceKey instance) const {
    return std::ranges::all_of(
        sides, [&](const Side& side) { return told_[side.rollout].contains(instance) == side.is_after; });
  }

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

  // "" unless one recipe comes by two assignments: that says more than that a state is there twice.
  std::string describe_twice(const std::vector<std::size_t>& rules) const {
    for (std::size_t i = 0; i < rules.size(); ++i)
      for (std::size_t j = i + 1; j < rules.size(); ++j) {
        const domain::Assignment& one = rules_[rules[i]].assignment;
        const domain::Assignment& other = rules_[rules[j]].assignment;
        if (one.recipe == other.recipe)
          return "the recipe '" + one.recipe + "' is assigned to it twice: by assignment " +
                 std::to_string(std::min(one.id, other.id)) + " already, and by " +
                 std::to_string(std::max(one.id, other.id));
      }
    return {};
  }

  // A machine has the modules of one commit.
  static Result<void> take_modules(const std::vector<domain::Revision>& revisions,
                                   domain::Placement& placement) {
    const domain::Revision* first = nullptr;
    for (const domain::Revision& revision : revisions) {
      if (revision.module.repo.empty()) continue;
      if (!first) {
        first = &revision;
        placement.module = revision.module;
      } else if (revision.module != first->module) {
        return Error(ErrorCode::exists,
                     "the recipes " + first->name + " and " + revision.name +
                         " do not go together on one machine: their modules are those of " +
                         domain::describe(first->module) + " and of " + domain::describe(revision.module) +
                         "; change them together with 'opsctl apply'");
      }
    }
    return {};
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
    if (auto same = take_modules(revisions, placement); !same) return std::move(same).error();
    for (const domain::Revision& revision : revisions) {
      texts.push_back(revision.states);
      names += (names.empty() ? "" : ", ") + revision.name;
    }
    placement.states = domain::concatenate_states(texts);
    auto states = domain::read_states(placement.states);
    if (states && placement.states.size() > domain::kLargestStates)
      return Error(ErrorCode::exists, "the recipes " + names + " are together too large for one message");
    if (const std::string twice = states ? "" : describe_twice(rules); !twice.empty())
      return Error(ErrorCode::exists, twice);
    if (!states)
      return Error(ErrorCode::exists, "the recipes " + names +
                                          " do not go together on one machine: " + states.error().message());
    // Of all that the agent keeps, so that it is sent anew when any of that is another.
    placement.digest = base::sha256_hex(
        placement.states + (placement.kill_on_change ? "\nkill " : "\nfinish ") +
        (placement.round_delay_s ? std::to_string(*placement.round_delay_s) : "-") +
        (placement.module.repo.empty()
             ? ""
             : "\n" + placement.module.repo + "\n" + placement.module.tag + "\n" + placement.module.commit));
    placement.has_waits = !(*states)->waits.empty();
    placement.needs_inputs =
        std::ranges::any_of(rules, [&](std::size_t i) { return rules_[i].inputs.are_needed; });
    auto key = store_.put_placement(placement);
    if (!key) return std::move(key).error();
    lists_.emplace(*key, *states);
    return Choice{*key, std::move(*states)};
  }

  store::Store& store_;
  const std::string app_id_;
  std::vector<Rule> rules_;
  std::vector<domain::Rollout> held_;                          // changes that not all have
  std::vector<std::unordered_set<domain::InstanceKey>> told_;  // of each: who has it
  bool uses_facts_ = false;
  std::vector<LayerRule> layers_;  // from weak to strong; none where no recipe asks for variables
  std::map<std::vector<std::size_t>, Choice> choices_;
  std::unordered_map<std::string, Choice> filled_;      // by source
  std::map<std::vector<std::size_t>, Error> failures_;  // many machines may have the same
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
bool is_untouched(const domain::Instance& instance, const Match& match) {
  return match.rules.empty() && instance.placement == 0;
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

domain::PlacedInstance placed_instance(const domain::Instance& instance,
                                       std::shared_ptr<const domain::StateList> states) {
  return {.instance_id = instance.instance_id,
          .tags = instance.tags(),
          .states = std::move(states),
          .self_tags = instance.agent_tags,
          .trusts_self_reported = instance.trust != domain::SelfTrust::off,
          .tag_scopes = instance.tag_scopes,
          .takes_self_tags = instance.trust == domain::SelfTrust::all};
}

// Whether the waits of an app can come true when `only` gets this placement; what it is told if not. Where
// they could not without it either, others are to blame, and it goes on.
Result<std::string> problem_with_others(store::Store& store, Placer& placer, const domain::Instance& only,
                                        domain::PlacementKey key) {
  auto instances = instances_of(store, only.app_id, false);
  if (!instances) return std::move(instances).error();
  std::vector<domain::PlacedInstance> placed;
  for (const domain::Instance& instance : *instances) {
    const bool is_it = instance.key == only.key;
    if (instance.is_out() || (!is_it && !instance.problem.empty())) continue;
    auto states = placer.states_of(is_it ? key : instance.placement);
    if (!states) return std::move(states).error();
    placed.push_back(placed_instance(instance, std::move(*states)));
    if (is_it) std::swap(placed.front(), placed.back());
  }
  std::vector<bool> suspects(placed.size(), false);
  suspects.front() = true;
  auto checked = placer.check(placed, suspects);
  if (checked) return checked->front();
  return checked.error().code() == ErrorCode::exists ? Result<std::string>("") : std::move(checked).error();
}

// Whether an instance that gets `key` can matter for waits at all. Most that join cannot: others have the
// same already, and nobody waits for this one.
Result<bool> touches_waits(store::Store& store, Placer& placer, const domain::Instance& instance,
                           domain::PlacementKey key) {
  auto waiting = store.waiting_placements(instance.app_id);
  if (!waiting) return std::move(waiting).error();
  for (const domain::Placement& placement : *waiting) {
    auto states = placer.states_of(placement.key);
    if (!states) return std::move(states).error();
    for (const domain::WaitState& wait : (*states)->waits)
      for (const domain::WaitTarget& target : wait.targets)
        if (target.selector ? target.selector->matches(instance) : target.instance_id == instance.instance_id)
          return true;
  }
  auto states = placer.states_of(key);
  if (!states) return std::move(states).error();
  if (!*states || (*states)->waits.empty()) return false;
  auto is_known = store.is_placed(instance.app_id, key);
  if (!is_known) return std::move(is_known).error();
  return !*is_known;
}

// An instance on its way to what it will run.
struct Placing {
  const domain::Instance* instance = nullptr;
  Match match;
  domain::PlacementKey key = 0;  // 0: it is left alone
  bool is_touched = false;       // by a change
  bool is_by_its_word = false;   // where it is, or may be, because it says so
  bool may_refuse = true;        // what touches it does so whatever it says
};

// What each would run, as far as its own recipes go together.
Result<void> choose_all(Placer& placer, std::vector<Placing>& all, std::span<const Change> changes,
                        std::vector<domain::PlacementCase>& cases) {
  for (Placing& each : all) {
    each.match = placer.matching(*each.instance);
    each.is_touched = std::ranges::any_of(
        changes, [&](const Change& change) { return placer.is_touched(each.match, change); });
    domain::PlacementCase& fate = cases.emplace_back();
    fate.instance_id = each.instance->instance_id;
    fate.was_rejected = !each.instance->problem.empty();
    if (each.instance->trust != domain::SelfTrust::off) {
      const Match anyhow = placer.matching_anyhow(*each.instance);
      each.is_by_its_word = anyhow != each.match || !each.instance->agent_tags.empty();
      each.may_refuse = anyhow == each.match;
    }
    if (is_untouched(*each.instance, each.match)) continue;
    auto choice = placer.choose(each.match, *each.instance);
    if (choice)
      each.key = (*choice)->key;
    else if (choice.error().code() == ErrorCode::exists)
      fate.problem = choice.error().message();
    else
      return std::move(choice).error();
  }
  return {};
}

// The machine for which one of the changes is refused.
std::optional<std::size_t> find_refusing(const Placer& placer, const std::vector<Placing>& all,
                                         std::span<const Change> changes,
                                         std::vector<domain::PlacementCase>& cases) {
  for (const Change& change : changes) {
    for (std::size_t i = 0; i < all.size(); ++i)
      cases[i].is_touched = all[i].may_refuse && all[i].is_touched && placer.is_touched(all[i].match, change);
    if (const auto refusing = change.layer ? domain::spoiled_case(cases) : domain::refusing_case(cases))
      return refusing;
  }
  return std::nullopt;
}

// The waits among those who have no problem so far.
Result<void> check_all(Placer& placer, const std::vector<Placing>& all,
                       std::vector<domain::PlacementCase>& cases) {
  std::vector<domain::PlacedInstance> after;
  std::vector<bool> suspects;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!cases[i].problem.empty()) continue;
    auto states = placer.states_of(all[i].key);
    if (!states) return std::move(states).error();
    after.push_back(placed_instance(*all[i].instance, std::move(*states)));
    suspects.push_back(cases[i].was_rejected || all[i].is_by_its_word);
    numbers.push_back(i);
  }
  auto problems = placer.check(after, suspects);
  if (!problems) return std::move(problems).error();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    cases[numbers[i]].problem = std::move((*problems)[i]);
  return {};
}

Result<void> reject(store::Store& store, const domain::Instance& instance, const std::string& reason,
                    bool is_touched, Placed& placed) {
  placed.rejected.push_back({.app_id = instance.app_id,
                             .instance_id = instance.instance_id,
                             .reason = reason,
                             .recipe_version = instance.recipe_version,
                             .is_new = instance.problem != reason,
                             .is_touched = is_touched});
  return store.set_problem(instance.key, reason);
}

}  // namespace

Result<Placed> place_app(store::Store& store, std::string_view app_id, const Change& change) {
  return place_app(store, app_id, std::span(&change, 1));
}

Result<Placed> place_app(store::Store& store, std::string_view app_id, std::span<const Change> changes) {
  Placer placer(store, app_id);
  if (auto loaded = placer.load(); !loaded) return std::move(loaded).error();
  auto instances = instances_of(store, app_id, placer.uses_facts());
  if (!instances) return std::move(instances).error();
  std::vector<Placing> all;
  for (const domain::Instance& instance : *instances)
    if (!instance.is_out()) all.push_back({.instance = &instance});

  std::vector<domain::PlacementCase> cases;
  if (auto chosen = choose_all(placer, all, changes, cases); !chosen) return std::move(chosen).error();
  const auto refuse = [&](std::size_t i) {
    return Error(ErrorCode::exists, "instance '" + cases[i].instance_id + "': " + cases[i].problem);
  };
  if (const auto refusing = find_refusing(placer, all, changes, cases)) return refuse(*refusing);
  if (auto checked = check_all(placer, all, cases); !checked) return std::move(checked).error();
  if (const auto refusing = find_refusing(placer, all, changes, cases)) return refuse(*refusing);

  Placed placed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].match.rules.empty()) ++placed.matched;
    Result<void> done;
    if (!cases[i].problem.empty())
      done = reject(store, *all[i].instance, cases[i].problem, all[i].is_touched, placed);
    else if (all[i].key != 0)
      done = give(store, *all[i].instance, all[i].key, placed);
    else if (cases[i].was_rejected)
      done = store.set_problem(all[i].instance->key, "");
    if (!done) return std::move(done).error();
  }
  return placed;
}

Result<Placed> place_instance(store::Store& store, domain::InstanceKey key) {
  auto instance = store.find_instance(key);
  if (!instance) return std::move(instance).error();
  Placed placed;
  if (instance->is_out()) return placed;
  Placer placer(store, instance->app_id);
  if (auto loaded = placer.load(&*instance); !loaded) return std::move(loaded).error();
  const Match match = placer.matching(*instance);
  placed.matched = match.rules.empty() ? 0 : 1;
  if (is_untouched(*instance, match)) {
    if (!instance->problem.empty())
      if (auto cleared = store.set_problem(key, ""); !cleared) return std::move(cleared).error();
    return placed;
  }
  auto choice = placer.choose(match, *instance);
  std::string problem;
  if (choice) {
    const domain::PlacementKey placement = (*choice)->key;
    if (placement != instance->placement || !instance->problem.empty()) {
      auto touches = touches_waits(store, placer, *instance, placement);
      if (!touches) return std::move(touches).error();
      if (*touches) {
        auto checked = problem_with_others(store, placer, *instance, placement);
        if (!checked) return std::move(checked).error();
        problem = std::move(*checked);
      }
    }
  } else if (choice.error().code() == ErrorCode::exists) {
    problem = choice.error().message();
  } else {
    return std::move(choice).error();
  }
  const auto done = problem.empty() ? give(store, *instance, (*choice)->key, placed)
                                    : reject(store, *instance, problem, true, placed);
  if (!done) return done.error();
  return placed;
}

Result<std::size_t> count_matches(store::Store& store, std::string_view app_id,
                                  const domain::Selector& selector) {
  std::size_t count = 0;
  domain::PageRequest request{"", domain::kLargestPage};
  do {
    auto page = store.list_instances({.app_id = std::string(app_id)}, &selector, request);
    if (!page) return std::move(page).error();
    count += static_cast<std::size_t>(std::ranges::count(page->items, false, &domain::Instance::is_out));
    request.after = std::move(page->next);
  } while (!request.after.empty());
  return count;
}

}  // namespace backend::fleet
