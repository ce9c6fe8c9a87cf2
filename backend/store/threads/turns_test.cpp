#include "backend/store/threads/turns.hpp"

#include <doctest/doctest.h>

TEST_CASE("who asks for much waits for its own, and the others do not wait for it") {
  backend::store::Turns<std::string> turns;
  for (int i = 1; i <= 4; ++i)
    turns.push("greedy", "g" + std::to_string(i));
  turns.push("ann", "a1");
  turns.push("bob", "b1");
  turns.push("ann", "a2");
  CHECK(turns.size() == 7);
  std::string order;
  while (!turns.empty())
    order += turns.pop() + " ";
  CHECK(order == "g1 a1 b1 g2 a2 g3 g4 ");
}

TEST_CASE("what one asks for is done in its order") {
  backend::store::Turns<int> turns;
  for (int i = 0; i < 3; ++i)
    turns.push("", i);
  CHECK(turns.pop() == 0);
  turns.push("", 3);
  for (int i = 1; i < 4; ++i)
    CHECK(turns.pop() == i);
  CHECK(turns.empty());
}
