// TokenCache: the operators' tokens that are good now, in memory.
//
// The store's rows are the truth. All changes of them pass through this process, which updates the cache
// after the commit. So a call costs no look into the store, wrong tokens least of all, and a revoked token is
// dead at once. A second process that changes tokens would not be seen: docs/architecture.md, "What assumes
// one process". Belongs to the loop's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/api/callers/caller.hpp"
#include "backend/domain/access/identity.hpp"

namespace backend::api {

class TokenCache {
 public:
  struct Entry {
    Caller caller;
    std::string secret_hash;
    domain::Millis expires = 0;  // 0: never
    domain::Millis last_used = 0;
  };

  // One whose role or scope is not understood is left out: it must not reach more than was meant.
  void put(const domain::OperatorToken& token);
  void remove(const std::string& id) { entries_.erase(id); }

  // The token that this text is; null when it is none, or none any more.
  Entry* find(std::string_view text, domain::Millis now);
  bool is_good(const std::string& id, domain::Millis now) const;
  // Whether its use is to be noted again; it is then taken for noted.
  bool is_due(const std::string& id, domain::Millis now);

 private:
  std::unordered_map<std::string, Entry> entries_;
};

// "viewer", "operator", "admin"; nothing for others.
std::optional<Role> role_of(std::string_view name);
std::string_view name_of(Role role);

}  // namespace backend::api
