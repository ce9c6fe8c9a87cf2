#include "backend/domain/reports/history_rules.hpp"

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/token.hpp"

namespace backend::domain {

namespace {

constexpr std::size_t kChainDigits = 16;
constexpr std::size_t kSealDigits = 32;

// Twice, so that nobody can put something behind a text whose hash they have.
std::string seal_of(std::string_view text, const std::string& key) {
  return base::sha256_hex(key + base::sha256_hex(key + std::string(text))).substr(0, kSealDigits);
}

}  // namespace

std::string mark_text(const StoreHistory& history, const AuditHead& head) {
  const std::string text =
      history.id + "." + std::to_string(head.id) + "." + head.chain.substr(0, kChainDigits);
  return text + "." + seal_of(text, history.key);
}

std::optional<HistoryMark> read_mark(std::string_view text, const StoreHistory& history) {
  const auto parts = base::split(text, '.');
  if (parts.size() != 4 || history.key.empty()) return std::nullopt;
  const std::string_view sealed = text.substr(0, text.size() - parts[3].size() - 1);
  if (!base::equal_in_constant_time(parts[3], seal_of(sealed, history.key))) return std::nullopt;
  const auto id = base::parse_integer(parts[1]);
  if (!id) return std::nullopt;
  return HistoryMark{std::string(parts[0]), *id, std::string(parts[2])};
}

bool is_of(const HistoryMark& mark, std::string_view chain) {
  if (mark.audit_id == 0) return true;  // from before the first row
  return chain.substr(0, kChainDigits) == mark.chain;
}

}  // namespace backend::domain
