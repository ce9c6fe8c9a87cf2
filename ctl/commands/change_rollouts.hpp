// Changes of recipes and assignments that go out ring by ring: what the options ask for, what is said about
// it, and following it.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/values/value.hpp"
#include "ctl/options.hpp"

namespace ctl {

// The options --now, --rings, --canary, --canaries, --may-fail, --pause, --jitter and --silence as the JSON
// object `rollout` of the API; "": none was given, and the app decides.
base::Result<std::string> rollout_terms(const Options& options);

// "10,50,100" as a JSON list; "now" is an empty one.
base::Result<std::string> rings_json(const std::string& text);

// Says which rollouts the answer to a change has begun.
void show_rollouts(Session& session, const base::Value& answer);

// Follows the rollouts of an answer until they end, one after the other; nothing: it has begun none.
base::Result<std::optional<int>> follow_rollouts(Session& session, const base::Value& answer);

// Until it ends. As a sequel it comes behind the answer of the change, which standard output is for alone
// with -o json.
enum class FollowedAs { answer, sequel };
base::Result<int> follow_rollout(Session& session, const std::string& id, FollowedAs as = FollowedAs::answer);

}  // namespace ctl
