// What the audit takes, and in which form. docs/backend.md has the rules.
//
// Rows about what was done are always taken. Of rows with the result "denied" only so many are: somebody who
// is refused all day must not fill the disk. Nothing here fails or blocks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/domain/limits/rate_limit.hpp"
#include "backend/domain/model.hpp"

namespace backend::domain {

// The longest field of a row. Bodies of requests end up in details: enough to see what was meant.
inline constexpr std::size_t kLongestAuditField = 4096;

// The row as the next one after `head`: its fields as text that JSON can carry as it is (what is hashed must
// be what everybody sees), its id and its chain.
AuditRow next_audit_row(const AuditHead& head, AuditRow row);

// Bounds refusals by who and what: some 4 MiB a day and key at the most. Agents are many, and what they say
// of themselves proves nothing: each is counted by what it has proved or where it comes from, so that none
// can use up what others' refusals are noted with; and all of them together have a bound too. One thread.
//
// In memory, so each process has a bound of its own (docs/architecture.md, "What assumes one process").
class RefusalLimit {
 public:
  // The row as it is to be added; nothing: it is counted instead. A row after some that were counted says
  // how many.
  // `peer`: of rows about an agent, whom they are counted to; "": its network (peer_network.hpp).
  std::optional<AuditRow> take(AuditRow row, std::string_view peer = {});
  // Rows about refusals that were counted and that no later row has told of.
  std::vector<AuditRow> take_missed(Millis now);

 private:
  RateLimit limit_{{.at_once = 100, .per_second = 0.1, .keys = 256}};
  RateLimit peers_{{.at_once = 20, .per_second = 0.1, .keys = 1024}};
  // Who has very many addresses gets no more than this: some 100 MiB a day.
  RateLimit all_peers_{{.at_once = 2000, .per_second = 2, .keys = 16}};
};

// The actor of rows that are about agents.
inline constexpr std::string_view kAgentActor = "agent";

// Bounds rows about what was read: one for each token, thing and hour, and for each token so many things:
// 200 at once and then one in 10 s. Beyond that they are counted, and the next row says how many. Whoever
// looks often, as a dashboard does, leaves a row an hour; whoever takes everything is seen to do so. In
// memory, as above. One thread.
class ReadLimit {
 public:
  enum class Verdict { note, known, counted };
  // `now` in milliseconds that do not go back.
  Verdict take(const std::string& token, const std::string& thing, Millis now);
  // It could not be noted: the next read is to be.
  void forget(const std::string& token, const std::string& thing);
  // For the row that is noted: how many of this token were counted since.
  std::uint64_t take_missed(const std::string& token) { return limit_.take_missed(token); }
  // By token, those that no later row has told of.
  std::vector<std::pair<std::string, std::uint64_t>> take_all_missed() { return limit_.take_all_missed(); }

  std::size_t size() const { return noted_.size(); }

 private:
  RateLimit limit_{{.at_once = 200, .per_second = 0.1, .keys = 1000}};
  std::map<std::pair<std::string, std::string>, Millis> noted_;  // until when there is a row of it
};

}  // namespace backend::domain
