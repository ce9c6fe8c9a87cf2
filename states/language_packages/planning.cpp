#include "states/language_packages/planning.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "base/text.hpp"
#include "states/language_packages/owner.hpp"
#include "states/packages/lists.hpp"

namespace states::language_packages {

namespace {

using base::Result;

// In Context::notes: what registries have said in this round, by key_of().
struct Newest {
  std::map<std::string, std::string, std::less<>> versions;
};

// The name of a package among the effects of plans: "pip:six", "npm:/srv/app:left-pad".
std::string effect_name(const Ecosystem& ecosystem, const Entry& entry) {
  std::string name(ecosystem.tool());
  if (!ecosystem.place().empty()) name.append(":").append(ecosystem.place());
  return name + ":" + entry.package;
}

std::string key_of(const Ecosystem& ecosystem, const Entry& entry) {
  return effect_name(ecosystem, entry) + "@" + entry.tag;
}

std::string found_text(const std::vector<Copy>& copies) {
  if (copies.empty()) return "absent";
  const std::string versions = base::join(versions_of(copies), ", ");
  return copies.front().is_broken ? "installed half-way (" + versions + ")" : versions;
}

std::string after_text(const Entry& entry) {
  switch (entry.want) {
    case Want::removed:
      return "removed";
    case Want::latest:
      return entry.tag.empty() ? "latest" : "latest of '" + entry.tag + "'";
    case Want::version:
      return entry.version;
    case Want::installed:
      break;
  }
  return "installed";
}

Action action_for(const Entry& entry, const std::vector<Copy>& copies) {
  if (entry.want == Want::removed) return Action::remove;
  const bool is_whole = !copies.empty() && !copies.front().is_broken;
  return entry.want == Want::latest && is_whole ? Action::look_up : Action::install;
}

// Whether an earlier state of the recipe would have left it as it is wanted; nothing if that depends on the
// version.
std::optional<bool> is_as_wanted_after(const Effect& earlier, Want want) {
  if (earlier.present && (want == Want::latest || want == Want::version)) return std::nullopt;
  return earlier.present != (want == Want::removed);
}

std::variant<Item, Plan> judge(const Ecosystem& ecosystem, Entry entry, Plan& plan, Context& context) {
  auto copies = ecosystem.installed(entry, context);
  if (!copies) return Plan::fail(copies.error());
  Item item{.before = versions_of(*copies)};
  const std::string effect = effect_name(ecosystem, entry);
  std::string found = found_text(*copies);
  bool wanted = is_as_wanted(ecosystem, entry, *copies, context);
  item.is_broken = !copies->empty() && copies->front().is_broken;
  if (const Overlay::Entry* earlier = context.overlay.find(EffectKind::package, effect)) {
    const auto after = is_as_wanted_after(earlier->effect, entry.want);
    if (!after || !*after)
      return Plan::unknown(earlier->state_id,
                           "package " + entry.name + " depends on what an earlier state does to it");
    wanted = true;
  }
  if (!wanted) {
    item.action = action_for(entry, *copies);
    if (item.action == Action::remove)
      for (const Copy& copy : *copies)
        if (const std::string owner = owning_package(copy.metadata, context); !owner.empty())
          return Plan::fail(entry.name + " belongs to package " + owner + ", not removed");
    plan.changes.push_back({.what = std::string(ecosystem.tool()) + " package " + entry.name,
                            .before = std::move(found),
                            .after = after_text(entry)});
    plan.effects.push_back(
        {.kind = EffectKind::package, .name = effect, .present = entry.want != Want::removed});
  }
  item.entry = std::move(entry);
  return item;
}

std::string plan_message(const std::vector<Item>& items) {
  std::vector<std::string> removed, installed, changed, looked_up;
  for (const Item& item : items) {
    if (item.action == Action::remove) removed.push_back(item.entry.name);
    if (item.action == Action::look_up) looked_up.push_back(item.entry.name);
    if (item.action == Action::install)
      (item.before.empty() ? installed : changed).push_back(item.entry.name);
  }
  std::string message;
  packages::append_list(message, "remove", removed);
  packages::append_list(message, "install", installed);
  packages::append_list(message, "change the version of", changed);
  packages::append_list(message, "look for a newer version of", looked_up);
  packages::capitalise(message);
  return message;
}

}  // namespace

std::vector<std::string> versions_of(const std::vector<Copy>& copies) {
  std::vector<std::string> versions;
  for (const Copy& copy : copies)
    versions.push_back(copy.version);
  return versions;
}

void note_newest(const Ecosystem& ecosystem, const Entry& entry, std::string version, Context& context) {
  context.notes.get<Newest>().versions[key_of(ecosystem, entry)] = std::move(version);
}

bool is_as_wanted(const Ecosystem& ecosystem, const Entry& entry, const std::vector<Copy>& copies,
                  Context& context) {
  if (entry.want == Want::removed) return copies.empty();
  const auto is_one = [&](std::string_view wanted) {
    return std::ranges::any_of(copies, [&](const Copy& copy) {
      return !copy.is_broken && (wanted.empty() || ecosystem.matches(copy.version, wanted));
    });
  };
  if (entry.want != Want::latest) return is_one(entry.version);
  const auto& versions = context.notes.get<Newest>().versions;
  const auto newest = versions.find(key_of(ecosystem, entry));
  if (newest == versions.end()) return false;
  return std::ranges::any_of(copies, [&](const Copy& copy) {
    const int order = ecosystem.compare(copy.version, newest->second);
    return !copy.is_broken && (entry.tag.empty() ? order >= 0 : order == 0);
  });
}

std::string kept_message(const std::vector<Item>& items) {
  if (items.size() == 1) return "Package " + items.front().entry.name + " is already as wanted";
  return "All " + std::to_string(items.size()) + " packages are already as wanted";
}

std::vector<Effect> packages_touched(const Ecosystem& ecosystem, Pairs pairs) {
  std::vector<Effect> touched = prerequisites::possible_packages(ecosystem.prerequisite());
  if (const auto entries = read_entries(pairs, ecosystem))
    for (const Entry& entry : *entries)
      touched.push_back({.kind = EffectKind::package, .name = effect_name(ecosystem, entry)});
  return touched;
}

PlanWith<Steps> plan_packages(const Ecosystem& ecosystem, Pairs pairs, Context& context) {
  auto entries = read_entries(pairs, ecosystem);
  if (!entries) return Plan::fail(entries.error());
  Plan plan;
  Steps steps;
  for (Entry& entry : *entries) {
    auto judged = judge(ecosystem, std::move(entry), plan, context);
    if (auto* stop = std::get_if<Plan>(&judged)) return std::move(*stop);
    steps.items.push_back(std::get<Item>(std::move(judged)));
  }
  if (plan.changes.empty()) return Plan::kept(kept_message(steps.items));
  if (auto checked = ecosystem.check_place(context); !checked) return Plan::fail(checked.error());
  plan.is_refresh = std::ranges::all_of(steps.items, [](const Item& item) {
    return item.action == Action::none || item.action == Action::look_up;
  });
  std::ranges::move(ecosystem.effects(context), std::back_inserter(plan.effects));
  auto there = prerequisites::plan_program(context, ecosystem.prerequisite(), plan);
  if (!there) return Plan::fail(there.error());
  plan.is_refresh = plan.is_refresh && *there;
  plan.verdict = Verdict::change;
  plan.message = plan_message(steps.items);
  return {std::move(plan), std::move(steps)};
}

}  // namespace states::language_packages
