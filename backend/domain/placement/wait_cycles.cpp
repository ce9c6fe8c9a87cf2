// check_waits(): can all waits of an app come true?
//
// A state depends on the one before it on its machine, and a wait state on its targets besides. So a cycle
// goes from wait state to wait state: one depends on every wait state that stands at or before a target of
// it. Machines with the same list of states have the same waits, so lists are compared, not machines: ten
// thousand equal ones cost as much as one.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "backend/domain/placement/placement.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

class WaitGraph {
 public:
  WaitGraph(std::string_view app_id, std::span<const PlacedInstance> instances,
            std::span<const std::shared_ptr<const StateList>> assigned)
      : app_id_(app_id), instances_(instances), assigned_(assigned) {
    for (const PlacedInstance& instance : instances)
      any_waits_ = any_waits_ || (instance.states && !instance.states->waits.empty());
  }

  Result<void> check() {
    if (!any_waits_) return {};
    for (const PlacedInstance& instance : instances_)
      by_name_.emplace(instance.instance_id, &instance);
    std::unordered_set<const StateList*> seen;
    for (const PlacedInstance& instance : instances_) {
      if (!instance.states || !seen.insert(instance.states.get()).second) continue;
      for (const WaitState& wait : instance.states->waits)
        if (auto added = add_wait(instance, wait); !added) return added;
    }
    return find_cycle();
  }

 private:
  struct Edge {
    std::size_t to;
    const PlacedInstance* instance;  // through which `to` is reached
    std::size_t state;               // the one that is waited for
  };
  struct Node {
    const StateList* list;
    std::size_t state;  // the wait's index
    std::vector<Edge> edges;
  };

  std::size_t node_of(const StateList& list, std::size_t state) {
    const auto [found, is_new] = numbers_.try_emplace({&list, state}, nodes_.size());
    if (is_new) nodes_.push_back({&list, state, {}});
    return found->second;
  }

  bool is_assigned(const std::string& state_id) const {
    return std::ranges::any_of(assigned_, [&](const auto& list) { return list->index.contains(state_id); });
  }

  Result<void> add_wait(const PlacedInstance& member, const WaitState& wait) {
    const StateList& list = *member.states;
    const std::size_t from = node_of(list, wait.index);
    const auto nobody = [&](const WaitTarget& target, std::string_view why) {
      const std::string whose = target.selector ? target.selector->text() : target.instance_id;
      return Error(ErrorCode::exists, member.instance_id + "/" + list.ids[wait.index] + " waits for " +
                                          whose + "/" + target.state_id + ", but " + std::string(why));
    };
    for (const WaitTarget& target : wait.targets) {
      if (target.selector) {
        if (target.selector->uses_self_reported() && !member.trusts_self_reported)
          return nobody(
              target,
              "the app does not rely on what machines say of themselves (trust_self_reported is off)");
        if (!add_selected(from, target) && !is_assigned(target.state_id))
          return nobody(target, "no assigned recipe has that state");
        continue;
      }
      const auto found = by_name_.find(target.instance_id);
      if (found == by_name_.end()) {
        if (!is_assigned(target.state_id)) return nobody(target, "no assigned recipe has that state");
        continue;  // the machine has not joined yet
      }
      if (!add_edges(from, *found->second, target.state_id) &&
          !(found->second->trusts_self_reported && is_assigned(target.state_id)))
        return nobody(target, "that instance has no such state");
    }
    return {};
  }

  bool add_selected(std::size_t from, const WaitTarget& target) {
    bool any = false;
    std::unordered_set<const StateList*> seen;  // one edge per list is enough
    for (const PlacedInstance& instance : instances_) {
      if (!instance.states || seen.contains(instance.states.get())) continue;
      if (!target.selector->matches({app_id_, instance.instance_id, instance.tags, nullptr,
                                     &instance.self_tags, instance.trusts_self_reported, &instance.tag_scopes,
                                     instance.takes_self_tags}))
        continue;
      seen.insert(instance.states.get());
      any = add_edges(from, instance, target.state_id) || any;
    }
    return any;
  }

  // False: the instance has no such state.
  bool add_edges(std::size_t from, const PlacedInstance& instance, const std::string& state_id) {
    if (!instance.states) return false;
    const auto state = instance.states->index.find(state_id);
    if (state == instance.states->index.end()) return false;
    for (const WaitState& before : instance.states->waits) {
      if (before.index > state->second) break;
      const std::size_t to = node_of(*instance.states, before.index);
      nodes_[from].edges.push_back({to, &instance, state->second});
    }
    return true;
  }

  // Depth first, with a stack of its own: there may be as many nodes as machines.
  Result<void> find_cycle() {
    enum class Colour : char { white, grey, black };
    std::vector<Colour> colours(nodes_.size(), Colour::white);
    struct Step {
      std::size_t node;
      std::size_t next;  // edge
    };
    for (std::size_t start = 0; start < nodes_.size(); ++start) {
      if (colours[start] != Colour::white) continue;
      std::vector<Step> path{{start, 0}};
      colours[start] = Colour::grey;
      while (!path.empty()) {
        Step& step = path.back();
        if (step.next == nodes_[step.node].edges.size()) {
          colours[step.node] = Colour::black;
          path.pop_back();
          continue;
        }
        const Edge& edge = nodes_[step.node].edges[step.next++];
        if (colours[edge.to] == Colour::grey) {
          std::vector<const Edge*> edges;
          for (const Step& each : path)
            edges.push_back(&nodes_[each.node].edges[each.next - 1]);
          const auto first = std::ranges::find(path, edge.to, &Step::node) - path.begin();
          edges.erase(edges.begin(), edges.begin() + first);
          return cycle(edges);
        }
        if (colours[edge.to] == Colour::white) {
          colours[edge.to] = Colour::grey;
          path.push_back({edge.to, 0});
        }
      }
    }
    return {};
  }

  // "a/wait → b/x → b/wait → a/y → a/wait"
  Error cycle(const std::vector<const Edge*>& edges) const {
    const auto name = [](const Edge& edge, std::size_t state) {
      return edge.instance->instance_id + "/" + edge.instance->states->ids[state];
    };
    std::string text = name(*edges.back(), nodes_[edges.back()->to].state);
    for (const Edge* edge : edges) {
      text += " → " + name(*edge, edge->state);
      if (nodes_[edge->to].state != edge->state) text += " → " + name(*edge, nodes_[edge->to].state);
    }
    return Error(ErrorCode::exists, "a wait that can never end: " + text);
  }

  const std::string_view app_id_;
  const std::span<const PlacedInstance> instances_;
  const std::span<const std::shared_ptr<const StateList>> assigned_;
  bool any_waits_ = false;
  std::unordered_map<std::string_view, const PlacedInstance*> by_name_;
  std::map<std::pair<const StateList*, std::size_t>, std::size_t> numbers_;
  std::vector<Node> nodes_;
};

}  // namespace

Result<void> check_waits(std::string_view app_id, std::span<const PlacedInstance> instances,
                         std::span<const std::shared_ptr<const StateList>> assigned) {
  return WaitGraph(app_id, instances, assigned).check();
}

}  // namespace backend::domain
