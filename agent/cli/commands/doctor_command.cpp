#include <algorithm>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/doctor_checks.hpp"
#include "base/values/json_text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

std::string_view health_name(Health health) {
  return health == Health::ok ? "ok" : health == Health::warn ? "warn" : "fail";
}

void print(const Finding& finding, terminal::Console& console) {
  const terminal::Style style = finding.health == Health::ok     ? terminal::Style::green
                                : finding.health == Health::warn ? terminal::Style::yellow
                                                                 : terminal::Style::red;
  std::string word(health_name(finding.health));
  word.resize(5, ' ');
  console.out.line(console.paint(style, word) + finding.about + ": " + terminal::printable(finding.text));
  if (!finding.advice.empty()) console.out.line("     " + terminal::printable(finding.advice));
}

std::string to_json(const Findings& findings, bool is_healthy) {
  base::JsonText json;
  json.begin_object().member("ok", is_healthy).key("checks").begin_list();
  for (const Finding& finding : findings) {
    json.begin_object().member("health", health_name(finding.health)).member("about", finding.about);
    json.member("text", finding.text).optional("advice", finding.advice).end_object();
  }
  return json.end_list().end_object().take();
}

}  // namespace

int doctor_command(const Options& options, terminal::Console& console) {
  Findings findings;
  const auto add = [&](Findings more) { std::ranges::move(more, std::back_inserter(findings)); };
  add(check_configuration(options));
  add(check_state_folder(options));
  add(check_membership(options));
  add(check_backends(options));
  add(check_daemon(options));
  add(check_unit());
  const bool is_healthy =
      std::ranges::none_of(findings, [](const Finding& finding) { return finding.health == Health::fail; });
  if (options.json) {
    console.out.json(to_json(findings, is_healthy));
  } else {
    for (const Finding& finding : findings)
      print(finding, console);
  }
  return is_healthy ? kOk : kFailure;
}

}  // namespace agent::cli
