// `opsctl apply`: several changes shown, confirmed, and placed as one.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "ctl/api.hpp"
#include "ctl/apply_files.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/commands/convergence.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

struct ApplyCall {
  std::string set;
  const ApplyItems& items;
  bool dry_run = false;
  std::string expected = {};  // what was shown
};

Result<Reply> send(Session& session, const ApplyCall& call) {
  base::JsonText body;
  body.begin_object().member("set", call.set).key("items").json(call.items.json);
  body.member("prune", session.options.prune).member("dry_run", call.dry_run);
  if (session.options.at_once) body.member("now", true);
  body.optional("expected", call.expected);
  return session.api.send({.method = "POST", .path = "/apply", .body = body.end_object().take()});
}

std::size_t changes_of(const Value& answer) {
  return static_cast<std::size_t>(number_field(answer, "changes"));
}

std::string assignment_text(const Value& each) {
  const std::string revision = text_field(each, "revision");
  return "assignment of " + text_field(each, "recipe") + " (" + (revision.empty() ? "newest" : revision) +
         ") for " + text_field(each, "selector") + " in " + text_field(each, "app_id");
}

// "+ recipe web: revision 1, 3 states, 12 lines"
void show_changes(Session& session, const Value& answer) {
  const auto line = [&](std::string_view change, const std::string& text) {
    const auto style = change == "added"     ? terminal::Style::green
                       : change == "removed" ? terminal::Style::red
                                             : terminal::Style::yellow;
    const std::string mark = change == "added" ? "+ " : change == "removed" ? "- " : "~ ";
    session.console.out.line(session.console.paint(style, terminal::printable(mark + text)));
  };
  for (const Value& each : items_field(answer, "apps"))
    if (const std::string change = text_field(each, "change"); change != "none")
      line(change,
           "app " + text_field(each, "app_id") + ": report " + text_field(each, "report") +
               ", agent version " +
               (text_field(each, "agent_version").empty() ? "any" : text_field(each, "agent_version")) +
               ", trust self-reported " + text_field(each, "trust_self_reported") + ", changes " +
               (items_field(each, "rings").empty() ? "at once" : "ring by ring"));
  for (const Value& each : items_field(answer, "recipes"))
    if (const std::string change = text_field(each, "change"); change != "none")
      line(change, "recipe " + text_field(each, "name") + ": revision " + text_field(each, "revision") +
                       ", " + count_text(static_cast<std::size_t>(number_field(each, "states")), "state") +
                       ", lines +" + text_field(each, "lines_added") + " -" +
                       text_field(each, "lines_removed"));
  for (const Value& each : items_field(answer, "assignments"))
    if (const std::string change = text_field(each, "change"); change != "none")
      line(change, assignment_text(each) +
                       (change == "removed" ? ": no longer in set " + text_field(answer, "set") : ""));
  for (const Value& each : items_field(answer, "variables"))
    if (const std::string change = text_field(each, "change"); change != "none") {
      std::string names;
      for (const Value& name : items_field(each, "names"))
        names += (names.empty() ? "" : ", ") + text_of(name);
      const std::string kind = text_field(each, "kind");
      line(change, "variables of " +
                       (kind == "app"        ? "the app"
                        : kind == "selector" ? text_field(each, "selector")
                                             : "machine " + text_field(each, "instance_id")) +
                       " in " + text_field(each, "app_id") + ": " + (names.empty() ? "order" : names) +
                       (change == "removed" ? ": no longer in set " + text_field(answer, "set") : ""));
    }
  const auto machines = items_field(answer, "machines");
  const auto affected = static_cast<std::size_t>(number_field(answer, "affected"));
  constexpr std::size_t kMostNamed = 20;
  std::string names;
  for (const Value& each : machines.first(std::min(machines.size(), kMostNamed)))
    names +=
        (names.empty() ? ": " : ", ") + text_field(each, "app_id") + "/" + text_field(each, "instance_id");
  if (affected > kMostNamed) names += " and " + std::to_string(affected - kMostNamed) + " more";
  session.console.out.line(terminal::printable(
      count_text(affected, "machine") + (affected == 1 ? " gets" : " get") + " a new version" + names));
  session.console.out.flush();
}

void show_notices(Session& session, const Value& answer) {
  for (const Value& each : items_field(answer, "assignments"))
    if (const std::string notice = text_field(each, "notice"); !notice.empty())
      session.console.warn(terminal::printable(assignment_text(each) + ": " + notice));
  show_warnings(session, answer);
}

void show_nothing(Session& session, const Value& answer) {
  session.console.out.line(terminal::printable("Nothing to change: all of set " + text_field(answer, "set") +
                                               " is as described."));
  session.console.out.flush();
}

bool is_confirmed(Session& session) {
  session.console.out.write("Apply this? [y/N] ");
  session.console.out.flush();
  std::string answer;
  std::getline(std::cin, answer);
  const std::string_view word = base::trim(answer);
  return base::equal_ignoring_case(word, "y") || base::equal_ignoring_case(word, "yes");
}

// Everybody who has what is described, whether it has changed now or before.
Result<std::vector<MachineGroup>> described_machines(Session& session, const Value& answer) {
  std::vector<MachineGroup> groups;
  const auto add = [&](const Value& assignment) {
    MachineGroup group{.app = text_field(assignment, "app_id"),
                       .selector = text_field(assignment, "selector")};
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
  };
  for (const Value& each : items_field(answer, "assignments"))
    if (text_field(each, "change") != "removed") add(each);
  for (const Value& each : items_field(answer, "variables")) {
    const std::string selector = text_field(each, "selector"), machine = text_field(each, "instance_id");
    groups.push_back({.app = text_field(each, "app_id"),
                      .selector = !machine.empty()    ? "instance=\"" + machine + "\""
                                  : !selector.empty() ? selector
                                                      : "*"});
  }
  auto assignments = session.api.list("/assignments", {}, kMostRows);
  if (!assignments) return std::move(assignments).error();
  for (const Value& recipe : items_field(answer, "recipes"))
    for (const Value& each : assignments->items)
      if (text_field(each, "recipe") == text_field(recipe, "name") && field(each, "revision").is_null())
        add(each);
  return groups;
}

Result<int> finish_apply(Session& session, const Value& answer, bool is_shown) {
  if (!show_document(session, answer)) {
    if (changes_of(answer) == 0) {
      show_nothing(session, answer);
    } else {
      if (!is_shown) show_changes(session, answer);
      session.console.out.line("Applied: " + count_text(changes_of(answer), "change") + ".");
      session.console.out.flush();
    }
  }
  if (!is_shown) show_notices(session, answer);
  if (!session.options.wait) return kOk;
  auto groups = described_machines(session, answer);
  if (!groups) return std::move(groups).error();
  return wait_for_convergence(session, *groups);
}

Result<std::string> set_of(const Options& options) {
  if (!options.set.empty()) return options.set;
  // Files of a set are not all of it.
  const bool is_folder = options.files.size() == 1 && options.files.front() != "-" &&
                         ::access((options.files.front() + "/.").c_str(), F_OK) == 0;
  if (options.prune && !is_folder)
    return Error(ErrorCode::invalid,
                 "--prune without a folder removes what is not in these files: say which set is meant with "
                 "--set NAME");
  return set_name_of(options.files.front());
}

}  // namespace

Result<int> apply_command(Session& session) {
  const Options& options = session.options;
  if (options.files.empty()) return Error(ErrorCode::invalid, "what is to be applied? opsctl apply -f DIR");
  auto set = set_of(options);
  if (!set) return std::move(set).error();
  auto items = read_apply_items(options.files);
  if (!items) return std::move(items).error();

  if (options.dry_run) {
    auto shown = send(session, {.set = *set, .items = *items, .dry_run = true});
    if (!shown) return std::move(shown).error();
    const Value& answer = shown->document.root();
    const bool has_changes = changes_of(answer) > 0;
    if (!show_document(session, answer)) {
      if (has_changes)
        show_changes(session, answer);
      else
        show_nothing(session, answer);
    }
    show_notices(session, answer);
    return options.exit_code && has_changes ? kChanges : kOk;
  }
  if (options.yes) {
    auto done = send(session, {.set = *set, .items = *items});
    if (!done) return std::move(done).error();
    return finish_apply(session, done->document.root(), false);
  }
  if (options.format != Format::table || ::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1)
    return Error(ErrorCode::invalid,
                 "there is nobody to ask: --yes applies it, --dry-run shows what that would change");
  auto shown = send(session, {.set = *set, .items = *items, .dry_run = true});
  if (!shown) return std::move(shown).error();
  const Value& plan = shown->document.root();
  if (changes_of(plan) == 0) return finish_apply(session, plan, false);
  show_changes(session, plan);
  show_notices(session, plan);
  if (!is_confirmed(session)) {
    session.console.out.line("Nothing was changed.");
    return kFailed;
  }
  auto done = send(session, {.set = *set, .items = *items, .expected = text_field(plan, "fingerprint")});
  if (!done) return std::move(done).error();
  return finish_apply(session, done->document.root(), true);
}

}  // namespace ctl
