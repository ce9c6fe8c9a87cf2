#include "agent/updater/request_rules.hpp"

#include <optional>

#include "release/documents.hpp"

namespace agent::updater {

namespace {

// Why it must not begin; nothing when nothing speaks against it.
std::optional<std::string> why_not(const update::Progress& progress, const protocol::AgentUpdate& request,
                                   const Settings& settings, const std::string& own) {
  const std::optional<update::Record>& record = progress.record;
  if (record && !is_closed(record->phase))
    return "an update is under way, to " + record->version + ": ask again when it has ended";
  if (!release::is_version(request.version)) return "'" + request.version + "' is not a version";
  if (request.version == settings.version) return std::nullopt;
  if (progress.is_being_closed())
    return "the update to " + record->version + " is being closed: ask again in a moment";
  // A backend of version 1 repeats itself at every handshake: to it no version may be tried again.
  const bool may_repeat =
      record && record->retryable && (record->phase == update::Phase::failed || !request.action_id.empty());
  const bool is_bad = record && record->version == request.version && !may_repeat &&
                      (record->phase == update::Phase::rolled_back || record->phase == update::Phase::failed);
  if (is_bad)
    return "this version was tried before (" + record->reason +
           ") and is not tried again until another one is asked for";
  if (!settings.is_launched)
    return "installed as a package or started by hand: update it the way it was installed";
  if (own.empty())
    return "this program is not one of " + settings.prefix +
           "/versions: set 'prefix' to where the agent is installed";
  if (settings.release_base.empty())
    return "the agent's configuration has no release_base: set it to where releases are published";
  return std::nullopt;
}

}  // namespace

RequestDecision decide_request(const update::Progress& progress, const protocol::AgentUpdate& request,
                               const Settings& settings, const std::string& own) {
  using Kind = RequestDecision::Kind;
  const std::optional<update::Record>& record = progress.record;
  const bool is_under_way = record && !is_closed(record->phase);
  if (record && !request.action_id.empty() && record->action_id == request.action_id)
    return {.kind = !is_under_way && record->is_reported ? Kind::repeat : Kind::ignore};
  // Of version 1, which has no ids.
  if (is_under_way && request.action_id.empty() && request.version == record->version)
    return {.kind = Kind::ignore};
  if (auto why = why_not(progress, request, settings, own)) return {Kind::refuse, std::move(*why)};
  if (request.version == settings.version) return {Kind::confirm, "this version runs already"};
  return {};
}

}  // namespace agent::updater
