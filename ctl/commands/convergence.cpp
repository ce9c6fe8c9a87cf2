#include "ctl/commands/convergence.hpp"

#include <algorithm>
#include <thread>

#include "base/text.hpp"
#include "ctl/api.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/failure_text.hpp"
#include "ctl/output/hold_text.hpp"
#include "ctl/output/show.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

namespace {

using base::Result;
using base::Value;
using Clock = std::chrono::steady_clock;
using State = Convergence::State;

constexpr std::chrono::seconds kDefaultTimeout{600};
// Events tell at once; the list is read again when they are silent or time has passed, so that a lost one
// does no harm.
constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::seconds kBetweenLists{5};

bool is_final(std::string_view status) {
  return status == "converged" || status == "failed" || status == "rejected";
}

State state_of(bool online, std::int64_t wanted, std::int64_t reported, std::string_view status) {
  if (reported >= wanted && is_final(status)) return status == "converged" ? State::converged : State::failed;
  return online ? State::pending : State::offline;
}

std::string first_error(const Value& object) {
  const auto errors = items_field(object, "errors");
  return errors.empty() ? std::string() : text_of(errors.front());
}

class Waiting {
 public:
  Waiting(Session& session, const std::vector<MachineGroup>& groups)
      : session_(session),
        groups_(groups),
        deadline_(Clock::now() +
                  std::chrono::seconds(session.options.timeout.value_or(kDefaultTimeout.count()))) {}

  Result<int> run() {
    if (auto listed = read_list(); !listed) return std::move(listed).error();
    if (convergence_.machines().empty()) {
      session_.console.out.line("No machine is concerned; those that match later get it when they come.");
      return kOk;
    }
    while (!convergence_.done() && Clock::now() < deadline_) {
      draw();
      const Clock::time_point next_list = std::min(Clock::now() + kBetweenLists, deadline_);
      auto ended = session_.api.stream(parameters(), last_id_, kPatience, [&](const Event& event) {
        convergence_.see_event(event.type, event.data.root());
        draw();
        return !convergence_.done() && Clock::now() < next_list;
      });
      if (!ended) return std::move(ended).error();
      if (convergence_.done()) break;
      if (*ended == Api::StreamEnd::lost) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      // A backend that restarts is waited for, too.
      if (auto listed = read_list(); !listed && !session_.api.unreachable()) return std::move(listed).error();
    }
    return finish();
  }

 private:
  Parameters parameters() const {
    Parameters parameters{{"types", "recipe,presence"}};
    const bool one_app =
        std::ranges::all_of(groups_, [&](const auto& group) { return group.app == groups_.front().app; });
    if (one_app) parameters.emplace_back("app", groups_.front().app);
    return parameters;
  }

  Result<void> read_list() {
    for (const MachineGroup& group : groups_) {
      auto machines =
          session_.api.list("/instances", {{"app", group.app}, {"selector", group.selector}}, kMostMachines);
      if (!machines) return std::move(machines).error();
      for (const Value& each : machines->items)
        convergence_.see(text_field(each, "app_id") + "/" + text_field(each, "instance_id"), each);
    }
    return {};
  }

  void draw() {
    if (!session_.console.live || session_.options.format != Format::table) return;
    const std::string text = shortened("Waiting: " + convergence_.summary(), output_width() - 1);
    if (text == drawn_) return;
    session_.console.out.write("\r\x1b[K" + session_.console.paint(terminal::Style::cyan, text));
    session_.console.out.flush();
    drawn_ = text;
  }

  struct Failure {
    std::string why, command;
  };

  // The status says only that it failed; at what, and why, is asked for when it is shown.
  std::map<std::string, Failure> read_failures() {
    std::map<std::string, Failure> failures;
    if (convergence_.count(State::failed) == 0) return failures;
    for (const MachineGroup& group : groups_) {
      auto rows =
          list_failures(session_.api, {{"app", group.app}, {"selector", group.selector}}, kMostMachines);
      if (!rows) continue;  // what is known is told all the same
      for (const Value& each : rows->items)
        failures[text_field(each, "app_id") + "/" + text_field(each, "instance_id")] = {
            failure_text(each), failure_command(each)};
    }
    return failures;
  }

  int finish() {
    terminal::Console& console = session_.console;
    const auto failures = read_failures();
    if (!drawn_.empty()) console.out.write("\r\x1b[K");
    std::string more;  // of the first that failed
    const bool fine = convergence_.succeeded();
    // With -o json, standard output is the answer's alone.
    terminal::Output& out = session_.options.format == Format::table ? console.out : console.err;
    for (const auto& [machine, entry] : convergence_.machines()) {
      if (entry.state == State::converged) continue;
      std::string text = entry.state == State::paused    ? entry.held + ": it gets this after that"
                         : entry.state == State::offline ? "not connected: it gets this when it comes back"
                         : entry.state == State::pending ? "not done in time (" + entry.status + ")"
                                                         : entry.status;
      const auto failure = entry.state == State::failed ? failures.find(machine) : failures.end();
      const std::string& why =
          failure != failures.end() && !failure->second.why.empty() ? failure->second.why : entry.error;
      if (!why.empty()) text += ": " + why;
      if (failure != failures.end() && more.empty()) more = failure->second.command;
      out.line(console.paint(terminal::Style::red, "x") + " " + terminal::printable(machine + "  " + text));
    }
    out.line(
        console.paint(fine ? terminal::Style::green : terminal::Style::red, fine ? "Done:" : "Not done:") +
        " " + convergence_.summary() + ".");
    if (!more.empty()) out.line("More: " + terminal::printable(more));
    return fine ? kOk : kFailed;
  }

  Session& session_;
  const std::vector<MachineGroup>& groups_;
  const Clock::time_point deadline_;
  Convergence convergence_;
  std::string last_id_;
  std::string drawn_;
};

}  // namespace

void Convergence::see(const std::string& machine, const Value& instance) {
  Entry& entry = machines_[machine];
  entry.wanted = number_field(instance, "recipe_version");
  entry.status = text_field(instance, "status");
  entry.error = first_error(instance);
  entry.state = state_of(flag_field(instance, "online"), entry.wanted,
                         number_field(instance, "reported_version"), entry.status);
  entry.held = hold_text(instance, now());
  if (!entry.held.empty() && (entry.state == State::pending || entry.state == State::offline))
    entry.state = State::paused;
}

void Convergence::see_event(std::string_view type, const Value& data) {
  const auto found = machines_.find(text_field(data, "app_id") + "/" + text_field(data, "instance_id"));
  if (found == machines_.end()) return;
  Entry& entry = found->second;
  if (type == "presence" && (entry.state == State::pending || entry.state == State::offline))
    entry.state = flag_field(data, "online") ? State::pending : State::offline;
  if (type != "recipe") return;
  const std::string status = text_field(data, "status");
  const std::int64_t version = number_field(data, "recipe_version");
  if (status.empty() || version < entry.wanted) return;
  entry.wanted = version;
  entry.status = status;
  entry.error = first_error(data);
  entry.state = state_of(status != "pending", version, version, status);  // pending: not connected
}

bool Convergence::done() const {
  return count(State::pending) == 0;
}

bool Convergence::succeeded() const {
  return count(State::converged) == machines_.size();
}

std::size_t Convergence::count(State state) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(machines_, [&](const auto& each) { return each.second.state == state; }));
}

std::string Convergence::summary() const {
  std::vector<std::string> parts;
  const auto add = [&](State state, std::string_view what) {
    if (const std::size_t number = count(state))
      parts.push_back(std::to_string(number) + " " + std::string(what));
  };
  add(State::failed, "failed");
  add(State::offline, "not connected");
  add(State::paused, "paused");
  add(State::pending, "under way");
  add(State::converged, "converged");
  return base::join(parts, ", ") + " of " + count_text(machines_.size(), "machine");
}

Result<int> wait_for_convergence(Session& session, const std::vector<MachineGroup>& groups) {
  return Waiting(session, groups).run();
}

}  // namespace ctl
