#include <algorithm>
#include <thread>

#include "base/utc_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/document_text.hpp"
#include "ctl/output/event_text.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::chrono::seconds kWatchPatience{60};  // the backend says something more often than that
constexpr std::chrono::milliseconds kShortestPause{250};
constexpr std::chrono::milliseconds kLongestWatchPause{10'000};

Result<Parameters> parameters_of(const Options& options) {
  if (options.output && options.instances.size() != 1)
    return Error(ErrorCode::invalid, "whose output? opsctl watch --output --instance ID");
  if (!options.outcome.empty() && !options.types.empty())
    return Error(ErrorCode::invalid, "--outcome means results only: leave --types out");
  Parameters parameters = machine_parameters(options);
  if (!options.types.empty()) parameters.emplace_back("types", options.types);
  if (!options.outcome.empty()) parameters.emplace_back("types", "result");
  if (options.output) parameters.emplace_back("output", "1");
  return parameters;
}

// What was missed ("gap") is always told.
bool is_other_outcome(const Options& options, const Event& event) {
  return !options.outcome.empty() && event.type == "result" &&
         text_field(event.data.root(), "outcome") != options.outcome;
}

std::string shown(const Options& options, const Event& event, const terminal::Paint& paint) {
  if (options.format == Format::json) return event_line(event.id, event.type, event.data.root());
  if (options.format == Format::yaml) {
    const std::vector<base::Member> members{{.key = "id", .value = base::Value::string(event.id)},
                                            {.key = "event", .value = base::Value::string(event.type)},
                                            {.key = "data", .value = event.data.root()}};
    return "---\n" + yaml_text(base::Value::object(members));
  }
  return event_text(event.type, event.data.root(), base::utc_now().substr(11, 8), paint);
}

}  // namespace

Result<int> watch_command(Session& session) {
  auto parameters = parameters_of(session.options);
  if (!parameters) return std::move(parameters).error();
  // Is it there, and do we have the right to ask? Later losses are waited for.
  if (auto checked = session.api.send({.path = "/fleet"}); !checked) return std::move(checked).error();
  terminal::Output& out = session.console.out;
  std::string last_id;
  auto pause = kShortestPause;
  while (out.ok()) {
    auto ended = session.api.stream(*parameters, last_id, kWatchPatience, [&](const Event& event) {
      pause = kShortestPause;
      if (is_other_outcome(session.options, event)) return out.ok();
      out.write(shown(session.options, event, session.console.paint));
      out.flush();
      return out.ok();  // whoever reads it may have left
    });
    if (!ended) return std::move(ended).error();
    if (*ended == Api::StreamEnd::stopped) break;
    if (pause == kShortestPause && *ended == Api::StreamEnd::lost)
      session.console.warn("the connection is lost (" + session.api.loss() + "); trying again");
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestWatchPause);
  }
  return kOk;
}

}  // namespace ctl
