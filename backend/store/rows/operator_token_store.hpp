// OperatorTokenStore: the rows of operators' tokens. See store.hpp for threads and errors.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backend/domain/access/identity.hpp"
#include "base/result.hpp"

namespace backend::store {

class OperatorTokenStore {
 public:
  virtual ~OperatorTokenStore() = default;

  virtual base::Result<domain::Page<domain::OperatorToken>> list_tokens(
      const domain::PageRequest& page) = 0;  // newest first
  // Those that are neither revoked nor expired.
  virtual base::Result<std::vector<domain::OperatorToken>> live_tokens(domain::Millis now) = 0;
  virtual base::Result<std::size_t> count_live_tokens(domain::Millis now) = 0;
  virtual base::Result<std::optional<domain::OperatorToken>> find_token(std::string_view id) = 0;
  // The one that has the name: not revoked, maybe expired.
  virtual base::Result<std::optional<domain::OperatorToken>> token_named(std::string_view name) = 0;
  virtual base::Result<void> insert_token(const domain::OperatorToken& token) = 0;
  virtual base::Result<void> set_token_revoked(std::string_view id, domain::Millis now) = 0;
  virtual base::Result<void> note_token_use(std::string_view id, domain::Millis now) = 0;
};

}  // namespace backend::store
