#include "backend/domain/access/audit_rules.hpp"

#include "backend/domain/access/audit_chain.hpp"
#include "backend/domain/limits/peer_network.hpp"
#include "base/text.hpp"

namespace backend::domain {

namespace {

constexpr std::size_t kMostPeersTold = 64;

std::string presentable(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : base::utf8_length(text, at);
    if (clean.size() + length > kLongestAuditField) return clean + "…";
    if (length == 0 || text[at] == '\0')
      clean += '?';
    else
      clean.append(text, at, length);
    at += length == 0 ? 1 : length;
  }
  return clean;
}

}  // namespace

AuditRow next_audit_row(const AuditHead& head, AuditRow row) {
  for (std::string* field : {&row.actor, &row.from, &row.action, &row.object, &row.detail, &row.result})
    *field = presentable(*field);
  row.id = head.id + 1;
  row.chain = chain_after(head.chain, row);
  return row;
}

std::optional<AuditRow> RefusalLimit::take(AuditRow row, std::string_view peer) {
  if (row.result != kDenied) return row;
  const bool is_peer = row.actor == kAgentActor;
  std::string who = row.action + " by " + row.actor;
  RateLimit& limit = is_peer ? peers_ : limit_;
  const std::string all = who + "s";
  if (is_peer) who += " " + (peer.empty() ? "from " + network_of(row.from) : std::string(peer));
  if (!limit.take(who, row.at)) return std::nullopt;
  if (is_peer && !all_peers_.take(all, row.at)) return std::nullopt;
  if (const std::uint64_t missed = limit.take_missed(who); missed > 0)
    row.detail += (row.detail.empty() ? "(and " : " (and ") + std::to_string(missed) + " more before it)";
  return row;
}

std::vector<AuditRow> RefusalLimit::take_missed(Millis now) {
  std::vector<AuditRow> rows;
  std::vector<std::pair<std::string, std::uint64_t>> all = limit_.take_all_missed();
  // Not a row for each of very many peers: those are the attack.
  std::size_t told = 0;
  std::uint64_t others = 0;
  for (auto& each : peers_.take_all_missed()) {
    if (++told > kMostPeersTold)
      others += each.second;
    else
      all.push_back(std::move(each));
  }
  for (auto& each : all_peers_.take_all_missed())
    all.push_back(std::move(each));
  if (others > 0) all.emplace_back("other agents", others);
  for (const auto& [who, missed] : all) {
    AuditRow row{.at = now, .actor = "opsbackend", .action = "refusals", .object = who};
    row.detail = std::to_string(missed) + " more that were not noted one by one";
    row.result = kDenied;
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

constexpr Millis kReadsKnown = 3600 * 1000;
constexpr std::size_t kMostReadsKnown = 16'384;

}  // namespace

ReadLimit::Verdict ReadLimit::take(const std::string& token, const std::string& thing, Millis now) {
  const std::pair key(token, thing);
  if (const auto found = noted_.find(key); found != noted_.end() && found->second > now)
    return Verdict::known;
  if (!limit_.take(token, now)) return Verdict::counted;
  if (noted_.size() >= kMostReadsKnown)
    std::erase_if(noted_, [now](const auto& each) { return each.second <= now; });
  // Full of what is recent: rather a second row than a row too few.
  if (noted_.size() < kMostReadsKnown) noted_.insert_or_assign(key, now + kReadsKnown);
  return Verdict::note;
}

void ReadLimit::forget(const std::string& token, const std::string& thing) {
  noted_.erase(std::pair(token, thing));
}

}  // namespace backend::domain
