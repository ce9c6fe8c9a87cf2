#include "agent/cli/commands/doctor_checks.hpp"

#include <netdb.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "agent/cli/commands/commands.hpp"
#include "agent/control/control_address.hpp"
#include "agent/control/pid_file.hpp"
#include "agent/daemon/daemon.hpp"
#include "agent/identity/membership.hpp"
#include "agent/identity/source_identity.hpp"
#include "agent/runtime/address_rules.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "transport/client/http_client.hpp"

namespace agent::cli {

namespace {

bool is_there(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the form that HTTP has for instants.
std::optional<std::time_t> parse_date(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  const char* end = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (!end) return std::nullopt;
  return ::timegm(&parts);
}

Finding check_clock(std::string_view date) {
  constexpr std::int64_t kTolerated = 120;
  constexpr std::time_t kOldest = 1'700'000'000;  // before this program was written
  const std::time_t now = std::time(nullptr);
  if (now < kOldest)
    return {Health::fail, "clock", "the clock is years behind", "set it, and let NTP keep it"};
  const auto theirs = parse_date(date);
  if (!theirs) return {Health::ok, "clock", "plausible; the backend does not tell its own", ""};
  const std::int64_t off = now - *theirs;
  if (std::abs(off) <= kTolerated) return {Health::ok, "clock", "agrees with the backend's", ""};
  return {Health::warn, "clock", "differs from the backend's by " + std::to_string(off) + " s",
          "let NTP keep the clocks of both (timedatectl set-ntp true): certificates and logs depend on them"};
}

Finding check_name(const transport::Uri& uri) {
  addrinfo* found = nullptr;
  const addrinfo hints{.ai_socktype = SOCK_STREAM};
  const int failed = ::getaddrinfo(uri.host.c_str(), nullptr, &hints, &found);
  if (found) ::freeaddrinfo(found);
  if (failed == 0) return {Health::ok, "name", uri.host + " resolves", ""};
  return {Health::fail, "name", uri.host + " does not resolve: " + ::gai_strerror(failed),
          "check the name, and /etc/resolv.conf"};
}

// What the identity source said last, if one is configured.
identity::SourceIdentity announced(const Options& options) {
  const auto source = metadata::parse_sources(options.identity_source);
  if (!source || source->names.empty()) return {};
  return identity::load_source_identity(options.state_dir).value_or(identity::SourceIdentity());
}

std::string app_of(const Options& options) {
  const std::string said = announced(options).app_id;
  return said.empty() ? options.app_id : said;
}

base::Result<std::unique_ptr<identity::Membership>> open_membership(const Options& options) {
  base::Redactor nothing_is_printed;
  identity::MembershipOptions given{
      .state_dir = options.state_dir, .join_token = options.join_token, .ca_file = options.ca_file};
  return identity::Membership::open(identity::with_source_identity(std::move(given), announced(options)),
                                    nothing_is_printed);
}

// How the daemon would meet that backend: as a member, or to become one.
base::Result<std::shared_ptr<transport::TlsClient>> tls_of_daemon(const Options& options) {
  auto membership = open_membership(options);
  if (!membership) return std::move(membership).error();
  const auto now = std::chrono::system_clock::now();
  return (*membership)->must_enrol(app_of(options), now) ? (*membership)->tls_for_enrolment()
                                                         : (*membership)->tls_for_work(app_of(options), now);
}

void check_backend(const std::string& text, const Options& options, const transport::Proxies& proxies,
                   Findings& findings) {
  const auto membership = open_membership(options);
  const bool is_member = membership && (*membership)->is_member();
  if (auto why = runtime::refuse_uri(text, {.is_member = is_member, .allow_plain = options.allow_plain})) {
    findings.push_back({Health::fail, "backend", text + ": " + *why, "correct ws_uri"});
    return;
  }
  transport::Uri uri = *transport::parse_uri(text);
  const auto proxy = proxies.proxy_for(uri);
  if (proxy)
    findings.push_back({Health::ok, "proxy", uri.host + " is reached through " + proxy->host, ""});
  else
    findings.push_back(check_name(uri));
  if (findings.back().health == Health::fail) return;
  const std::string target = uri.target;
  uri.scheme = uri.secure() ? "https" : "http";
  transport::HttpClientOptions way{.server = uri, .proxy = proxy, .user_agent = "opsagent-doctor"};
  if (uri.secure()) {
    auto tls = tls_of_daemon(options);
    if (!tls) return;  // check_membership() has said why
    way.tls = std::move(*tls);
  }
  transport::HttpClient client(std::move(way));
  const auto reply = client.request({.target = target});
  if (!reply) {
    findings.push_back({Health::fail, "backend", text + ": " + reply.error().message(),
                        transport::unreachable(reply.error())
                            ? "is opsbackend running there, and does a firewall let this machine through?"
                            : "correct ws_uri, ca_file or join_token"});
    return;
  }
  findings.push_back(
      {Health::ok, "backend", text + (uri.secure() ? " answers, and proves who it is" : " answers"), ""});
  findings.push_back(check_clock(reply->header("Date")));
}

}  // namespace

Findings check_configuration(const Options& options) {
  Findings findings;
  for (const std::string_view line : base::split(options.config_problem, '\n'))
    findings.push_back(
        {Health::fail, "configuration", std::string(line), "correct it; the daemon does not start"});
  if (!findings.empty()) return findings;
  findings.push_back(
      {Health::ok, "configuration",
       options.config.empty() ? "read, and free of mistakes" : options.config + " is free of mistakes", ""});
  if (options.ws_uris.empty() && options.recipe.empty())
    findings.push_back({Health::fail, "configuration", "neither a backend nor a recipe is configured",
                        "set ws_uri (or recipe) in /etc/opsagent.conf"});
  return findings;
}

Findings check_state_folder(const Options& options) {
  constexpr const char* kAbout = "state folder";
  const std::string& path = options.state_dir;
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) return {{Health::ok, kAbout, path + " will be made by the daemon", ""}};
    return {{Health::fail, kAbout, base::os_error(errno, path).message(), "check the path"}};
  }
  if (!S_ISDIR(st.st_mode))
    return {{Health::fail, kAbout, path + " is not a folder", "move it away, or set state_dir"}};
  Findings findings;
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    findings.push_back({Health::fail, kAbout, path + " can be written by others", "chmod go-w " + path});
  if (st.st_uid != ::geteuid())
    findings.push_back({::geteuid() == 0 ? Health::fail : Health::warn, kAbout,
                        path + " belongs to uid " + std::to_string(st.st_uid),
                        ::geteuid() == 0 ? "chown root " + path : "run the doctor as the daemon's user"});
  else if (::access(path.c_str(), W_OK) != 0)
    findings.push_back({Health::fail, kAbout, path + " cannot be written", "is its file system read-only?"});
  struct statvfs space {};
  constexpr std::uint64_t kWanted = std::uint64_t{128} * 1024 * 1024;
  if (::statvfs(path.c_str(), &space) == 0 &&
      static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize < kWanted)
    findings.push_back({Health::warn, kAbout, "less than 128 MiB are free in " + path,
                        "make room: without it nothing can be journalled, and nothing is changed"});
  if (findings.empty())
    findings.push_back({Health::ok, kAbout, path + " is private, writable and has room", ""});
  return findings;
}

Findings check_daemon(const Options& options) {
  const auto pid = control::PidFile::holder(control::pid_path(options.state_dir));
  if (pid) return {{Health::ok, "daemon", "runs as process " + std::to_string(*pid), ""}};
  return {{Health::warn, "daemon", "does not run", "systemctl enable --now opsagent, or opsagent run"}};
}

Findings check_unit() {
  constexpr const char* kAbout = "unit";
  if (!is_there("/run/systemd/system"))
    return {{Health::ok, kAbout, "systemd does not run here; 'opsagent run' works in the foreground", ""}};
  for (const char* folder :
       {"/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"})
    if (is_there(std::string(folder) + "/opsagent.service")) {
      if (is_there("/etc/systemd/system/multi-user.target.wants/opsagent.service"))
        return {{Health::ok, kAbout, "opsagent.service is installed and enabled", ""}};
      return {{Health::warn, kAbout, "opsagent.service is not enabled", "systemctl enable opsagent"}};
    }
  return {{Health::warn, kAbout, "opsagent.service is not installed",
           "copy bootstrap/opsagent.service to /etc/systemd/system and run systemctl daemon-reload"}};
}

Findings check_membership(const Options& options) {
  constexpr const char* kAbout = "certificate";
  const auto is_secure = [](const std::string& uri) { return uri.starts_with("wss:"); };
  if (std::ranges::none_of(options.ws_uris, is_secure)) return {};
  auto membership = open_membership(options);
  if (!membership)
    return {{Health::fail, kAbout, membership.error().message(), "correct it; the daemon does not start"}};
  const auto now = std::chrono::system_clock::now();
  if ((*membership)->must_enrol(app_of(options), now))
    return {{Health::warn, kAbout, "this machine is not enrolled yet, and has a join token",
             "the daemon enrols it when it starts: systemctl start opsagent"}};
  if (auto tls = (*membership)->tls_for_work(app_of(options), now); !tls)
    return {{Health::fail, kAbout, tls.error().message(),
             "get a join token: opsctl join-token create --app " + app_of(options)}};
  const identity::Credentials* credentials = (*membership)->credentials();
  if (credentials == nullptr)
    return {{Health::warn, kAbout, "there is none; this machine is known by its token only",
             "that works with backends that allow it (allow_v1); a join token is better"}};
  return {{Health::ok, kAbout,
           "enrolled as " + credentials->name.app_id + "/" + credentials->name.instance_id + " until " +
               base::utc_text(credentials->not_after) + ", renewed from " +
               base::utc_text(credentials->renew_at()),
           ""}};
}

Findings check_backends(const Options& options) {
  Findings findings;
  auto proxies = transport::Proxies::parse(proxy_settings(options));
  if (!proxies) {
    findings.push_back({Health::fail, "proxy", proxies.error().message(), "correct it"});
    return findings;
  }
  for (const std::string& uri : options.ws_uris)
    check_backend(uri, options, *proxies, findings);
  return findings;
}

}  // namespace agent::cli
