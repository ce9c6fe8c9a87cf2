#include "agent/cli/output/event_json.hpp"

#include "agent/cli/output/plan_counts.hpp"
#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"

namespace agent::cli {

namespace {

void add_changes(base::JsonText& json, const std::vector<states::Change>& changes) {
  json.key("changes").begin_list();
  for (const states::Change& change : changes) {
    json.begin_object()
        .member("what", change.what)
        .member("before", change.before)
        .member("after", change.after);
    if (!change.diff.empty()) json.member("diff", change.diff);
    json.end_object();
  }
  json.end_list();
}

void add_problems(base::JsonText& json, std::string_view name, std::string_view file,
                  const std::vector<recipe::Problem>& problems) {
  json.key(name).begin_list();
  for (const recipe::Problem& problem : problems) {
    json.begin_object().member("file", file);
    if (problem.position.line > 0)
      json.member("line", problem.position.line).member("column", problem.position.column);
    if (!problem.state_id.empty()) json.member("id", problem.state_id);
    json.member("message", problem.message).end_object();
  }
  json.end_list();
}

class EventWriter {
 public:
  void operator()(const engine::RoundStarted& event) {
    begin("round_started").member("version", event.version).member("round", event.round);
    json_.member("first", event.first).member("states", event.states);
  }
  void operator()(const engine::StateStarted& event) {
    begin("state_started").member("id", event.id).member("module", event.module).member("index", event.index);
    json_.member("message", event.message);
  }
  void operator()(const engine::StateOutput& event) {
    begin("state_output").member("id", event.id);
    json_.member("stream", event.stream == base::Stream::out ? "stdout" : "stderr")
        .member("data", event.data);
  }
  void operator()(const engine::StateResult& event) {
    begin("state_result").member("id", event.id).member("module", event.module).member("index", event.index);
    json_.member("version", event.version).member("round", event.round);
    json_.member("outcome", engine::outcome_name(event.outcome)).member("comment", event.comment);
    if (event.cause != engine::Cause::none) json_.member("cause", engine::cause_name(event.cause));
    if (!event.output.empty()) json_.member("output", event.output);
    if (!event.changes.empty()) add_changes(json_, event.changes);
    if (event.attempt > 1) json_.member("attempt", event.attempt);
    if (event.resumed) json_.member("resumed", true);
    if (event.is_blocked) json_.member("blocked", true);
    if (event.exit_code) json_.member("exit_code", *event.exit_code);
    if (event.truncated) json_.member("truncated", true);
    json_.member("started", base::utc_text(event.started)).member("duration_us", event.duration.count());
    if (event.cpu.count() > 0) json_.member("cpu_us", event.cpu.count());
    if (event.max_rss_kb > 0) json_.member("max_rss_kb", event.max_rss_kb);
  }
  void operator()(const engine::RoundEnd& event) {
    begin("round_end").member("version", event.version).member("round", event.round);
    json_.key("counts").begin_object();
    for (std::size_t i = 0; i < engine::kOutcomes; ++i)
      json_.member(engine::outcome_name(static_cast<engine::Outcome>(i)), event.counts[i]);
    json_.end_object().member("not_reached", event.not_reached).member("duration_us", event.duration.count());
    json_.key("drift").begin_list();
    for (const std::string& id : event.drift)
      json_.value(id);
    json_.end_list();
    if (event.next) json_.member("next_ms", event.next->count());
  }
  void operator()(const engine::PlanResult& event) {
    begin("plan").member("version", event.version).member("states", event.states.size());
  }
  void operator()(const engine::Notice& event) {
    begin("notice").member("level", event.level == engine::Notice::Level::info ? "info" : "warning");
    json_.member("text", event.text);
  }
  void operator()(const engine::Stopped&) { begin("stopped"); }

  std::string finish() { return json_.end_object().take(); }

 private:
  base::JsonText& begin(std::string_view name) { return json_.begin_object().member("event", name); }
  base::JsonText json_;
};

}  // namespace

std::string plan_json(const engine::PlanResult& plan, std::string_view recipe, std::string_view digest,
                      std::string_view root) {
  base::JsonText json;
  json.begin_object().member("recipe", recipe).member("digest", digest).member("root", root);
  json.member("by_root", plan.by_root);
  const PlanCounts counts = count(plan);
  json.key("counts").begin_object().member("change", counts.change).member("unknown", counts.unknown);
  json.member("fail", counts.fail).member("kept", counts.kept).member("skipped", counts.skipped).end_object();
  json.key("states").begin_list();
  for (const engine::PlannedState& state : plan.states) {
    json.begin_object().member("id", state.id).member("module", state.module);
    json.member("verdict", state.skipped ? "skipped" : engine::verdict_name(state.verdict));
    json.member("message", state.message);
    if (!state.changes.empty()) add_changes(json, state.changes);
    if (!state.depends_on.empty()) json.member("depends_on", state.depends_on);
    if (state.needs_root) json.member("needs_root", true);
    json.end_object();
  }
  return json.end_list().end_object().take();
}

std::string event_json(const engine::Event& event) {
  EventWriter writer;
  std::visit(writer, event);
  return writer.finish();
}

std::string problems_json(std::string_view file, const std::vector<recipe::Problem>& problems,
                          const std::vector<recipe::Problem>& warnings) {
  base::JsonText json;
  json.begin_object().member("ok", problems.empty());
  add_problems(json, "problems", file, problems);
  add_problems(json, "warnings", file, warnings);
  return json.end_object().take();
}

}  // namespace agent::cli
