#include "transport/server/guests.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace transport;

namespace {

struct Bench {
  explicit Bench(Guests::Limits limits) : guests(limits) {}

  // One that says nothing.
  Guests::Verdict arrive(const std::string& address, bool is_known = false, std::size_t others = 0) {
    const auto verdict = guests.arrive(++last, address, is_known, others, now);
    guests.waits(last, now, 2s);
    return verdict;
  }
  int let_in(const std::string& address, int count) {
    int entered = 0;
    for (int i = 0; i < count; ++i)
      entered += arrive(address).may_enter ? 1 : 0;
    return entered;
  }

  Guests guests;
  Guests::TimePoint now;
  Guests::Id last = 0;
};

}  // namespace

TEST_CASE("one address has a limit, and replaces its own when they have had their time") {
  Bench bench({.most = 100, .of_address = 3, .reserved = 0});
  CHECK(bench.let_in("a", 5) == 3);
  CHECK(bench.let_in("b", 1) == 1);
  bench.now += 2s;
  const auto verdict = bench.arrive("a");
  CHECK(verdict.may_enter);
  CHECK(verdict.gives_way == Guests::Id{1});
  // Somebody for whom something is done is left alone.
  bench.guests.is_busy(2);
  CHECK(bench.arrive("a").gives_way == Guests::Id{3});
  CHECK(bench.guests.size() == 4);
}

TEST_CASE("when all places are taken the oldest of the busiest address gives way to a quieter one, at once") {
  Bench bench({.most = 10, .of_address = 8, .reserved = 0});
  CHECK(bench.let_in("a", 8) == 8);
  CHECK(bench.let_in("b", 2) == 2);
  CHECK(bench.arrive("c").gives_way == Guests::Id{1});
  CHECK(bench.arrive("b").gives_way == Guests::Id{2});
  // Not the busiest address itself: it only replaces its own, later.
  CHECK_FALSE(bench.arrive("a").may_enter);
  bench.now += 2s;
  CHECK(bench.arrive("a").gives_way == Guests::Id{3});
  CHECK(bench.guests.size() == 10);
}

TEST_CASE("who is no guest any more still counts in all, and nobody can be made to give way for it") {
  Bench bench({.most = 10, .of_address = 8, .reserved = 0});
  CHECK_FALSE(bench.arrive("a", false, 10).may_enter);
  CHECK(bench.arrive("a", false, 9).may_enter);
  bench.guests.is_busy(bench.last);
  CHECK_FALSE(bench.arrive("b", false, 9).may_enter);
  bench.guests.leave(2);
  CHECK(bench.arrive("b", false, 9).may_enter);
}

TEST_CASE("the last places are for addresses that are known") {
  Bench bench({.most = 10, .of_address = 10, .reserved = 2});
  CHECK(bench.let_in("a", 10) == 8);
  CHECK(bench.arrive("agents", true).may_enter);
  CHECK(bench.arrive("agents", true).may_enter);
  CHECK(bench.guests.size() == 10);
}

TEST_CASE("without descriptors the longest-standing of the busiest address leaves, if anybody can") {
  Bench bench({});
  CHECK_FALSE(bench.guests.make_room());
  bench.let_in("a", 1);
  bench.let_in("b", 2);
  CHECK(bench.guests.make_room() == Guests::Id{2});
  CHECK(bench.guests.make_room() == Guests::Id{3});
  bench.guests.is_busy(1);
  CHECK_FALSE(bench.guests.make_room());
  bench.guests.leave(1);
  CHECK(bench.guests.size() == 0);
}

TEST_CASE("of any number of addresses so many are remembered, the most recent, for so long") {
  KnownAddresses known(3, 1h);
  KnownAddresses::TimePoint now;
  for (const char* address : {"a", "b", "c"})
    known.note(address, now);
  known.note("a", now += 1min);
  known.note("d", now);
  CHECK(known.has("a", now));
  CHECK_FALSE(known.has("b", now));
  CHECK(known.has("c", now));
  CHECK(known.has("d", now));
  CHECK(known.size() == 3);
  CHECK_FALSE(known.has("c", now + 59min));
  CHECK(known.has("d", now + 59min));
  CHECK_FALSE(known.has("d", now + 60min));
}
