#include "backend/domain/reports/history_rules.hpp"

#include <doctest/doctest.h>

#include "backend/domain/access/audit_chain.hpp"
#include "protocol/ids.hpp"

using namespace backend::domain;

TEST_CASE("a mark says how far the audit had come, and only who has the key can make one") {
  const StoreHistory ours{.key = std::string(64, 'k'), .id = "0123456789abcdef"};
  const AuditHead head{.id = 120, .chain = std::string(64, 'c')};
  const std::string text = mark_text(ours, head);
  CHECK(protocol::problem_of_id(text).empty());
  const auto mark = read_mark(text, ours);
  REQUIRE(mark);
  CHECK(mark->history == ours.id);
  CHECK(mark->audit_id == 120);
  CHECK(is_of(*mark, head.chain));
  CHECK_FALSE(is_of(*mark, std::string(64, 'd')));
  CHECK_FALSE(is_of(*mark, ""));

  CHECK_FALSE(read_mark(text, {.key = std::string(64, 'x'), .id = ours.id}));
  CHECK_FALSE(read_mark(text, {.key = "", .id = ours.id}));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == '7' ? '8' : '7';
    CAPTURE(changed);
    CHECK_FALSE(read_mark(changed, ours));
    CHECK_FALSE(read_mark(text.substr(0, i), ours));
    CHECK_FALSE(read_mark(text + text.substr(0, i + 1), ours));
  }
}

TEST_CASE("a mark from before the first row of the audit is of every life of its database") {
  const StoreHistory ours{.key = "k", .id = "h"};
  const auto mark = read_mark(mark_text(ours, {.id = 0, .chain = std::string(kNoChain)}), ours);
  REQUIRE(mark);
  CHECK(is_of(*mark, ""));
}
