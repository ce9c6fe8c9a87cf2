#include "backend/api/changes/apply_changes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "backend/api/callers/scope.hpp"
#include "backend/api/callers/self_reports.hpp"
#include "backend/api/changes/assignment_changes.hpp"
#include "backend/domain/access/ownership.hpp"
#include "backend/rollouts/change_rollout.hpp"
#include "backend/store/inventory/recipes.hpp"

namespace backend::api {

using base::Error;
using base::ErrorCode;
using base::Result;

std::string_view name_of(Applied change) {
  switch (change) {
    case Applied::unchanged:
      return "none";
    case Applied::added:
      return "added";
    case Applied::edited:
      return "edited";
    case Applied::removed:
      return "removed";
  }
  return "none";
}

std::size_t ApplyResult::changes() const {
  const auto count = [](const auto& list) {
    return static_cast<std::size_t>(
        std::ranges::count_if(list, [](const auto& each) { return each.change != Applied::unchanged; }));
  };
  return count(apps) + count(recipes) + count(assignments) + count(variables);
}

namespace {

std::string describe_item(const store::LayerName& name) {
  return "variables of " + domain::describe(domain::VariableLayer{
                               .app_id = name.app_id, .kind = name.kind, .target = name.target});
}

}  // namespace

std::vector<ApplyProblem> find_repeated(const ApplyRequest& request) {
  std::map<std::string, std::string> seen;  // what it is -> where
  std::vector<ApplyProblem> problems;
  const auto look = [&](std::string what, const std::string& source) {
    const auto [first, is_new] = seen.emplace(std::move(what), source);
    if (is_new) return;
    ProblemItem item{.message = first->first + " is there twice" +
                                (first->second.empty() ? "" : ": first at " + first->second)};
    item.source = source;
    problems.push_back({ErrorCode::invalid, std::move(item)});
  };
  for (const AppItem& each : request.apps)
    look(domain::describe_app_item(each.wanted.app_id), each.source);
  for (const RecipeItem& each : request.recipes)
    look(domain::describe_recipe_item(each.push.revision.name), each.source);
  for (const AssignmentItem& each : request.assignments)
    look(domain::describe_assignment_item(each.wanted), each.source);
  for (const VariablesItem& each : request.variables)
    look(describe_item(each.wanted.name), each.source);
  return problems;
}

namespace {

// What a person can mend; anything else is the database's.
bool is_refusal(ErrorCode code) {
  return code == ErrorCode::invalid || code == ErrorCode::not_found || code == ErrorCode::exists ||
         code == ErrorCode::permission || code == ErrorCode::unsupported;
}

Result<std::vector<domain::Assignment>> all_assignments(store::Store& store) {
  std::vector<domain::Assignment> all;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some = store.list_assignments("", page);
    if (!some) return std::move(some).error();
    std::ranges::move(some->items, std::back_inserter(all));
    page.after = std::move(some->next);
  } while (!page.after.empty());
  return all;
}

class Application {
 public:
  Application(store::Store& store, const ApplyRequest& request, const ApplyCaller& caller)
      : store_(store), request_(request), caller_(caller) {
    result_.problems = request.known;
  }

  // An error is the database's; refusals are in the result.
  Result<void> run() {
    for (const auto step : {&Application::put_apps, &Application::prune, &Application::push_recipes,
                            &Application::put_assignments, &Application::put_variables, &Application::place,
                            &Application::look})
      if (auto done = (this->*step)(); !done) return done;
    return {};
  }
  ApplyResult take() { return std::move(result_); }

 private:
  // Notes a refusal, and hands anything else on.
  Result<void> refuse(const Error& error, const std::string& what, const std::string& source) {
    if (!is_refusal(error.code())) return error;
    ProblemItem item{.message = what.empty() ? error.message() : what + ": " + error.message()};
    item.source = source;
    result_.problems.push_back({error.code(), std::move(item)});
    return {};
  }
  bool is_refused() const { return !result_.problems.empty(); }
  std::string why() const { return "set " + request_.set; }

  Result<void> put_apps() {
    for (const AppItem& item : request_.apps) {
      auto put =
          put_app(store_, item.wanted, caller_.default_report, std::nullopt, caller_.actor, PutAlways::no);
      if (!put) {
        if (auto noted = refuse(put.error(), domain::describe_app_item(item.wanted.app_id), item.source);
            !noted)
          return noted;
        continue;
      }
      if (put->has_other_trust) replaced_.insert(item.wanted.app_id);
      if (put->is_changed)
        for (std::string& warning : domain::trust_warnings(put->app.trust))
          result_.warnings.push_back(std::move(warning));
      result_.apps.push_back({!put->is_changed ? Applied::unchanged
                              : put->is_new    ? Applied::added
                                               : Applied::edited,
                              std::move(put->app), item.source});
    }
    return {};
  }

  // Before the rest: a selector that was edited is one that goes and one that comes.
  Result<void> prune() {
    if (!request_.prune) return {};
    auto present = all_assignments(store_);
    if (!present) return std::move(present).error();
    std::vector<domain::Assignment> wanted;
    for (const AssignmentItem& item : request_.assignments)
      wanted.push_back(item.wanted);
    const domain::AppliedSet set{request_.set, caller_.scope ? caller_.scope->text() : ""};
    for (const domain::Assignment& each : domain::find_pruned(*present, wanted, set)) {
      auto own = find_own(store_, caller_.scope, each.id);
      auto removed = own ? store::remove_assignment(store_, each.id, std::nullopt) : own.error();
      if (!removed) {
        if (auto noted = refuse(removed.error(), "pruning assignment " + std::to_string(each.id), ""); !noted)
          return noted;
        continue;
      }
      if (auto noted = note("assignment.remove", each); !noted) return noted;
      touch(each);
      result_.assignments.push_back({.change = Applied::removed, .assignment = each});
    }
    return prune_variables();
  }

  // Of layers that this set has made and does not describe any more all variables go.
  Result<void> prune_variables() {
    const std::string owner = caller_.scope ? caller_.scope->text() : "";
    domain::PageRequest page{.limit = domain::kLargestPage};
    std::vector<domain::VariableLayer> pruned;
    do {
      auto some = store_.list_layers("", page);
      if (!some) return std::move(some).error();
      for (domain::VariableLayer& each : some->items)
        if (!each.variables.empty() && each.set == request_.set && each.owner == owner && !is_described(each))
          pruned.push_back(std::move(each));
      page.after = std::move(some->next);
    } while (!page.after.empty());
    for (const domain::VariableLayer& each : pruned) {
      store::LayerEdit edit{.name = {.app_id = each.app_id, .kind = each.kind, .target = each.target},
                            .edits = {.replaces_all = true},
                            .owner = owner};
      if (auto put = put_layer(std::move(edit), ""); !put) return put;
    }
    return {};
  }
  bool is_described(const domain::VariableLayer& layer) const {
    return std::ranges::any_of(request_.variables, [&](const VariablesItem& item) {
      const store::LayerName& name = item.wanted.name;
      return name.app_id == layer.app_id && name.kind == layer.kind && name.target == layer.target;
    });
  }

  Result<void> put_variables() {
    if (is_refused()) return {};
    for (const VariablesItem& item : request_.variables) {
      store::LayerEdit edit = item.wanted;
      edit.set = request_.set;
      edit.edits.replaces_all = true;
      if (auto put = put_layer(std::move(edit), item.source); !put) return put;
    }
    return {};
  }

  Result<void> put_layer(store::LayerEdit edit, const std::string& source) {
    const std::string what = describe_item(edit.name);
    auto present = store_.find_layer(edit.name.app_id, edit.name.kind, edit.name.target);
    if (!present) return std::move(present).error();
    const bool was_there = *present && !(*present)->variables.empty();
    const bool is_own = was_there && domain::owns(caller_.scope, (*present)->owner);
    if (is_own && !(*present)->set.empty() && !edit.set.empty() && (*present)->set != edit.set)
      return refuse(Error(ErrorCode::unsupported,
                          "they are of the set '" + (*present)->set +
                              "': describe them in one set only, or apply this as --set " + (*present)->set),
                    what, source);
    auto changed =
        api::put_variables(store_, caller_.scope, caller_.actor, std::move(edit), "(" + why() + ")");
    if (!changed) return refuse(changed.error(), what, source);
    const store::PutLayer& put = changed->put;
    std::ranges::move(changed->warnings, std::back_inserter(result_.warnings));
    const bool is_there = !put.layer.variables.empty();
    result_.variables.push_back({.change = !put.is_changed ? Applied::unchanged
                                           : !was_there    ? Applied::added
                                           : is_there      ? Applied::edited
                                                           : Applied::removed,
                                 .layer = put.layer,
                                 .changes = put.changes,
                                 .source = source});
    if (put.is_changed) changes_[put.layer.app_id].push_back({.layer = put.layer.id});
    return {};
  }

  Result<void> push_recipes() {
    for (const RecipeItem& item : request_.recipes) {
      if (item.is_refused) continue;
      const std::string& name = item.push.revision.name;
      auto before = store_.find_revision(name, std::nullopt);
      if (!before && before.error().code() != ErrorCode::not_found) return std::move(before).error();
      auto pushed = push_recipe(store_, caller_.scope, caller_.actor, item.push, caller_.quota);
      if (!pushed) {
        if (auto noted = refuse(pushed.error(), "", item.source); !noted) return noted;
        continue;
      }
      AppliedRecipe& done = result_.recipes.emplace_back();
      done.owner = std::move(pushed->owner);
      done.source = item.source;
      done.revision = std::move(pushed->put.revision);
      if (!pushed->put.is_new) {
        done.revision.content.clear();
        continue;
      }
      done.change = before ? Applied::edited : Applied::added;
      if (before) done.before = std::move(*before);
      pushed_.push_back(name);
    }
    return {};
  }

  Result<void> put_assignments() {
    if (is_refused()) return check_assignments_only();
    auto present = all_assignments(store_);
    if (!present) return std::move(present).error();
    for (const AssignmentItem& item : request_.assignments) {
      auto put = put_assignment(item, domain::find_described(*present, item.wanted));
      if (put) continue;
      if (auto noted = refuse(put.error(), domain::describe_assignment_item(item.wanted), item.source);
          !noted)
        return noted;
    }
    return {};
  }

  // A recipe or an app was refused, so that it is not there is no news; what else is wrong is said as well.
  Result<void> check_assignments_only() {
    for (const AssignmentItem& item : request_.assignments) {
      const bool is_described =
          std::ranges::any_of(
              request_.recipes,
              [&](const RecipeItem& each) { return each.push.revision.name == item.wanted.recipe; }) ||
          std::ranges::any_of(request_.apps,
                              [&](const AppItem& each) { return each.wanted.app_id == item.wanted.app_id; });
      if (is_described) continue;
      domain::Assignment settled = item.wanted;
      const auto fine = settle_revision(store_, caller_.scope, settled);
      if (fine) continue;
      if (auto noted = refuse(fine.error(), domain::describe_assignment_item(item.wanted), item.source);
          !noted)
        return noted;
    }
    return {};
  }

  Result<void> put_assignment(const AssignmentItem& item, const domain::Assignment* present) {
    domain::Assignment settled = item.wanted;
    settled.set = request_.set;
    auto pin = pin_of(settled, present);
    if (!pin) return std::move(pin).error();
    settled.revision = *pin;
    auto notice = settle_revision(store_, caller_.scope, settled);
    if (!notice) return std::move(notice).error();
    AppliedAssignment done{.notice = std::move(*notice), .source = item.source};
    if (!present) {
      auto added = store::add_assignment(store_, settled, domain::now_millis());
      if (!added) return std::move(added).error();
      done.change = Applied::added;
      done.assignment = std::move(*added);
    } else {
      if (const std::string wrong = domain::problem_of_set(*present, request_.set); !wrong.empty())
        return Error(ErrorCode::unsupported, wrong);
      done.revision_before = present->revision;
      done.assignment = *present;
      if (!domain::says_same(*present, settled)) {
        auto own = find_own(store_, caller_.scope, present->id);
        if (!own) return std::move(own).error();
        settled.id = present->id;
        auto edited = store::edit_assignment(store_, settled, std::nullopt);
        if (!edited) return std::move(edited).error();
        done.change = Applied::edited;
        done.assignment = std::move(*edited);
      }
    }
    if (done.change != Applied::unchanged) {
      const bool is_new = done.change == Applied::added;
      if (auto noted = note(is_new ? "assignment.create" : "assignment.edit", done.assignment); !noted)
        return noted;
      touch(done.assignment);
    }
    result_.assignments.push_back(std::move(done));
    return {};
  }

  Result<std::optional<std::int64_t>> pin_of(const domain::Assignment& wanted,
                                             const domain::Assignment* present) {
    if (!present || wanted.revision) return wanted.revision;
    auto owner = store_.recipe_owner(wanted.recipe);
    if (!owner) return std::move(owner).error();
    auto selector = domain::Selector::parse(wanted.selector);
    if (!selector) return std::move(selector).error();
    return domain::kept_pin(present, wanted, domain::is_to_pin(caller_.scope, *owner, *selector));
  }

  Result<void> note(std::string action, const domain::Assignment& assignment) {
    return audit(store_, caller_.actor, std::move(action),
                 assignment.app_id + "/" + std::to_string(assignment.id),
                 describe(assignment) + " (" + why() + ")");
  }
  void touch(const domain::Assignment& assignment) {
    changes_[assignment.app_id].push_back({.assignment = assignment.id, .recipe = ""});
  }

  // All apps, each once, when everything is as it is to be.
  Result<void> place() {
    if (is_refused()) return {};
    for (const std::string& recipe : pushed_) {
      auto apps = store_.apps_that_follow(recipe);
      if (!apps) return std::move(apps).error();
      for (const std::string& app : *apps)
        changes_[app].push_back({.assignment = {}, .recipe = recipe});
    }
    for (const std::string& app : replaced_)
      changes_[app].push_back({});  // anything may be another
    fleet::Placed all;
    std::vector<domain::InstanceKey> also;
    for (const auto& [app, changes] : changes_) {
      if (auto ended = end_held(app, changes); !ended) return ended;
      if (is_refused()) continue;
      auto placed = fleet::place_app(store_, app, std::span(changes));
      if (!placed) {
        const Error conflict = as_conflict(std::move(placed).error());
        if (auto noted = refuse(conflict, "in app " + app, ""); !noted) return noted;
        continue;
      }
      if (auto paced = check_pace(app, placed->changed.size()); !paced) return paced;
      std::ranges::move(placed->changed, std::back_inserter(all.changed));
      std::ranges::move(placed->rejected, std::back_inserter(all.rejected));
      if (!replaced_.contains(app)) continue;
      auto machines = machines_of(store_, app);
      if (!machines) return std::move(machines).error();
      std::ranges::move(*machines, std::back_inserter(also));
    }
    if (is_refused()) return {};
    auto delivery = fleet::prepare_delivery(store_, std::move(all), std::move(also));
    if (!delivery) return std::move(delivery).error();
    result_.delivery = std::move(*delivery);
    return warn();
  }

  // What is changed here takes the place of a rollout of the same that has stopped; one that runs is in the
  // way.
  Result<void> end_held(const std::string& app, const std::vector<fleet::Change>& changes) {
    for (const fleet::Change& change : changes) {
      if (!change.assignment && change.recipe.empty() && !change.layer) continue;
      auto held = rollouts::find_held(store_, app,
                                      {.recipe = change.recipe,
                                       .assignment = change.assignment.value_or(0),
                                       .layer = change.layer.value_or(0)});
      if (!held) return std::move(held).error();
      if (!*held) continue;
      if ((*held)->is_active()) {
        const Error busy(ErrorCode::exists, "rollout " + (*held)->id + " of " + (*held)->version + " is " +
                                                std::string(domain::name_of((*held)->state)) +
                                                ": wait until it is done, or abort it");
        if (auto noted = refuse(busy, "in app " + app, ""); !noted) return noted;
        continue;
      }
      if (auto ended = store_.end_change(**held, why() + " took its place", domain::now_millis()); !ended)
        return ended;
    }
    return {};
  }

  // Several changes are one version for each machine, which no rollout can hold apart yet.
  Result<void> check_pace(const std::string& app_id, std::size_t machines) {
    auto app = store_.find_app(app_id);
    if (!app) return std::move(app).error();
    if (request_.now || !domain::goes_in_rings(domain::ChangePace::as_app, !app->rings.empty(), machines))
      return {};
    const std::string words = std::to_string(machines) +
                              " machines would get this at once, and changes of the app go ring by ring: "
                              "apply with --now, or push and assign one by one";
    if (request_.dry_run) {
      result_.warnings.push_back("in app " + app_id + ": " + words);
      return {};
    }
    return refuse(Error(ErrorCode::unsupported, words), "in app " + app_id, "");
  }

  // What rests on the word of machines, as of single assignments.
  Result<void> warn() {
    constexpr std::size_t kMostStudied = 20;  // each reads all machines of its app
    std::size_t studied = 0;
    for (const AppliedAssignment& each : result_.assignments) {
      if (each.change != Applied::added && each.change != Applied::edited) continue;
      auto app = store_.find_app(each.assignment.app_id);
      if (!app) return std::move(app).error();
      auto selector = domain::Selector::parse(each.assignment.selector);
      if (!selector) return std::move(selector).error();
      if (app->trust == domain::SelfTrust::off && !selector->uses_self_reported()) continue;
      if (++studied > kMostStudied) break;
      auto effect = study(store_, caller_.scope, each.assignment.app_id, *selector);
      if (!effect) return std::move(effect).error();
      for (std::string& warning : domain::self_report_warnings(*selector, *app, *effect))
        result_.warnings.push_back(std::move(warning));
    }
    return {};
  }

  // What the caller is shown, and whether it is what was shown before.
  Result<void> look() {
    if (is_refused()) return {};
    CoveredNames covered(store_, caller_.scope);
    for (const fleet::PlacedVersion& each : result_.delivery.changed) {
      auto is_seen = covered.has(each.app_id, each.instance_id);
      if (!is_seen) return std::move(is_seen).error();
      if (*is_seen) result_.machines.push_back(each);
    }
    domain::ShownPlan shown;
    shown.add(request_.set);
    for (const AppliedApp& each : result_.apps)
      if (each.change != Applied::unchanged)
        for (const std::string& part :
             {std::string("app"), each.app.app_id, std::to_string(each.app.edit), each.app.report,
              each.app.agent_version, std::string(domain::name_of(each.app.trust)),
              domain::rings_text(each.app.rings), each.app.module.repo, each.app.module.tag,
              std::string(each.app.compat_v1 ? "v1" : "")})
          shown.add(part);
    for (const AppliedRecipe& each : result_.recipes)
      if (each.change != Applied::unchanged)
        for (const std::string& part :
             {std::string("recipe"), each.revision.name, std::to_string(each.revision.revision),
              each.revision.digest, each.revision.module.repo, each.revision.module.tag,
              each.revision.module.commit})
          shown.add(part);
    for (const AppliedAssignment& each : result_.assignments)
      if (each.change != Applied::unchanged)
        for (const std::string& part :
             {std::string("assignment"), std::string(name_of(each.change)),
              domain::describe_assignment_item(each.assignment), describe(each.assignment),
              std::to_string(each.assignment.edit), std::to_string(each.assignment.order),
              std::string(each.assignment.kill_on_change ? "kill" : "finish"),
              std::to_string(each.assignment.round_delay_s.value_or(0))})
          shown.add(part);
    for (const AppliedVariables& each : result_.variables)
      if (each.change != Applied::unchanged) {
        for (const std::string& part : {std::string("variables"), domain::describe(each.layer),
                                        std::to_string(each.layer.edit), std::to_string(each.layer.order)})
          shown.add(part);
        for (const domain::VariableChange& change : each.changes)
          for (const std::string& part : {change.name, change.after.value_or("")})
            shown.add(part);
      }
    for (const fleet::PlacedVersion& each : result_.machines)
      shown.add(each.app_id + "/" + each.instance_id);
    result_.fingerprint = shown.fingerprint();
    result_.is_stale = !request_.expected.empty() && request_.expected != result_.fingerprint;
    return {};
  }

  store::Store& store_;
  const ApplyRequest& request_;
  const ApplyCaller& caller_;
  ApplyResult result_;
  std::vector<std::string> pushed_;
  std::set<std::string> replaced_;  // apps that rely on their machines more or less than before
  std::map<std::string, std::vector<fleet::Change>> changes_;  // by app
};

}  // namespace

Result<ApplyResult> apply_changes(store::Store& store, const ApplyRequest& request,
                                  const ApplyCaller& caller) {
  ApplyResult result;
  bool is_undone = false;
  auto done = store.transact([&]() -> Result<void> {
    Application application(store, request, caller);
    if (auto run = application.run(); !run) return run;
    result = application.take();
    is_undone = request.dry_run || result.is_stale || !result.problems.empty();
    if (is_undone) return Error(ErrorCode::cancelled, "it was only looked at");
    return {};
  });
  if (!done && !is_undone) return std::move(done).error();
  return result;
}

}  // namespace backend::api
