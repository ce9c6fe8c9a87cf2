// `opsagent module fetch`.
#include "agent/cli/commands/commands.hpp"
#include "base/values/json_text.hpp"
#include "modules/fetch/fetch.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

::modules::fetch::FetchSettings fetch_settings(const Options& options) {
  ::modules::fetch::FetchSettings settings{
      .state_dir = options.state_dir,
      .program = ::modules::fetch::fetcher_beside_us(),
      .ca_file = options.module_ca_file,
      .known_hosts_file = options.module_known_hosts,
      .ssh_key_file = options.module_ssh_key,
      .credentials_file = options.module_credentials,
      .keys_file = options.module_keys,
      .gpg_keyring = options.module_gpg_keyring,
      .schemes = options.module_schemes,
      .moving_tags = options.module_moving_tags,
      .timeout = std::chrono::seconds(options.module_fetch_timeout),
      .most_bytes = static_cast<std::uint64_t>(options.module_max_size) << 20,
      .proxy = proxy_settings(options),
  };
  if (settings.moving_tags.empty()) settings.moving_tags = {"main", "develop"};
  return settings;
}

}  // namespace

int module_fetch_command(const Options& options, terminal::Console& console) {
  if (options.arguments.size() < 2) {
    console.complain(options.command->question);
    return kFailure;
  }
  base::NoInterrupt none;  // a signal ends the program, and with it the fetcher; the next fetch clears up
  const auto fetched = ::modules::fetch::fetch_module(fetch_settings(options),
                                                      {.repository = options.arguments[0],
                                                       .tag = options.arguments[1],
                                                       .commit = options.commit,
                                                       .offline = options.offline},
                                                      none, [&](const std::string& line) {
                                                        if (options.quiet || options.json) return;
                                                        console.err.line(terminal::printable(line));
                                                        console.err.flush();
                                                      });
  if (!fetched) {
    console.complain(fetched.error().message());
    return kFailure;
  }
  if (!fetched->warning.empty()) console.warn(fetched->warning);
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
