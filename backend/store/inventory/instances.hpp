// Changes of instances: tags, facts, forgetting one. For the writer thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/store/store.hpp"

namespace backend::store {

// The operator's tags; an empty optional removes one. They belong to `scope`, of the token that sets them.
// One that belongs to others is changed only by who owns it (domain/ownership.hpp): else `permission`. What
// changes nothing leaves the instance's `edit` as it is. `exists`: edited since `expected` was seen.
base::Result<domain::Instance> patch_tags(Store& store, std::string_view app_id, std::string_view instance_id,
                                          const std::map<std::string, std::optional<std::string>>& tags,
                                          std::optional<domain::Edit> expected,
                                          const std::optional<domain::Selector>& scope = {});

// `exists` while it is online. Its reports stay until retention takes them, but are listed no more. Its
// certificates are dead; that its id was enrolled is remembered.
base::Result<void> forget_instance(Store& store, std::string_view app_id, std::string_view instance_id,
                                   domain::Millis now);

// Merges a patch (RFC 7396) into, or replaces, the facts. False: a patch on other facts than we have; the
// agent is to send them in full. `base_hash`: the hash of the facts that the patch is for; "": those that we
// have. `invalid`: no JSON object. `limit`: too large.
base::Result<bool> put_facts(Store& store, domain::InstanceKey instance, const protocol::Facts& facts,
                             std::string_view base_hash);
// The same for what a connection brings, all or nothing. False also when a newer one has taken its place.
base::Result<bool> put_facts(Store& store, const domain::AgentSession& session,
                             std::span<const protocol::Facts> facts);

// A machine that may come with this token (SHA-256, in hexadecimal): it need not be approved. One that waits
// under this name is that one from now on. `exists`: the name is another machine's.
base::Result<domain::Instance> expect_instance(Store& store, const std::string& app_id,
                                               const std::string& instance_id, const std::string& token_hash,
                                               domain::Millis now);

// Lets in a machine that waits. `exists`: it does not wait, or with another token than `token_prefix` ("":
// any).
base::Result<domain::Instance> approve_instance(Store& store, domain::InstanceKey instance,
                                                std::string_view token_prefix);

}  // namespace backend::store
