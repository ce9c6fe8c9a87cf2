#include "backend/domain/placement/placement_rules.hpp"

#include <doctest/doctest.h>

#include "tests/support/store_bench.hpp"

namespace {

using backend::domain::isolate_waits;
using backend::domain::PlacedInstance;
using backend::domain::PlacementCase;
using backend::domain::StateList;
using tests::must;

using List = std::shared_ptr<const StateList>;

List list(const std::string& json) {
  return must(backend::domain::read_states(json));
}
const std::string kWaitsForDb =
    R"([{"id":"w","module":"meta.wait","parameter":{"state":{"selector":"role=db","state_id":"y"}}},{"id":"x"}])";
const std::string kWaitsForWeb =
    R"([{"id":"v","module":"meta.wait","parameter":{"state":{"selector":"role=web","state_id":"x"}}},{"id":"y"}])";

PlacedInstance instance(const std::string& id, List states, const std::string& role) {
  return {id, {{"role", role}}, std::move(states)};
}

}  // namespace

TEST_CASE("a change is refused when it works for nobody whom it touches, and one of them was well") {
  struct Row {
    std::vector<PlacementCase> cases;
    std::optional<std::size_t> refusing;
  };
  const PlacementCase fine{.instance_id = "fine", .is_touched = true};
  const PlacementCase bad{.instance_id = "bad", .problem = "twice", .is_touched = true};
  const PlacementCase rejected{
      .instance_id = "old", .problem = "twice", .was_rejected = true, .is_touched = true};
  const PlacementCase elsewhere{.instance_id = "other", .problem = "twice"};
  const std::vector<Row> rows{
      {{}, {}},
      {{fine}, {}},
      {{bad}, 0},
      {{fine, bad}, {}},  // one machine freezes nobody
      {{bad, bad, fine}, {}},
      {{rejected}, {}},  // it was so before: the change did not do it
      {{rejected, bad}, 1},
      {{elsewhere}, {}},  // not what has changed
      {{elsewhere, fine}, {}},
      {{elsewhere, bad}, 1},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(backend::domain::refusing_case(rows[i].cases) == rows[i].refusing);
  }
}

TEST_CASE("suspects with which waits can never come true are left out, and only those") {
  const List web = list(kWaitsForDb), db = list(R"([{"id":"y"}])"), liar = list(kWaitsForWeb);
  std::vector<PlacedInstance> all{instance("web1", web, "web"), instance("db1", db, "db")};
  std::vector<bool> suspects{false, false};
  const std::vector<List> assigned{web, db, liar};
  const auto clean = must(isolate_waits("default", all, suspects, assigned));
  CHECK(clean == std::vector<std::string>(2));

  // Forty machines in doubt, and one of them makes a cycle with the others.
  for (int i = 0; i < 40; ++i) {
    all.push_back(instance("db" + std::to_string(i + 2), i == 17 ? liar : db, "db"));
    suspects.push_back(true);
  }
  const auto found = must(isolate_waits("default", all, suspects, assigned));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].instance_id);
    if (i == 19)
      CHECK(found[i].find("a wait that can never end: ") == 0);
    else
      CHECK(found[i].empty());
  }

  // What fails without them is the operator's to mend.
  suspects.assign(all.size(), false);
  CHECK_FALSE(isolate_waits("default", all, suspects, assigned));
}
