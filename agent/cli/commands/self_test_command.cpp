// `opsagent self-test`.
#include <unistd.h>

#include <algorithm>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/version.hpp"
#include "agent/cli/options/command_line.hpp"
#include "agent/install/self_check.hpp"
#include "base/values/json_text.hpp"
#include "builtins/builtins.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

// It is root's own: for others there is nothing wrong with it.
bool is_hidden_configuration() {
  return ::geteuid() != 0 && ::access(kDefaultConfig, F_OK) == 0 && ::access(kDefaultConfig, R_OK) != 0;
}

std::string to_json(const std::vector<install::Check>& checks, bool is_fine) {
  base::JsonText json;
  json.begin_object().member("ok", is_fine).member("version", kVersion).key("checks").begin_list();
  for (const install::Check& check : checks)
    json.begin_object()
        .member("ok", check.ok)
        .member("about", check.about)
        .member("text", check.text)
        .end_object();
  return json.end_list().end_object().take();
}

}  // namespace

int self_test_command(const Options& options, terminal::Console& console) {
  const std::vector<install::Check> checks =
      install::self_test({.version = std::string(kVersion),
                          .state_dir = options.state_dir,
                          .config_problem = is_hidden_configuration() ? "" : options.config_problem,
                          .registry = [] {
                            return states::Registry({states::native_states(), builtins::builtin_states()});
                          }});
  const bool is_fine = std::ranges::all_of(checks, &install::Check::ok);
  if (options.json) {
    console.out.json(to_json(checks, is_fine));
  } else {
    for (const install::Check& check : checks) {
      const std::string line = check.about + ": " + terminal::printable(check.text);
      if (!check.ok)
        console.complain(line);
      else if (!options.quiet)
        console.out.line("ok   " + line);
    }
  }
  return is_fine ? kOk : kFailure;
}

}  // namespace agent::cli
