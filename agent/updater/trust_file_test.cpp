#include "agent/updater/trust_file.hpp"

#include <doctest/doctest.h>

#include "tests/support/release_documents.hpp"
#include "tests/support/scratch_folder.hpp"

using agent::updater::load_trust;
using agent::updater::raise_floor;
using agent::updater::store_trust;
using tests::ScratchFolder;

namespace {

void pin_root(const ScratchFolder& state) {
  const release::SigningKey key = release::testing::new_key();
  state.write("update/root.json", write(release::testing::root_of(1, {&key}, 1, {&key}, {&key})));
}

}  // namespace

TEST_CASE("a machine without release keys says where they belong") {
  const ScratchFolder state;
  const auto trust = load_trust(state.path());
  REQUIRE_FALSE(trust);
  CHECK(trust.error().message().find(state / "update/root.json") != std::string::npos);
}

TEST_CASE("trust begins with the pinned root, and goes on with what was kept") {
  const ScratchFolder state;
  pin_root(state);
  auto trust = load_trust(state.path());
  REQUIRE(trust);
  CHECK(trust->memory().floor == 0);
  CHECK(trust->next_root() == 2);
  REQUIRE(store_trust(state.path(), *trust));
  // From now on the memory counts, not the file that it was made from.
  state.write("update/root.json", "rubbish");
  CHECK(load_trust(state.path()));
}

TEST_CASE("the floor rises and never falls") {
  const ScratchFolder state;
  pin_root(state);
  REQUIRE(raise_floor(state.path(), 7));
  CHECK(load_trust(state.path())->memory().floor == 7);
  REQUIRE(raise_floor(state.path(), 5));
  CHECK(load_trust(state.path())->memory().floor == 7);
}

TEST_CASE("a damaged memory is an error, not a new beginning") {
  const ScratchFolder state;
  pin_root(state);
  REQUIRE(raise_floor(state.path(), 7));
  std::string text = state.read("update/trusted");
  text[text.find("floor 7") + 6] = '1';
  state.write("update/trusted", text);
  CHECK_FALSE(load_trust(state.path()));
  CHECK_FALSE(raise_floor(state.path(), 8));
}
