#include "states/overlay.hpp"

#include <doctest/doctest.h>

namespace states {

TEST_CASE("an empty overlay knows and provides nothing") {
  const Overlay overlay;
  CHECK(overlay.empty());
  CHECK_FALSE(overlay.path("/a"));
  CHECK_FALSE(overlay.find(EffectKind::user, "a"));
  CHECK_FALSE(overlay.provider(EffectKind::user, "a"));
}

TEST_CASE("an effect is found by its kind and name, with the state that has it") {
  Overlay overlay;
  overlay.add("one",
              {{.kind = EffectKind::user, .name = "bob"}, {.kind = EffectKind::package, .name = "vim"}});
  CHECK_FALSE(overlay.empty());
  REQUIRE(overlay.find(EffectKind::user, "bob"));
  CHECK(overlay.find(EffectKind::user, "bob")->state_id == "one");
  CHECK(overlay.find(EffectKind::package, "vim"));
  CHECK_FALSE(overlay.find(EffectKind::group, "bob"));
  CHECK_FALSE(overlay.find(EffectKind::unit, "vim"));
  CHECK_FALSE(overlay.find(EffectKind::user, "bo"));
  CHECK_FALSE(overlay.path("bob"));
}

TEST_CASE("files, directories and links are all paths") {
  Overlay overlay;
  overlay.add("one",
              {{.kind = EffectKind::directory, .name = "/d"}, {.kind = EffectKind::link, .name = "/l"}});
  REQUIRE(overlay.path("/d"));
  CHECK(overlay.path("/d")->effect.kind == EffectKind::directory);
  REQUIRE(overlay.find(EffectKind::file, "/l"));
  CHECK(overlay.find(EffectKind::file, "/l")->effect.kind == EffectKind::link);
}

TEST_CASE("the last state that touches a thing is the one that counts") {
  Overlay overlay;
  overlay.add("maker", {{.kind = EffectKind::file, .name = "/f"}});
  overlay.add("remover", {{.kind = EffectKind::file, .name = "/f", .present = false}});
  REQUIRE(overlay.path("/f"));
  CHECK(overlay.path("/f")->state_id == "remover");
  CHECK_FALSE(overlay.path("/f")->effect.present);
}

TEST_CASE("what is missing may come from its own state, from a command or from a package") {
  Overlay overlay;
  overlay.add("maker", {{.kind = EffectKind::user, .name = "bob"}});
  REQUIRE(overlay.provider(EffectKind::user, "bob"));
  CHECK(overlay.provider(EffectKind::user, "bob")->state_id == "maker");
  CHECK_FALSE(overlay.provider(EffectKind::user, "alice"));

  overlay.add("installer", {{.kind = EffectKind::package, .name = "nginx"}});
  for (const EffectKind kind : {EffectKind::user, EffectKind::group, EffectKind::unit, EffectKind::file}) {
    REQUIRE(overlay.provider(kind, "other"));
    CHECK(overlay.provider(kind, "other")->state_id == "installer");
  }
  CHECK_FALSE(overlay.provider(EffectKind::package, "other"));

  overlay.add("script", {{.kind = EffectKind::anything}});
  for (const EffectKind kind : {EffectKind::user, EffectKind::package, EffectKind::file})
    CHECK(overlay.provider(kind, "other")->state_id == "script");
  CHECK(overlay.provider(EffectKind::user, "bob")->state_id == "maker");
}

TEST_CASE("a package that would be removed provides nothing") {
  Overlay overlay;
  overlay.add("remover", {{.kind = EffectKind::package, .name = "nginx", .present = false}});
  CHECK_FALSE(overlay.provider(EffectKind::unit, "nginx.service"));
}

TEST_CASE("what an earlier state removes is not provided by another one") {
  Overlay overlay;
  overlay.add("script", {{.kind = EffectKind::anything}});
  overlay.add("remover", {{.kind = EffectKind::file, .name = "/f", .present = false}});
  CHECK_FALSE(overlay.provider(EffectKind::file, "/f"));
}

TEST_CASE("a command makes the overlay count, though it has no entry") {
  Overlay overlay;
  overlay.add("script", {{.kind = EffectKind::anything}});
  CHECK_FALSE(overlay.empty());
}

}  // namespace states
