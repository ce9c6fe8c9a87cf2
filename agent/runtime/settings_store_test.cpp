#include "agent/runtime/settings_store.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using namespace agent;
using namespace agent::runtime;
using namespace std::chrono_literals;

TEST_CASE("settings that were not confirmed are gone after a restart") {
  const tests::ScratchFolder scratch;
  const RemoteSettings first{.ws_uris = {"wss://a/agent/"}, .round_delay = 30s};
  {
    SettingsStore store(scratch / "settings");
    REQUIRE(store.load());
    REQUIRE(store.propose(first));
    CHECK(store.in_use() == first);
    REQUIRE(store.confirm());
    CHECK(!store.has_candidate());
    REQUIRE(store.propose({.ws_uris = {"wss://b/agent/"}}));
    CHECK(store.in_use().ws_uris.front() == "wss://b/agent/");
    CHECK(store.in_use().round_delay == 30s);  // what it leaves out stays
  }
  SettingsStore again(scratch / "settings");
  const auto reverted = again.load();
  REQUIRE(reverted);
  CHECK(*reverted);
  CHECK(again.in_use() == first);
  SettingsStore third(scratch / "settings");
  CHECK(*third.load() == false);
}

TEST_CASE("settings that do not work are reverted") {
  const tests::ScratchFolder scratch;
  SettingsStore store(scratch / "settings");
  REQUIRE(store.propose({.ws_uris = {"wss://b/agent/"}, .heartbeat = 10s}));
  REQUIRE(store.revert());
  CHECK(store.in_use() == RemoteSettings{});
}

TEST_CASE("stored addresses that may not be used any more are forgotten, on disk too, and the rest stays") {
  const tests::ScratchFolder scratch;
  {
    SettingsStore store(scratch / "settings");
    REQUIRE(store.propose({.ws_uris = {"ws://127.0.0.1:9/", "wss://b.example.com/"}, .round_delay = 30s}));
    REQUIRE(store.confirm());
  }
  const auto refuse = [](const std::string& uri) {
    return uri.starts_with("ws:") ? std::optional<std::string>("plain") : std::nullopt;
  };
  SettingsStore store(scratch / "settings");
  REQUIRE(store.load());
  const auto dropped = store.drop_uris(refuse);
  REQUIRE(dropped);
  REQUIRE(dropped->size() == 1);
  CHECK(dropped->front().uri == "ws://127.0.0.1:9/");
  CHECK(dropped->front().why == "plain");
  SettingsStore again(scratch / "settings");
  REQUIRE(again.load());
  CHECK(again.in_use().ws_uris == std::vector<std::string>{"wss://b.example.com/"});
  CHECK(again.in_use().round_delay == 30s);
  CHECK(again.drop_uris(refuse)->empty());
}
