#include "backend/store/inventory/instances.hpp"

#include "backend/domain/access/certificate_rules.hpp"
#include "backend/domain/access/ownership.hpp"
#include "backend/domain/json_text.hpp"
#include "backend/store/transaction.hpp"
#include "base/values/json.hpp"

namespace backend::store {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A megabyte of facts per machine is ten gigabytes per fleet: what is larger is a mistake.
constexpr std::size_t kLargestFacts = 1024 * 1024;
constexpr std::size_t kLongestHash = 256;

// The facts in full; nothing: the patch is for others than `present`.
Result<std::optional<std::string>> merged_facts(const protocol::Facts& facts,
                                                const std::optional<StoredFacts>& present,
                                                std::string_view base_hash) {
  const std::optional<std::string> nothing;
  if (facts.full) {
    base::Arena arena;
    const auto read = base::parse_json(facts.full->text, arena);
    const auto* value = std::get_if<base::Value>(&read);
    if (!value || !value->is_object()) return Error(ErrorCode::invalid, "facts must be a JSON object");
    return std::optional(facts.full->text);
  }
  if (!facts.patch) return Error(ErrorCode::invalid, "facts without 'full' and 'patch'");
  if (!present || (!base_hash.empty() && present->hash != base_hash)) return nothing;
  auto merged = domain::merge_patch(present->facts, facts.patch->text);
  if (!merged) return std::move(merged).error();
  return std::optional(std::move(*merged));
}

// One tag of a patch; false: it is as it should be.
Result<bool> patch_tag(domain::Instance& instance, const std::string& name,
                       const std::optional<std::string>& value,
                       const std::optional<domain::Selector>& scope) {
  const auto present = instance.operator_tags.find(name);
  const bool is_there = present != instance.operator_tags.end();
  if (!is_there && !value) return false;
  const auto found = instance.tag_scopes.find(name);
  const std::string owner = found == instance.tag_scopes.end() ? "" : found->second;
  const std::string new_owner = scope ? scope->text() : "";
  const bool is_same = is_there && value == present->second;
  if (is_same && owner == new_owner) return false;
  if (is_there && !domain::owns(scope, owner)) {
    if (is_same) return false;
    return Error(ErrorCode::permission,
                 "the tag '" + name + "' was set by " +
                     (owner.empty() ? "a token without a scope" : "a token with the scope " + owner) +
                     ": it is not changed by one with the scope " + new_owner);
  }
  if (value)
    instance.operator_tags[name] = *value;
  else
    instance.operator_tags.erase(name);
  instance.tag_scopes.erase(name);
  if (value && scope) instance.tag_scopes[name] = new_owner;
  return true;
}

}  // namespace

Result<domain::Instance> patch_tags(Store& store, std::string_view app_id, std::string_view instance_id,
                                    const std::map<std::string, std::optional<std::string>>& tags,
                                    std::optional<domain::Edit> expected,
                                    const std::optional<domain::Selector>& scope) {
  return in_transaction(store, [&]() -> Result<domain::Instance> {
    auto instance = store.find_instance(app_id, instance_id);
    if (!instance) return instance;
    if (auto same = check_edit(expected, instance->edit, "instance '" + instance->instance_id + "'"); !same)
      return std::move(same).error();
    bool is_changed = false;
    for (const auto& [name, value] : tags) {
      auto changed = patch_tag(*instance, name, value, scope);
      if (!changed) return std::move(changed).error();
      is_changed = is_changed || *changed;
    }
    if (!is_changed) return instance;
    auto written = store.set_operator_tags(instance->key, instance->operator_tags, instance->tag_scopes);
    if (!written) return std::move(written).error();
    ++instance->edit;
    return instance;
  });
}

Result<domain::Instance> expect_instance(Store& store, const std::string& app_id,
                                         const std::string& instance_id, const std::string& token_hash,
                                         domain::Millis now) {
  return in_transaction(store, [&]() -> Result<domain::Instance> {
    if (auto app = store.find_app(app_id); !app) return std::move(app).error();
    auto known = store.find_known_instance(app_id, instance_id);
    if (!known) return std::move(known).error();
    auto enrolment = store.newest_enrolment(app_id, instance_id);
    if (!enrolment) return std::move(enrolment).error();
    if (*enrolment || (*known && ((*known)->pending == 0 || (*known)->token_hash.empty())))
      return Error(ErrorCode::exists, "there is an instance '" + instance_id + "' in app '" + app_id +
                                          "' already; forget it first (opsctl agent forget)");
    if (!*known) {
      auto added = store.add_instance(app_id, instance_id, token_hash, now);
      if (!added) return std::move(added).error();
      return store.find_instance(*added);
    }
    const domain::InstanceKey key = (*known)->key;
    if (auto set = store.set_token_hash(key, token_hash); !set) return std::move(set).error();
    if (auto set = store.set_pending(key, 0, ""); !set) return std::move(set).error();
    return store.find_instance(key);
  });
}

Result<domain::Instance> approve_instance(Store& store, domain::InstanceKey key,
                                          std::string_view token_prefix) {
  return in_transaction(store, [&]() -> Result<domain::Instance> {
    auto instance = store.find_instance(key);
    if (!instance) return instance;
    if (instance->pending == 0)
      return Error(ErrorCode::exists,
                   "instance '" + instance->instance_id + "' does not wait to be approved");
    if (!token_prefix.empty() && !instance->token_prefix.starts_with(token_prefix.substr(0, 16)))
      return Error(ErrorCode::exists, "instance '" + instance->instance_id + "' waits with another token, " +
                                          instance->token_prefix + "…");
    if (auto set = store.set_pending(key, 0, ""); !set) return std::move(set).error();
    return store.find_instance(key);
  });
}

Result<void> forget_instance(Store& store, std::string_view app_id, std::string_view instance_id,
                             domain::Millis now) {
  return store.transact([&]() -> Result<void> {
    auto removed = store.remove_offline_instance(app_id, instance_id);
    if (!removed) return std::move(removed).error();
    if (*removed) return store.end_enrolments(app_id, instance_id, domain::kForgotten, now);
    auto there = store.find_instance(app_id, instance_id);
    if (!there) return std::move(there).error();
    return Error(ErrorCode::exists, "instance '" + std::string(instance_id) + "' is connected");
  });
}

Result<bool> put_facts(Store& store, domain::InstanceKey instance, const protocol::Facts& facts,
                       std::string_view base_hash) {
  if (facts.hash.size() > kLongestHash)
    return Error(ErrorCode::limit, "the hash of facts is longer than 256 bytes");
  return in_transaction(store, [&]() -> Result<bool> {
    std::optional<StoredFacts> present;
    if (!facts.full) {
      auto found = store.find_facts(instance);
      if (!found) return std::move(found).error();
      present = std::move(*found);
    }
    auto text = merged_facts(facts, present, base_hash);
    if (!text) return std::move(text).error();
    if (!*text) return false;
    if ((*text)->size() > kLargestFacts) return Error(ErrorCode::limit, "facts are larger than 1 MiB");
    if (auto stored = store.set_facts(instance, facts.hash, **text); !stored)
      return std::move(stored).error();
    return true;
  });
}

Result<bool> put_facts(Store& store, const domain::AgentSession& session,
                       std::span<const protocol::Facts> facts) {
  return in_transaction(store, [&]() -> Result<bool> {
    auto is_current = store.is_current(session);
    if (!is_current || !*is_current) return is_current;
    for (const protocol::Facts& each : facts) {
      auto put = put_facts(store, session.instance, each, "");
      if (!put || !*put) return put;
    }
    return true;
  });
}

}  // namespace backend::store
