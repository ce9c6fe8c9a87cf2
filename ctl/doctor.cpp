#include "ctl/doctor.hpp"

#include "ctl/fields.hpp"

namespace ctl {

namespace {

using base::Value;

constexpr std::chrono::days kAuthorityWarning{365};  // replacing it takes every machine
constexpr std::chrono::days kTokenWarning{14};
constexpr std::chrono::days kDailyUse{1};

void check_token(const Value& token, Instant at, std::vector<Finding>& found) {
  const auto expires = instant_of(field(token, "expires"));
  if (!field(token, "revoked").is_null() || (expires && *expires <= at)) return;
  const std::string name = text_field(token, "name");
  const std::string role = text_field(token, "role");
  const bool is_open = text_field(token, "scope").empty();
  // The way in: docs/backend.md says why it does not end.
  const bool is_way_in = text_field(token, "created_by") == "opsbackend" && name == "admin";
  if (role == "operator" && is_open)
    found.push_back(
        {"open_scope", "the token '" + name + "' is an operator of all machines",
         "make one with --scope SELECTOR for the machines that it is for ('opsctl token create'), "
         "then 'opsctl token revoke " +
             name + "'"});
  if (role == "viewer" && is_open)
    found.push_back({"open_viewer", "the token '" + name + "' reads every recipe, with the secrets in it",
                     "if it is for some machines only, make one with --scope", true});
  if (!expires && !is_way_in)
    found.push_back({"eternal_token", "the token '" + name + "' (" + role + ") never expires",
                     "make one with --ttl for who uses it, then 'opsctl token revoke " + name + "'"});
  if (expires && *expires - at <= kTokenWarning)
    found.push_back({"token_ends", "the token '" + name + "' ends " + until_text(field(token, "expires"), at),
                     "make another one in time, or let it go", true});
  const auto used = instant_of(field(token, "last_used"));
  if (is_way_in && used && at - *used <= kDailyUse)
    found.push_back(
        {"admin_token_used", "the token of admin.token is in daily use",
         "it never expires and has no person's name: make tokens for people ('opsctl token create "
         "NAME --role admin'), and keep it for emergencies",
         true});
}

void check_listeners(const Value& installation, std::vector<Finding>& found) {
  for (const Value& listener : items_field(installation, "listeners"))
    if (!field(listener, "tls").is_null() && !flag_field(listener, "tls"))
      found.push_back({"plain_listener", "it listens without TLS on " + text_field(listener, "address"),
                       "start opsbackend without --plain: agents then prove who they are with certificates"});
}

void check_authority(const Value& installation, Instant at, std::vector<Finding>& found) {
  const Value& expires = field(installation, "authority.expires");
  const auto end = instant_of(expires);
  if (end && *end - at <= kAuthorityWarning)
    found.push_back({"authority_ends", "the certificate authority ends " + until_text(expires, at),
                     "every agent and opsctl knows the backend by it: plan its replacement now "
                     "(docs/security.md)"});
}

void check_app(const Value& app, std::vector<Finding>& found) {
  const Value& trusts = field(app, "trust_self_reported");
  const bool is_on = trusts.is_list() || trusts.is_object()
                         ? !trusts.items().empty() || !trusts.members().empty()
                         : trusts.as_bool().value_or(trusts.is_text() && !trusts.text().empty());
  if (is_on)
    found.push_back(
        {"trusts_self_reported",
         "the app '" + text_field(app, "app_id") + "' believes the tags that machines bring along",
         "set the tags that scopes and assignments ask for as an operator ('opsctl agent tag', "
         "join tokens with --tag), then take trust_self_reported back"});
}

}  // namespace

std::vector<Finding> find_faults(const Value& installation, std::span<const Value> tokens,
                                 std::span<const Value> apps, Instant at) {
  std::vector<Finding> found;
  for (const Value& token : tokens)
    check_token(token, at, found);
  if (installation.is_null())
    found.push_back({"old_backend", "the backend does not tell its listeners and authority",
                     "update opsbackend, then look again", true});
  check_listeners(installation, found);
  check_authority(installation, at, found);
  if (flag_field(installation, "allow_v1"))
    found.push_back({"allows_v1", "agents without a certificate are let in (--allow-v1)",
                     "enrol them with join tokens, then start opsbackend without --allow-v1"});
  for (const Value& app : apps)
    check_app(app, found);
  return found;
}

}  // namespace ctl
