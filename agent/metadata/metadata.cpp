#include "agent/metadata/metadata.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "agent/metadata/source.hpp"
#include "agent/metadata/userdata.hpp"
#include "base/text.hpp"
#include "pki/join_token.hpp"
#include "protocol/ids.hpp"

namespace agent::metadata {

namespace {

using namespace std::chrono_literals;
using base::Error;
using base::ErrorCode;
using base::Result;
using Clock = std::chrono::steady_clock;

constexpr std::array kSources{
    Source{"ec2", read_ec2},
    Source{"openstack", read_openstack},
    Source{"nocloud", read_nocloud},
    Source{"file", read_local_file},
};

constexpr std::chrono::milliseconds kFirstPause = 500ms;
constexpr std::chrono::milliseconds kLongestPause = 8s;
// How soon somebody who gives up is heard.
constexpr std::chrono::milliseconds kStep = 100ms;

bool may_come_later(const Error& error) {
  return error.code() == ErrorCode::io || error.code() == ErrorCode::timed_out;
}

// False: given up meanwhile.
bool pause(std::chrono::milliseconds length, const std::function<bool()>& give_up) {
  for (const auto end = Clock::now() + length; Clock::now() < end; std::this_thread::sleep_for(kStep))
    if (give_up()) return false;
  return true;
}

}  // namespace

std::span<const Source> sources() {
  return kSources;
}

Result<SourceOptions> parse_sources(std::string_view text) {
  SourceOptions options;
  if (text == "auto") return options;
  if (text == "none") {
    options.use_cloud_init = false;
    return options;
  }
  for (const std::string_view piece : base::split(text, ',')) {
    const std::string_view name = base::trim(piece);
    if (std::ranges::find(kSources, name, &Source::name) == kSources.end())
      return Error(
          ErrorCode::invalid,
          "must be auto, none, or names out of ec2, openstack, nocloud, file separated by commas, not '" +
              std::string(text) + "'");
    if (std::ranges::find(options.names, name) == options.names.end()) options.names.emplace_back(name);
  }
  if (options.names.empty()) return Error(ErrorCode::invalid, "needs a value");
  return options;
}

Result<Metadata> finished(Metadata metadata, bool may_lack_id) {
  const bool is_missing = may_lack_id && metadata.instance_id.empty();
  if (const std::string_view wrong = protocol::problem_of_name(metadata.instance_id);
      !wrong.empty() && !is_missing)
    return Error(ErrorCode::invalid, "its instance id cannot be used: " + std::string(wrong));
  const std::map<std::string, std::string> settings = userdata_settings(metadata.userdata);
  const auto take = [&](const char* name, std::string& field) {
    if (const auto found = settings.find(name); found != settings.end()) field = found->second;
  };
  take("app", metadata.app_id);
  take("join_token", metadata.join_token);
  if (!metadata.app_id.empty())
    if (const std::string_view wrong = protocol::problem_of_name(metadata.app_id); !wrong.empty())
      return Error(ErrorCode::invalid, "the app in its userdata cannot be used: " + std::string(wrong));
  if (!metadata.join_token.empty())
    if (auto token = pki::parse_join_token(metadata.join_token); !token)
      return std::move(token).error().with_context("the join token in its userdata");
  return metadata;
}

Result<Metadata> read_metadata(const SourceOptions& options, Patience patience,
                               const std::function<bool()>& give_up) {
  const Clock::time_point until = Clock::now() + patience.in_all;
  std::chrono::milliseconds wait = kFirstPause;
  std::vector<std::string> wanted = options.names;
  for (int round = 1;; ++round) {
    std::vector<std::string> said;
    std::vector<std::string> unheard;
    for (const std::string& name : wanted) {
      const auto source = std::ranges::find(kSources, name, &Source::name);
      if (source == kSources.end()) continue;
      auto found = source->read(options);
      if (found) {
        found->source = name;
        return found;
      }
      said.push_back(name + ": " + found.error().message());
      if (may_come_later(found.error())) unheard.push_back(name);
    }
    if (unheard.empty() || round >= patience.rounds || Clock::now() + wait >= until || !pause(wait, give_up))
      return Error(unheard.empty() ? ErrorCode::not_found : ErrorCode::timed_out,
                   "no identity source has answered: " + base::join(said, "; "));
    wait = std::min(wait * 2, kLongestPause);
  }
}

}  // namespace agent::metadata
