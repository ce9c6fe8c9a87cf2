// `opsagent module fetch`.
#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "base/values/json_text.hpp"
#include "modules/fetch/fetch.hpp"

namespace agent::cli {

int module_fetch_command(const Options& options, terminal::Console& console) {
  if (options.arguments.size() < 2) {
    console.complain(options.command->question);
    return kFailure;
  }
  base::NoInterrupt none;  // a signal ends the program, and with it the fetcher; the next fetch clears up
  const FetchLines lines = fetch_lines(options, console);
  const auto fetched = ::modules::fetch::fetch_module(module_settings(options).fetch,
                                                      {.repository = options.arguments[0],
                                                       .tag = options.arguments[1],
                                                       .commit = options.commit,
                                                       .offline = options.offline},
                                                      none, lines.progress);
  if (!fetched) {
    console.complain(fetched.error().message());
    return kFailure;
  }
  if (!fetched->warning.empty()) lines.warning(fetched->warning);
  if (options.json) {
    base::JsonText json;
    json.begin_object()
        .member("commit", fetched->checkout.commit)
        .member("folder", fetched->checkout.path)
        .member("new", fetched->is_new)
        .optional("signer", fetched->signer)
        .optional("warning", fetched->warning);
    console.out.json(json.end_object().take());
  } else if (!options.quiet) {
    console.out.line("commit " + fetched->checkout.commit);
    console.out.line("folder " + fetched->checkout.path);
    if (!fetched->signer.empty()) console.out.line("signed by " + fetched->signer);
  }
  return kOk;
}

}  // namespace agent::cli
