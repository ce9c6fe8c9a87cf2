#include "update/machine.hpp"

#include <map>
#include <set>

#include <doctest/doctest.h>

using update::Event;
using update::Phase;
using update::Step;
using update::step;
using update::Todo;
using update::Transition;

namespace {

constexpr int kPhases = static_cast<int>(Phase::refused) + 1;
constexpr int kEvents = static_cast<int>(Event::restarted_as_new) + 1;

}  // namespace

TEST_CASE("every (phase, event) has one row or is refused") {
  std::map<std::pair<Phase, Event>, Step> rows;
  for (const Transition& row : update::transitions()) {
    const bool is_new = rows.emplace(std::pair(row.from, row.event), Step{row.to, row.todo}).second;
    CHECK_MESSAGE(is_new, name_of(row.from));
  }
  std::size_t refused = 0;
  for (int phase = 0; phase < kPhases; ++phase)
    for (int event = 0; event < kEvents; ++event) {
      const auto found = rows.find({static_cast<Phase>(phase), static_cast<Event>(event)});
      const auto taken = step(static_cast<Phase>(phase), static_cast<Event>(event));
      if (found == rows.end()) {
        ++refused;
        CHECK_FALSE(taken);
      } else {
        CHECK(taken == found->second);
      }
    }
  CHECK(rows.size() == 53);
  CHECK(refused == static_cast<std::size_t>(kPhases * kEvents) - rows.size());
}

TEST_CASE("an update that goes well walks the specification's steps") {
  const std::vector<std::pair<Event, Step>> way{
      {Event::asked, {Phase::requested, Todo::acknowledge}},
      {Event::begun, {Phase::metadata, Todo::read_documents}},
      {Event::trusted, {Phase::downloading, Todo::download}},
      {Event::downloaded, {Phase::verifying, Todo::verify}},
      {Event::verified, {Phase::staged, Todo::adopt}},
      {Event::adopted, {Phase::draining, Todo::drain}},
      {Event::drained, {Phase::armed, Todo::switch_current}},
      {Event::current_switched, {Phase::switched, Todo::leave}},
      {Event::left, {Phase::restarting, Todo::nothing}},
      {Event::restarted_as_new, {Phase::trial, Todo::watch_health}},
      {Event::healthy, {Phase::confirmed, Todo::settle}},
  };
  Phase phase = Phase::confirmed;  // of the one before
  for (const auto& [event, expected] : way) {
    const auto taken = step(phase, event);
    REQUIRE(taken);
    CHECK(*taken == expected);
    phase = taken->next;
  }
}

TEST_CASE("only what is closed gives way to another update") {
  for (int i = 0; i < kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    CHECK(step(phase, Event::asked).has_value() == is_closed(phase));
  }
}

TEST_CASE("a start finds a way on from every phase, as the version that can be running there") {
  for (int i = 0; i < kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    CHECK_MESSAGE(step(phase, Event::restarted_as_old), name_of(phase));
    // Before the switch the new version does not run, unless somebody starts it by hand.
    const auto as_new = step(phase, Event::restarted_as_new);
    REQUIRE_MESSAGE(as_new, name_of(phase));
    if (phase < Phase::armed) CHECK(*as_new == Step{Phase::failed, Todo::tell});
  }
}

TEST_CASE("everything but a trial can fail, and what is closed stays closed") {
  for (const Transition& row : update::transitions()) {
    if (row.event == Event::failed) CHECK(row.to == Phase::failed);
    if (row.event == Event::refused) CHECK(row.to == Phase::refused);
    if (is_closed(row.from) && row.event != Event::asked) CHECK(row.to == row.from);
    if (row.to == Phase::confirmed && row.from != Phase::confirmed) CHECK(row.event == Event::healthy);
  }
  CHECK_FALSE(step(Phase::trial, Event::failed));
}

TEST_CASE("from everywhere some closing phase can be reached") {
  for (int i = 0; i < kPhases; ++i) {
    std::set<Phase> reached{static_cast<Phase>(i)};
    for (std::size_t before = 0; before != reached.size();) {
      before = reached.size();
      for (const Transition& row : update::transitions())
        if (reached.contains(row.from) && row.event != Event::asked) reached.insert(row.to);
    }
    CHECK(std::ranges::any_of(reached, update::is_closed));
  }
}
