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
  CHECK(overlay.provider(EffectKind::package, "other")->state_id == "script");
  CHECK(overlay.provider(EffectKind::user, "bob")->state_id == "maker");
}

TEST_CASE("what a package brings is said to come from the state that installs it") {
  Overlay overlay;
  overlay.add("web", {{.kind = EffectKind::package, .name = "nginx"}});
  overlay.add("tools", {{.kind = EffectKind::package, .name = "vim"}});
  overlay.add("hosts-line", {{.kind = EffectKind::anything}});
  for (const char* unit : {"nginx", "nginx.service", "nginx@blue"})
    CHECK(overlay.provider(EffectKind::unit, unit)->state_id == "web");
  CHECK(overlay.provider(EffectKind::file, "/etc/nginx/nginx.conf")->state_id == "web");
  CHECK(overlay.provider(EffectKind::unit, "cron")->state_id == "tools");
}

TEST_CASE(
    "what is asked for and depends on an uncertain effect is in doubt, until somebody takes the doubt") {
  Overlay overlay;
  overlay.add("maybe", {{.kind = EffectKind::user, .name = "bob", .certain = false}});
  CHECK_FALSE(overlay.take_doubt());
  CHECK(overlay.find(EffectKind::user, "bob"));
  const Overlay::Entry* doubt = overlay.take_doubt();
  REQUIRE(doubt);
  CHECK(doubt->state_id == "maybe");
  CHECK_FALSE(overlay.take_doubt());
}

TEST_CASE("an effect on a folder counts for all that is below it") {
  using Answer = Overlay::Answer;
  using Use = Overlay::Use;
  Overlay overlay;
  const auto answer = [&](const char* path, Use use = Use::all) { return overlay.answer(path, use); };
  SUBCASE("gone") {
    overlay.add("made", {{.kind = EffectKind::file, .name = "/d/f"}});
    overlay.add("rm", {{.kind = EffectKind::directory, .name = "/d", .present = false}});
    CHECK(answer("/d") == Answer::missing);
    CHECK(answer("/d/f") == Answer::missing);
    CHECK(answer("/d/x/y") == Answer::missing);
    CHECK(answer("/dx") == Answer::as_it_is);
    CHECK_FALSE(overlay.path("/d/f"));
    SUBCASE("and made anew") {
      overlay.add("new", {{.kind = EffectKind::directory, .name = "/d"}});
      CHECK(answer("/d/f") == Answer::missing);
      CHECK(answer("/d", Use::way) == Answer::missing);  // there is nothing to be opened yet
    }
  }
  SUBCASE("a link that leads elsewhere") {
    overlay.add("move", {{.kind = EffectKind::link, .name = "/d"}});
    CHECK(answer("/d/f") == Answer::not_known);
    CHECK(overlay.take_doubt()->state_id == "move");
  }
  SUBCASE("other attributes") {
    overlay.add("chmod",
                {{.kind = EffectKind::directory, .name = "/d", .attributes_only = true, .below = true}});
    CHECK(answer("/d/f") == Answer::not_known);
    CHECK(answer("/d/f", Use::content) == Answer::as_it_is);
    CHECK(answer("/d/f", Use::way) == Answer::as_it_is);
  }
  SUBCASE("uncertain") {
    overlay.add("made", {{.kind = EffectKind::file, .name = "/d/f"}});
    overlay.add("maybe", {{.kind = EffectKind::directory, .name = "/d", .certain = false}});
    CHECK(answer("/d/f") == Answer::not_known);
    CHECK(overlay.path("/d/f")->state_id == "maybe");
  }
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

TEST_CASE("what packages may bring is not known to be missing, where they put files") {
  Overlay overlay;
  CHECK_FALSE(overlay.may_appear("/etc/nginx/nginx.conf", false));
  overlay.add("web", {{.kind = EffectKind::package, .name = "nginx"}});
  CHECK(overlay.may_appear("/etc/nginx/nginx.conf", false));
  CHECK(overlay.take_doubt()->state_id == "web");
  CHECK(overlay.may_appear("/etc/default/nginx", true));    // its own name, in a folder that is there
  CHECK(overlay.may_appear("/etc/other/file", false));      // a folder that a dependency may bring
  CHECK(overlay.may_appear("/etc/plan.conf.d", true));      // as a package may call its own
  CHECK(overlay.may_appear("/etc/ssh/sshd_config", true));  // in a folder of packages that are here
  CHECK(overlay.may_appear("/etc/apt/apt.conf.d/50nginx", true));
  CHECK(overlay.may_appear("/etc/sysctl.d/20-nginx.conf", true));
  CHECK(overlay.take_doubt()->state_id == "web");
  CHECK_FALSE(overlay.take_remark());
  // Folders that are shared have files named after their packages. Who must know for certain is told.
  for (const char* path : {"/etc/cron.d/backup", "/etc/cron.d/mynginx", "/etc/systemd/system/app.service"}) {
    CHECK_FALSE(overlay.may_appear(path, true));
    CHECK_FALSE(overlay.take_doubt());
    REQUIRE(overlay.take_remark());
  }
  for (const char* path : {"/srv/nginx/conf", "/home/nginx/x", "/usr/local/nginx/x", "/var/lib/apt/nginx"})
    CHECK_FALSE(overlay.may_appear(path, false));
  CHECK_FALSE(overlay.take_remark());
  // What a later state removes is gone.
  overlay.add("clean", {{.kind = EffectKind::directory, .name = "/etc/nginx", .present = false}});
  CHECK_FALSE(overlay.may_appear("/etc/nginx/nginx.conf", false));
  CHECK_FALSE(overlay.take_doubt());
}

}  // namespace states
