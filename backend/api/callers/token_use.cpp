#include "backend/api/callers/token_use.hpp"

namespace backend::api {

TokenUse::Amounts TokenUse::of(const std::string& token_id) const {
  const auto found = by_token_.find(token_id);
  return found == by_token_.end() ? Amounts() : found->second;
}

Share::Share(std::shared_ptr<TokenUse> use, std::string token_id, const TokenUse::Amounts& amounts)
    : use_(std::move(use)), token_id_(std::move(token_id)), amounts_(amounts) {
  TokenUse::Amounts& all = use_->by_token_[token_id_];
  all.calls += amounts_.calls;
  all.body_bytes += amounts_.body_bytes;
  all.answer_bytes += amounts_.answer_bytes;
}

Share::~Share() {
  const auto found = use_->by_token_.find(token_id_);
  if (found == use_->by_token_.end()) return;
  TokenUse::Amounts& all = found->second;
  all.calls -= amounts_.calls;
  all.body_bytes -= amounts_.body_bytes;
  all.answer_bytes -= amounts_.answer_bytes;
  if (all.calls == 0 && all.body_bytes == 0 && all.answer_bytes == 0) use_->by_token_.erase(found);
}

void Share::add_answer(std::size_t bytes) {
  amounts_.answer_bytes += bytes;
  use_->by_token_[token_id_].answer_bytes += bytes;
}

}  // namespace backend::api
