#include "backend/domain/placement/waits.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_set>

#include "protocol/ids.hpp"

namespace backend::domain {

namespace {

// Targets that are listed of one wait, and open waits of one WaitList message; a selector may mean the whole
// fleet. A message of all that has room for the longest names.
constexpr std::size_t kMostListed = 1000;

// What one WaitTarget means at present.
struct Target {
  const WaitTarget* spec = nullptr;
  std::unordered_set<InstanceKey> meant;  // instances that have the state
  std::unordered_set<InstanceKey> open;   // those of them where it is not done

  bool is_done() const { return !meant.empty() && open.empty(); }
};

struct Wait {
  std::size_t state = 0;
  std::vector<Target> targets;
  std::optional<Millis> satisfied_at;
};

// All instances of an app with one list of states: what they wait for is the same, so it is kept once.
struct Group {
  std::shared_ptr<const StateList> states;
  std::set<InstanceKey> members;
  std::vector<Wait> waits;
};

struct WaitApp {
  std::map<const StateList*, Group> groups;  // those with wait states; a map, whose nodes do not move
  std::unordered_map<std::string, InstanceKey> names;
  // Who waits for an instance by name, and who waits by selector.
  std::unordered_map<std::string, std::set<Group*>> by_name;
  std::set<Group*> by_selector;
};

struct Machine {
  WaitApp* app = nullptr;
  std::string app_id, instance_id;
  Tags tags, self_tags, tag_scopes;
  bool trusts_self_reported = false;
  bool takes_self_tags = false;
  std::int64_t version = 0;
  std::shared_ptr<const StateList> states;
  bool is_excluded = false;  // nobody is to wait for it
  std::size_t done = 0;      // the first so many states are done
  Millis done_at = 0;        // when the last of them was

  bool has_done(std::size_t state) const { return state < done; }
};

// How far a report says that its instance has come: so many of the first states are done.
std::size_t reach_of(const Machine& machine, const Report& report) {
  const auto of = [&](std::int64_t version) { return machine.states && version == machine.version; };
  if (const auto* log = std::get_if<protocol::StateLog>(&report)) {
    if (!of(log->recipe_version)) return 0;
    const auto found = machine.states->index.find(log->id);
    if (found == machine.states->index.end()) return 0;
    return found->second + (log->state_result ? 1 : 0);
  }
  if (const auto* end = std::get_if<protocol::RoundEnd>(&report))
    return of(end->recipe_version) && is_whole(*end) ? machine.states->ids.size() : 0;
  if (const auto* status = std::get_if<protocol::RecipeStatus>(&report))
    return of(status->recipe_version) && status->status == protocol::RecipeProgress::converged
               ? machine.states->ids.size()
               : 0;
  return 0;
}

// The same from what the store remembers.
void read_progress_of(const InstanceProgress& progress, Machine& machine) {
  if (!machine.states) return;
  const auto note = [&](std::size_t done, Millis at) {
    machine.done = std::max(machine.done, done);
    machine.done_at = std::max(machine.done_at, at);
  };
  if (progress.converged_version == progress.recipe_version && progress.recipe_version > 0)
    note(machine.states->ids.size(), progress.converged_at);
  for (const StateStanding& state : progress.states) {
    const auto found = machine.states->index.find(state.state_id);
    if (found == machine.states->index.end() || state.recipe_version != progress.recipe_version) continue;
    const bool is_done = state.done_version == progress.recipe_version;
    note(found->second + (is_done ? 1 : 0), is_done ? state.done_at : 0);
  }
}

}  // namespace

struct WaitIndex::Impl {
  std::unordered_map<std::string, WaitApp> apps;
  std::unordered_map<InstanceKey, Machine> machines;

  // Brings a target up to date about one machine.
  static void look(Target& target, InstanceKey key, const Machine& machine) {
    const bool is_named =
        target.spec->selector
            ? target.spec->selector->matches({machine.app_id, machine.instance_id, machine.tags, nullptr,
                                              &machine.self_tags, machine.trusts_self_reported,
                                              &machine.tag_scopes, machine.takes_self_tags})
            : target.spec->instance_id == machine.instance_id;
    if (!is_named) return forget(target, key);
    if (machine.is_excluded) return waive(target, key);
    if (!machine.states) return forget(target, key);
    const auto state = machine.states->index.find(target.spec->state_id);
    if (state == machine.states->index.end()) return forget(target, key);
    target.meant.insert(key);
    if (machine.has_done(state->second))
      target.open.erase(key);
    else
      target.open.insert(key);
  }
  static void forget(Target& target, InstanceKey key) {
    target.meant.erase(key);
    target.open.erase(key);
  }

  // Without this machine: a selector does not mean it; one that is waited for by name counts as done.
  static void waive(Target& target, InstanceKey key) {
    forget(target, key);
    if (!target.spec->selector) target.meant.insert(key);
  }

  void settle(Group& group, Wait& wait, Millis now, std::vector<Satisfied>& satisfied) const {
    const bool is_done = std::ranges::all_of(wait.targets, [](const Target& each) { return each.is_done(); });
    if (!is_done) {
      wait.satisfied_at.reset();
      return;
    }
    if (wait.satisfied_at) return;
    wait.satisfied_at = now;
    for (const InstanceKey member : group.members)
      satisfied.push_back({member, machines.at(member).version, group.states->ids[wait.state], now});
  }

  // `change` is applied to all targets that may mean the instance.
  template <class Change>
  std::vector<Satisfied> update(WaitApp& app, const std::string& instance_id, Millis now,
                                const Change& change) {
    std::set<Group*> groups = app.by_selector;
    if (const auto found = app.by_name.find(instance_id); found != app.by_name.end())
      groups.insert(found->second.begin(), found->second.end());
    std::vector<Satisfied> satisfied;
    for (Group* group : groups)
      for (Wait& wait : group->waits) {
        for (Target& target : wait.targets)
          change(target);
        settle(*group, wait, now, satisfied);
      }
    return satisfied;
  }

  void join(WaitApp& app, InstanceKey key, const Machine& machine) {
    if (!machine.states || machine.states->waits.empty()) return;
    const auto [found, is_new] = app.groups.try_emplace(machine.states.get());
    Group& group = found->second;
    group.members.insert(key);
    if (!is_new) return;
    group.states = machine.states;
    for (const WaitState& state : machine.states->waits) {
      Wait& wait = group.waits.emplace_back();
      wait.state = state.index;
      for (const WaitTarget& target : state.targets) {
        wait.targets.push_back({&target, {}, {}});
        fill(app, group, wait.targets.back());
      }
      if (!std::ranges::all_of(wait.targets, [](const Target& each) { return each.is_done(); })) continue;
      // It has been so since the last of them was done.
      Millis since = 0;
      for (const Target& target : wait.targets)
        for (const InstanceKey meant : target.meant)
          since = std::max(since, machines.at(meant).done_at);
      wait.satisfied_at = since;
    }
  }

  // A new target, about all machines that there are.
  void fill(WaitApp& app, Group& group, Target& target) {
    if (target.spec->selector) {
      app.by_selector.insert(&group);
      for (const auto& [name, key] : app.names)
        look(target, key, machines.at(key));
      return;
    }
    app.by_name[target.spec->instance_id].insert(&group);
    if (const auto named = app.names.find(target.spec->instance_id); named != app.names.end())
      look(target, named->second, machines.at(named->second));
  }

  static void leave(WaitApp& app, InstanceKey key, const Machine& machine) {
    const auto found = app.groups.find(machine.states.get());
    if (found == app.groups.end()) return;
    Group& group = found->second;
    group.members.erase(key);
    if (!group.members.empty()) return;
    app.by_selector.erase(&group);
    for (const Wait& wait : group.waits)
      for (const Target& target : wait.targets) {
        const auto named = app.by_name.find(target.spec->instance_id);
        if (named == app.by_name.end()) continue;
        named->second.erase(&group);
        if (named->second.empty()) app.by_name.erase(named);
      }
    app.groups.erase(found);
  }

  const Group* group_of(InstanceKey key) const {
    const auto machine = machines.find(key);
    if (machine == machines.end() || !machine->second.states) return nullptr;
    const WaitApp& app = *machine->second.app;
    const auto group = app.groups.find(machine->second.states.get());
    return group == app.groups.end() ? nullptr : &group->second;
  }

  void list_open(const Target& target, std::vector<protocol::StateRef>& open) const {
    if (target.meant.empty()) {
      const std::string whose =
          target.spec->selector ? "selector: " + target.spec->selector->text() : target.spec->instance_id;
      open.push_back({whose, target.spec->state_id});
    }
    for (const InstanceKey key : target.open) {
      if (open.size() == kMostListed) return;
      open.push_back({machines.at(key).instance_id, target.spec->state_id});
    }
  }
};

WaitIndex::WaitIndex() : impl_(std::make_unique<Impl>()) {}
WaitIndex::~WaitIndex() = default;
WaitIndex::WaitIndex(WaitIndex&&) noexcept = default;
WaitIndex& WaitIndex::operator=(WaitIndex&&) noexcept = default;

std::vector<Satisfied> WaitIndex::set_instance(const InstanceProgress& progress,
                                               std::shared_ptr<const StateList> states, Millis now) {
  if (progress.is_out) return remove_instance(progress.key, now);
  WaitApp& app = impl_->apps[progress.app_id];
  Machine& machine = impl_->machines[progress.key];
  if (machine.app) Impl::leave(app, progress.key, machine);
  machine = {&app,
             progress.app_id,
             progress.instance_id,
             progress.tags,
             progress.self_tags,
             progress.tag_scopes,
             progress.trusts_self_reported,
             progress.takes_self_tags,
             progress.recipe_version,
             std::move(states),
             progress.is_excluded,
             0,
             0};
  read_progress_of(progress, machine);
  app.names[progress.instance_id] = progress.key;
  auto satisfied = impl_->update(app, progress.instance_id, now,
                                 [&](Target& target) { Impl::look(target, progress.key, machine); });
  impl_->join(app, progress.key, machine);
  return satisfied;
}

std::vector<Satisfied> WaitIndex::remove_instance(InstanceKey instance, Millis now) {
  const auto found = impl_->machines.find(instance);
  if (found == impl_->machines.end()) return {};
  WaitApp& app = *found->second.app;
  const std::string instance_id = found->second.instance_id;
  Impl::leave(app, instance, found->second);
  app.names.erase(instance_id);
  impl_->machines.erase(found);
  return impl_->update(app, instance_id, now, [&](Target& target) { Impl::forget(target, instance); });
}

std::vector<Satisfied> WaitIndex::on_report(InstanceKey instance, const Report& report, Millis now) {
  const auto found = impl_->machines.find(instance);
  if (found == impl_->machines.end()) return {};
  Machine& machine = found->second;
  // A machine that has been through its recipe once has nothing new to say: most reports end here.
  if (!machine.states || machine.is_excluded || machine.done == machine.states->ids.size()) return {};
  const std::size_t reach = reach_of(machine, report);
  if (reach <= machine.done) return {};
  machine.done = reach;
  machine.done_at = now;
  return impl_->update(*machine.app, machine.instance_id, now, [&](Target& target) {
    if (target.open.contains(instance)) Impl::look(target, instance, machine);
  });
}

WaitIndex::Given WaitIndex::given(InstanceKey instance) const {
  const auto found = impl_->machines.find(instance);
  if (found == impl_->machines.end()) return {};
  return {found->second.states, found->second.version};
}

std::vector<WaitStatus> WaitIndex::waits_of(InstanceKey instance) const {
  std::vector<WaitStatus> waits;
  const Group* group = impl_->group_of(instance);
  if (!group) return waits;
  for (const Wait& wait : group->waits) {
    WaitStatus& progress = waits.emplace_back();
    progress.state_id = group->states->ids[wait.state];
    progress.satisfied_at = wait.satisfied_at;
    if (!wait.satisfied_at)
      for (const Target& target : wait.targets)
        impl_->list_open(target, progress.open);
  }
  return waits;
}

std::optional<protocol::WaitList> WaitIndex::wait_list(InstanceKey instance) const {
  const auto machine = impl_->machines.find(instance);
  if (machine == impl_->machines.end()) return std::nullopt;
  protocol::WaitList list{.recipe_version = machine->second.version};
  std::vector<protocol::StateRef> others;
  std::size_t waits = 0;
  for (WaitStatus& wait : waits_of(instance)) {
    if (wait.satisfied_at) continue;
    if (++waits > kMostListed) return std::nullopt;
    list.waited.push_back({machine->second.instance_id, wait.state_id});
    // A selector that nobody matches is no name that an agent would read.
    std::erase_if(wait.open, [](const protocol::StateRef& open) {
      return !protocol::problem_of_name(open.instance_id).empty();
    });
    if (wait.open.empty()) continue;
    list.waited.push_back(std::move(wait.open.front()));
    for (std::size_t i = 1; i < wait.open.size() && others.size() < kMostListed; ++i)
      others.push_back(std::move(wait.open[i]));
  }
  std::ranges::move(others, std::back_inserter(list.waited));
  return list;
}

std::vector<InstanceKey> WaitIndex::waiting_instances() const {
  std::vector<InstanceKey> keys;
  for (const auto& [app_id, app] : impl_->apps)
    for (const auto& [list, group] : app.groups)
      keys.insert(keys.end(), group.members.begin(), group.members.end());
  std::ranges::sort(keys);
  return keys;
}

std::vector<WaitHolder> WaitIndex::holders(std::size_t most,
                                           const std::unordered_set<InstanceKey>* among) const {
  const auto counts_as_held = [&](InstanceKey key) { return !among || among->contains(key); };
  std::unordered_map<InstanceKey, std::size_t> counts;
  for (const auto& [app_id, app] : impl_->apps)
    for (const auto& [list, group] : app.groups)
      for (const Wait& wait : group.waits) {
        std::unordered_set<InstanceKey> held_by;
        for (const Target& target : wait.targets)
          held_by.insert(target.open.begin(), target.open.end());
        if (held_by.empty()) continue;
        const auto members = static_cast<std::size_t>(std::ranges::count_if(group.members, counts_as_held));
        for (const InstanceKey key : held_by)
          counts[key] += members - (counts_as_held(key) ? group.members.count(key) : 0);
      }
  std::vector<WaitHolder> holders;
  for (const auto& [key, waiting] : counts)
    if (waiting > 0) holders.push_back({key, waiting});
  std::ranges::sort(holders, [](const WaitHolder& one, const WaitHolder& other) {
    return one.waiting != other.waiting ? one.waiting > other.waiting : one.instance < other.instance;
  });
  if (holders.size() > most) holders.resize(most);
  return holders;
}

std::size_t WaitIndex::open_count(std::string_view of) const {
  std::size_t open = 0;
  for (const auto& [app_id, app] : impl_->apps) {
    if (!of.empty() && of != app_id) continue;
    for (const auto& [list, group] : app.groups)
      for (const Wait& wait : group.waits)
        if (!wait.satisfied_at) open += group.members.size();
  }
  return open;
}

}  // namespace backend::domain
