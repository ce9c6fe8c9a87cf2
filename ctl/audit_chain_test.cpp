#include "ctl/audit_chain.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "base/sha256.hpp"
#include "ctl/api.hpp"

namespace {

// Rows as the API shows them, chained by hand: the format is written out here once more.
struct Rows {
  Rows() {
    std::string chain(64, '0');
    for (int id = 1; id <= 5; ++id) {
      const std::string number = std::to_string(id);
      chain = base::sha256_hex(chain + "1:" + number + ",13:1767225600123,3:ann,8:10.0.0.7,4:test,3:ü\"," +
                               "0:,2:ok,");
      rows.push_back(R"({"id":)" + number +
                     R"(,"at":"2026-01-01T00:00:00.123Z","actor":"ann","from":"10.0.0.7","action":"test",)" +
                     R"("object":"ü\"","detail":"","result":"ok","chain":")" + chain + "\"}");
      chains.push_back(chain);
    }
    head = R"({"id":5,"chain":")" + chain + "\"}";
  }
  // What is wrong with them; "" when nothing is.
  std::string check(const std::string& noted = {}) {
    ctl::AuditChain chain(noted);
    for (const std::string& row : rows)
      if (!chain.take(ctl::Document(row).root())) return chain.problem();
    return chain.finish(ctl::Document(head).root()) ? "" : chain.problem();
  }
  std::vector<std::string> rows, chains;
  std::string head;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a chain that nobody touched is intact, and has the heads that were noted on the way") {
  Rows rows;
  CHECK(rows.check() == "");
  CHECK(rows.check(rows.chains[4]) == "");
  CHECK(rows.check(rows.chains[2]) == "");
  CHECK(rows.check(std::string(64, 'a')).find("is not in this chain") != std::string::npos);
}

TEST_CASE("an edited row is named") {
  Rows rows;
  replace(rows.rows[2], "ann", "bob");
  CHECK(rows.check().find("row 3 is not as it was written") == 0);
  Rows times;
  replace(times.rows[0], "00.123Z", "00.124Z");
  CHECK(times.check().find("row 1 ") == 0);
}

TEST_CASE("a removed row is named by the one that does not follow") {
  Rows rows;
  rows.rows.erase(rows.rows.begin() + 2);
  CHECK(rows.check() == "row 4 does not follow row 2: what was between them is missing");
  Rows first;
  first.rows.erase(first.rows.begin());
  CHECK(first.check().find("row 2 does not follow row 0") == 0);
}

TEST_CASE("a removed tail shows by the head that the backend remembers, or by one that was noted") {
  Rows rows;
  rows.rows.resize(3);
  CHECK(rows.check() == "the newest row is 3, and there was a row 5: the end is missing");
  rows.head = R"({"id":3,"chain":")" + rows.chains[2] + "\"}";  // whoever removed them has seen to that, too
  CHECK(rows.check() == "");
  CHECK(rows.check(rows.chains[4]).find("is not in this chain") != std::string::npos);
}
