#include "ctl/commands/change_rollouts.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "terminal/wrap.hpp"

namespace ctl {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

Result<std::string> rings_json(const std::string& text) {
  if (text == "now") return std::string("[]");
  base::JsonText list;
  list.begin_list();
  for (const std::string_view part : base::split(text, ',')) {
    const auto number = base::parse_integer(base::trim(part));
    if (!number) return Error(ErrorCode::invalid, "--rings must be percentages with commas, like 10,50,100");
    list.value(*number);
  }
  return list.end_list().take();
}

Result<std::string> rollout_terms(const Options& options) {
  base::JsonText body;
  body.begin_object();
  bool is_any = false;
  if (!options.rings.empty()) {
    auto rings = rings_json(options.rings);
    if (!rings) return rings;
    if (*rings == "[]") return Error(ErrorCode::invalid, "'--now' gives it to all machines at once");
    body.key("rings").json(*rings);
    is_any = true;
  }
  if (!options.canary.empty()) {
    body.member("canary", options.canary);
    is_any = true;
  }
  if (options.canaries) {
    body.member("canaries", *options.canaries);
    is_any = true;
  }
  if (options.may_fail) {
    body.member("may_fail", *options.may_fail);
    is_any = true;
  }
  struct Time {
    std::string_view member;
    const std::string& text;
    std::string_view option;
  };
  for (const Time& time :
       {Time{"pause_s", options.pause, "--pause"}, Time{"jitter_s", options.jitter, "--jitter"},
        Time{"timeout_s", options.silence, "--silence"}}) {
    if (time.text.empty()) continue;
    auto seconds = time.text == "0" || time.text == "0s"
                       ? Result<std::chrono::seconds>(std::chrono::seconds(0))
                       : parse_duration(time.text, time.option);
    if (!seconds) return std::move(seconds).error();
    body.member(time.member, seconds->count());
    is_any = true;
  }
  if (options.at_once && is_any)
    return Error(ErrorCode::invalid, "--now gives it to all machines at once: there are no rings then");
  if (options.at_once) return std::string(R"({"now":true})");
  return is_any ? body.end_object().take() : std::string();
}

void show_rollouts(Session& session, const Value& answer) {
  if (session.options.format != Format::table) return;
  for (const Value& rollout : items_field(answer, "rollouts")) {
    std::string sizes;
    const auto rings = items_field(rollout, "rings");
    for (std::size_t i = 0; i < rings.size(); ++i)
      sizes += (i == 0 ? "" : i + 1 < rings.size() ? ", " : " and ") + text_of(rings[i]);
    const std::string id = text_field(rollout, "id");
    session.console.out.line(terminal::printable(
        "Rollout " + id + " in " + text_field(rollout, "app_id") + ": " +
        count_text(static_cast<std::size_t>(number_field(rollout, "machines")), "machine") +
        (rings.size() > 1 ? " in rings of " + sizes : "") + "." +
        (session.options.wait ? "" : " 'opsctl rollout show " + id + "' says how it goes.")));
  }
  session.console.out.flush();
}

Result<std::optional<int>> follow_rollouts(Session& session, const Value& answer) {
  std::optional<int> worst;
  for (const Value& rollout : items_field(answer, "rollouts")) {
    auto status = follow_rollout(session, text_field(rollout, "id"), FollowedAs::sequel);
    if (!status) return std::move(status).error();
    worst = std::max(worst.value_or(kOk), *status);
  }
  return worst;
}

}  // namespace ctl
