#include "agent/identity/source_identity.hpp"

#include <unistd.h>

#include <csignal>
#include <optional>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace agent::identity {

namespace {

using base::Result;

constexpr std::size_t kLargestSourceFile = 64 * 1024;
constexpr const char* kFile = "/identity_source";

// The signals are blocked by now, for the loop to take.
bool is_asked_to_end() {
  sigset_t pending{};
  return ::sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

// Whether the machine has a better name than its host's.
bool has_name(const FirstStart& start) {
  return !start.configured.instance_id.empty() ||
         ::access((start.state_dir + "/instance_id").c_str(), F_OK) == 0 ||
         !metadata::cloud_init_instance_id(start.source).empty();
}

SourceIdentity to_source_identity(metadata::Metadata found) {
  return {.instance_id = std::move(found.instance_id),
          .app_id = std::move(found.app_id),
          .join_token = std::move(found.join_token)};
}

void say_which_app(const FirstStart& start, const SourceIdentity& announced) {
  const std::string& configured = start.configured.app_id;
  if (const std::string text = app_conflict(configured, announced); !text.empty())
    start.log(Level::warning, text);
}

}  // namespace

std::string app_conflict(const std::string& configured, const SourceIdentity& announced) {
  if (announced.app_id.empty() || configured.empty() || configured == announced.app_id) return {};
  return "the identity source says that this machine is of the app '" + announced.app_id +
         "', and the configuration says '" + configured +
         "': the identity source's is used (identity_source = none lets the configuration decide)";
}

std::string refuse_app(const std::string& app_id, const Membership& membership) {
  const Credentials* credentials = membership.credentials();
  if (credentials == nullptr || membership.has_new_token() || app_id == credentials->name.app_id) return {};
  return "the identity source says that this machine is of the app '" + app_id +
         "', and has no new join token for it: the machine stays in the app '" + credentials->name.app_id +
         "', in which it is enrolled. To move it, announce a join token of the other app with it";
}

Result<SourceIdentity> first_source_identity(const FirstStart& start) {
  const metadata::SourceOptions& source = start.source;
  if (source.names.empty()) return SourceIdentity{};
  if (auto kept = load_source_identity(start.state_dir)) {
    say_which_app(start, *kept);
    return std::move(*kept);
  }
  start.log(Level::info, "asking who this machine is: " + base::join(source.names, ", "));
  auto found = metadata::read_metadata(source, metadata::kFirstBoot, is_asked_to_end);
  if (!found) {
    const bool may_come_later = found.error().code() == base::ErrorCode::timed_out;
    if (may_come_later && !has_name(start)) return std::move(found).error();
    start.log(Level::warning, found.error().message() + "; going on with the configuration");
    return SourceIdentity{};
  }
  start.log(Level::info, found->source + " says that this machine is '" + found->instance_id + "'" +
                             (found->app_id.empty() ? "" : " of app '" + found->app_id + "'"));
  SourceIdentity announced = to_source_identity(std::move(*found));
  if (auto kept = store_source_identity(start.state_dir, announced); !kept)
    start.log(Level::warning, kept.error().message());
  say_which_app(start, announced);
  return announced;
}

Result<SourceIdentity> ask_source_identity(const metadata::SourceOptions& source,
                                           base::Interrupt& interrupt) {
  auto found = metadata::read_metadata(source, {}, [&] { return interrupt.requested(); });
  if (!found) return std::move(found).error();
  return to_source_identity(std::move(*found));
}

std::optional<SourceIdentity> load_source_identity(const std::string& state_dir) {
  const auto text = base::read_file(state_dir + kFile, kLargestSourceFile);
  if (!text) return std::nullopt;
  SourceIdentity kept;
  for (const std::string_view line : base::split(*text, '\n')) {
    const std::vector<std::string_view> words = base::split_words(line);
    if (words.size() != 2) continue;
    if (words[0] == "app_id" && check_instance_id(words[1])) kept.app_id = words[1];
    if (words[0] == "join_token" && pki::parse_join_token(words[1])) kept.join_token = words[1];
  }
  return kept;
}

Result<void> store_source_identity(const std::string& state_dir, const SourceIdentity& announced) {
  std::string text;
  if (!announced.app_id.empty()) text += "app_id " + announced.app_id + "\n";
  if (!announced.join_token.empty()) text += "join_token " + announced.join_token + "\n";
  return base::write_durable_file(state_dir + kFile, text);
}

IdentityOptions with_source_identity(IdentityOptions options, const SourceIdentity& announced) {
  if (!announced.app_id.empty()) options.app_id = announced.app_id;
  options.announced_id = announced.instance_id;
  return options;
}

MembershipOptions with_source_identity(MembershipOptions options, const SourceIdentity& announced) {
  options.announced_token = announced.join_token;
  return options;
}

}  // namespace agent::identity
