// `opsctl userdata`: from options, the login and the backend to the text for a new machine.
#include "ctl/commands/userdata_command.hpp"

#include <unistd.h>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"
#include "ctl/api.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/fields.hpp"
#include "ctl/login_file.hpp"
#include "ctl/output/show.hpp"
#include "ctl/time_text.hpp"
#include "ctl/userdata.hpp"
#include "release/documents.hpp"
#include "terminal/wrap.hpp"
#include "transport/uri.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestFile = 256 * 1024;
constexpr std::string_view kJoinPrefix = "opsjoin1.";
// Long enough for a machine that is made tomorrow, too short for one that is found in a year.
constexpr std::chrono::seconds kLife = std::chrono::hours(24);

std::string made_now() {
  return base::utc_now().substr(0, std::string_view("2026-03-01T12:00:00").size()) + "Z";
}

// "wss://host:port/agent/" of "https://host:port".
Result<std::string> backend_of(const std::string& server) {
  auto uri = transport::parse_uri(server);
  if (!uri) return std::move(uri).error();
  if (uri->is_local())
    return Error(ErrorCode::invalid, "other machines cannot reach the backend at " + server +
                                         ": name it as they see it, --backend wss://HOST:PORT/agent/");
  if (!uri->secure())
    return Error(ErrorCode::invalid,
                 "machines join over TLS only, and this login is " + server +
                     ": name the backend as they see it, --backend wss://HOST:PORT/agent/");
  return "wss://" + uri->authority() + "/agent/";
}

bool same_server(std::string_view a, std::string_view b) {
  const auto first = transport::parse_uri(a);
  const auto second = transport::parse_uri(b);
  return first && second && first->authority() == second->authority();
}

Result<std::string> given_token(const std::string& text) {
  if (text.starts_with(kJoinPrefix)) return text;
  auto token = read_token(text);
  if (!token) return std::move(token).error().with_context("--join-token");
  if (!token->starts_with(kJoinPrefix))
    return Error(ErrorCode::invalid,
                 text + ": what 'opsctl join-token create' printed begins with " + std::string(kJoinPrefix));
  return token;
}

// Asks the backend for a join token.
Result<std::string> make_token(const Options& options, const UserdataSettings& settings, const Login& login,
                               const std::string& ca, terminal::Console& console) {
  std::chrono::seconds life = kLife;
  if (!options.ttl.empty()) {
    auto given = parse_duration(options.ttl, "--ttl");
    if (!given) return std::move(given).error();
    life = *given;
  }
  base::JsonText body;
  body.begin_object().member("app_id", settings.app).member("ttl_s", life.count());
  body.member("uses", options.uses.value_or(1));
  if (!options.name_pattern.empty()) body.member("name", options.name_pattern);
  if (options.approve) body.member("approve", true);
  if (!settings.tags.empty()) {
    body.key("tags").begin_object();
    for (const std::string& tag : settings.tags)
      body.member(tag.substr(0, tag.find('=')), tag.substr(tag.find('=') + 1));
    body.end_object();
  }
  if (!login.token.empty()) console.redactor->add(login.token);
  auto api = Api::make({.server = login.server, .token = login.token, .ca = ca});
  if (!api) return std::move(api).error();
  auto reply = (*api)->send({.method = "POST", .path = "/join-tokens", .body = body.end_object().take()});
  if (!reply) return std::move(reply).error();
  const base::Value& root = reply->document.root();
  console.err.line(terminal::printable(
      "Join token " + text_field(root, "id") + " for machines of the app '" + settings.app + "', " +
      count_text(static_cast<std::size_t>(number_field(root, "uses")), "use") + ", expires " +
      until_text(field(root, "expires"), now()) + "."));
  return text_field(root, "token");
}

// Whom the machine trusts when it downloads: what was given for that, or the backend's authority when the
// backend serves the releases.
Result<void> add_authorities(const Options& options, const std::string& backend_ca, const std::string& server,
                             UserdataSettings& settings) {
  if (!settings.release_base.starts_with("https://")) return {};
  if (!options.userdata.release_ca.empty()) {
    auto given = read_ca(options.userdata.release_ca);
    if (!given) return std::move(given).error();
    // The agent's ca_file is for its backend, too.
    settings.ca = std::string(base::trim(*given)) + "\n" + backend_ca;
    settings.agent_ca = true;
  } else if (same_server(settings.release_base, settings.backends.front()) ||
             same_server(settings.release_base, server)) {
    settings.ca = backend_ca;
  }
  return {};
}

Result<UserdataSettings> settings_of(const Options& options, const Login& login, const std::string& ca) {
  const UserdataOptions& given = options.userdata;
  if (options.pinned_root.empty())
    return Error(ErrorCode::invalid,
                 "which root document? --root FILE, as 'opsctl release root' made it: trust does not come "
                 "from a download");
  UserdataSettings settings{.backends = given.backends,
                            .app = app_of(options),
                            .tags = options.tags,
                            .version = options.release_version,
                            .release_base = given.release_base,
                            .identity_source = given.identity_source,
                            .made = made_now()};
  if (!options.release_channel.empty()) settings.channel = options.release_channel;
  auto root = base::read_file(options.pinned_root, kLargestFile);
  if (!root) return std::move(root).error();
  settings.root = std::move(*root);
  if (settings.backends.empty()) {
    auto backend = backend_of(login.server);
    if (!backend) return std::move(backend).error();
    settings.backends.push_back(std::move(*backend));
  }
  auto base = release_base(options, login.server);
  if (!base) return std::move(base).error();
  settings.release_base = std::move(*base);
  if (auto added = add_authorities(options, ca, login.server, settings); !added)
    return std::move(added).error();
  return settings;
}

}  // namespace

Result<std::string> release_base(const Options& options, const std::string& server) {
  std::string given = options.userdata.release_base;
  while (given.ends_with('/'))
    given.pop_back();
  if (!given.empty()) return given;
  // The folder that the backend itself serves.
  auto backend = options.userdata.backends.empty() ? backend_of(server)
                                                   : Result<std::string>(options.userdata.backends.front());
  if (!backend) return std::move(backend).error();
  auto uri = transport::parse_uri(*backend);
  if (!uri) return std::move(uri).error();
  return std::string(uri->secure() ? "https" : "http") + "://" + uri->authority() + "/releases";
}

Result<std::string> userdata_text(const Options& options, terminal::Console& console) {
  const UserdataOptions& given = options.userdata;
  auto login = choose_login(options, login_path());
  if (!login) return std::move(login).error();
  auto ca = read_ca(login->ca);
  if (!ca) return std::move(ca).error();
  auto settings = settings_of(options, *login, *ca);
  if (!settings) return std::move(settings).error();
  const UserdataForm form = given.cloud_config ? UserdataForm::cloud_config : UserdataForm::script;
  // Before a token is made that nobody would use; a token has a fixed length.
  if (auto tried = make_userdata(*settings, form); !tried) return std::move(tried).error();
  if (const auto root = release::parse_root(settings->root);
      root->expires <= std::chrono::system_clock::now())
    return Error(ErrorCode::invalid,
                 options.pinned_root + ": this root document has expired; take the newest one");

  if (!given.join_token.empty() && (options.uses || !options.ttl.empty() || !options.name_pattern.empty()))
    return Error(ErrorCode::invalid,
                 "--uses, --ttl and --name are for a token that is made now, not for --join-token");
  if (!given.join_token.empty() && !options.tags.empty())
    console.warn(
        "selectors see the tags of the join token; those of --tag are only what the machine says of "
        "itself (self.KEY)");
  auto token = given.join_token.empty() ? make_token(options, *settings, *login, *ca, console)
                                        : given_token(given.join_token);
  if (!token) return std::move(token).error();
  settings->join_token = std::move(*token);
  return make_userdata(*settings, form);
}

Result<int> userdata_command(const Options& options, terminal::Console& console) {
  const UserdataOptions& given = options.userdata;
  auto text = userdata_text(options, console);
  if (!text) return std::move(text).error();
  if (!given.out.empty()) {
    if (auto written = base::write_durable_file(given.out, *text); !written)
      return std::move(written).error();
    console.err.line(given.out + ": " + std::to_string(text->size()) + " bytes; it holds the join token.");
    return kOk;
  }
  if (::isatty(STDOUT_FILENO) == 1)
    console.warn("what follows holds a secret, the join token; --out FILE keeps it off the screen");
  console.out.write(*text);
  return kOk;
}

}  // namespace ctl
