// Compiled alone: its names are those of other tests.
#include "transport/server/handshakes.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace transport;

namespace {

using Ids = std::vector<Handshakes::Id>;

// Places and a clock. Each that asks has the next number.
struct Bench {
  explicit Bench(Handshakes::Limits limits) : handshakes(limits) {}

  Handshakes::Id ask(const std::string& address, bool is_known = false) {
    handshakes.ask(++last, address, is_known);
    return last;
  }
  Ids ask(const std::string& address, int count, bool is_known = false) {
    Ids ids;
    for (int i = 0; i < count; ++i)
      ids.push_back(ask(address, is_known));
    return ids;
  }
  Handshakes::Decision decide(std::chrono::milliseconds later = 0ms) {
    return handshakes.decide(now += later);
  }

  Handshakes handshakes;
  Handshakes::TimePoint now;
  Handshakes::Id last = 0;
};

constexpr Handshakes::Limits kSmall = {.most = 8, .of_address = 4, .reserved = 2, .patience = 2s};

}  // namespace

TEST_CASE("handshakes begin at once while there are places, and one address has its share of them") {
  Bench bench(kSmall);
  const Ids of_a = bench.ask("a", 6);
  const auto first = bench.decide();
  CHECK(first.begin == Ids(of_a.begin(), of_a.begin() + 4));
  CHECK(first.give_way.empty());
  CHECK(bench.handshakes.waiting() == 2);
  const auto of_b = bench.ask("b");
  CHECK(bench.decide().begin == Ids{of_b});
  bench.handshakes.leave(of_a[2]);
  CHECK(bench.decide().begin == Ids{of_a[4]});
}

TEST_CASE("who hangs gives way to the next of its address when its time is over, the oldest first") {
  Bench bench(kSmall);
  const Ids of_a = bench.ask("a", 4);
  bench.decide();
  const auto next = bench.ask("a");
  CHECK(bench.decide(1999ms).begin.empty());
  const auto later = bench.decide(1ms);
  CHECK(later.give_way == Ids{of_a[0]});
  CHECK(later.begin == Ids{next});
}

TEST_CASE("an address that has none gets a place at once: the oldest of the busiest address gives way") {
  Bench bench(kSmall);
  const Ids of_a = bench.ask("a", 4);
  bench.decide();
  const Ids of_b = bench.ask("b", 2);
  CHECK(bench.decide(10ms).begin.size() == 2);  // all that strangers may have
  const auto of_c = bench.ask("c");
  const auto decision = bench.decide(10ms);
  CHECK(decision.give_way == Ids{of_a[0]});
  CHECK(decision.begin == Ids{of_c});
  // Until all have the same: then nobody gives way before its time.
  for (const char* address : {"d", "e", "f"}) {
    const auto id = bench.ask(address);
    CHECK(bench.decide(10ms).begin == Ids{id});
  }
  const auto of_g = bench.ask("g");
  CHECK(bench.decide(10ms).begin.empty());
  CHECK(bench.handshakes.under_way() == 6);
  const auto much_later = bench.decide(2s);
  CHECK(much_later.give_way == Ids{of_a[3]});
  CHECK(much_later.begin == Ids{of_g});
}

TEST_CASE("strangers do not get the last places, and known addresses do") {
  Bench bench(kSmall);
  for (const char* stranger : {"a", "b", "c", "d", "e", "f", "g"})
    bench.ask(stranger);
  CHECK(bench.decide().begin.size() == 6);
  const auto agent = bench.ask("agents", true);
  const auto decision = bench.decide();
  CHECK(decision.begin == Ids{agent});
  CHECK(decision.give_way.empty());
  CHECK(bench.handshakes.waiting() == 1);
}

TEST_CASE("addresses take turns, whoever came first") {
  Bench bench(kSmall);
  const Ids first = bench.ask("x", 4);
  const Ids second = bench.ask("y", 2);
  bench.decide();
  const Ids of_a = bench.ask("a", 100);
  const auto of_b = bench.ask("b");
  const auto of_c = bench.ask("c");
  for (const auto id : first)
    bench.handshakes.leave(id);
  const auto decision = bench.decide();
  CHECK(decision.begin == Ids{of_a[0], of_b, of_c, of_a[1]});
  CHECK(decision.give_way.empty());
}

TEST_CASE("who waits no longer is not begun, and leaving twice does no harm") {
  Bench bench(kSmall);
  const Ids of_a = bench.ask("a", 6);
  bench.decide();
  bench.handshakes.leave(of_a[4]);
  bench.handshakes.leave(of_a[4]);
  bench.handshakes.leave(of_a[0]);
  bench.handshakes.leave(of_a[0]);
  CHECK(bench.decide().begin == Ids{of_a[5]});
  for (const auto id : of_a)
    bench.handshakes.leave(id);
  CHECK(bench.decide().begin.empty());
  CHECK(bench.handshakes.under_way() == 0);
  CHECK(bench.handshakes.waiting() == 0);
}

TEST_CASE("with any number that hang, one address of another gets through at once, every time") {
  Bench bench({});
  for (int second = 0; second < 20; ++second) {
    bench.ask("attacker", 500);
    bench.decide(500ms);
    const auto agent = bench.ask("agent");
    const auto decision = bench.decide(500ms);
    CHECK(std::ranges::find(decision.begin, agent) != decision.begin.end());
    CHECK(bench.handshakes.under_way() <= 256);
    bench.handshakes.leave(agent);
  }
}

TEST_CASE("deciding among very many addresses is quick") {
  Bench bench({});
  for (int i = 0; i < 20'000; ++i)
    bench.ask(std::to_string(i), 2);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i)
    bench.decide(1ms);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}
