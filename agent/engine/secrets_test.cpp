#include "agent/engine/secrets.hpp"

#include <doctest/doctest.h>

#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent;
using namespace agent::engine;

std::shared_ptr<const recipe::Recipe> with_password(const std::string& password) {
  return recipe::load_text("test.yaml",
                           "states: [{ id: u, module: linux.user, parameter: { username: u, password: " +
                               password + " } }]",
                           tests::engine_registry())
      .recipe;
}

}  // namespace

TEST_CASE("secrets of recipes that are long replaced are forgotten; those of the last two are hidden") {
  tests::WorkerBench bench;  // below a root, where no account is touched
  const auto redactor = std::make_shared<base::Redactor>();
  redactor->add("for-ever-hidden");
  Worker worker(bench.settings(), redactor);
  std::int64_t version = 0;
  for (const char* password : {"first-secret", "second-secret", "third-secret"}) {
    worker.commands().push(RunRecipe{.recipe = with_password(password), .version = ++version});
    while (auto event = worker.events().pop())
      if (const auto* end = std::get_if<RoundEnd>(&*event); end && end->version == version) break;
  }
  CHECK(redactor->redact("third-secret second-secret first-secret for-ever-hidden") ==
        "*** *** first-secret ***");
}

TEST_CASE("secrets of a recipe that was only planned are forgotten with the next plan") {
  tests::WorkerBench bench;
  const auto redactor = std::make_shared<base::Redactor>();
  Worker worker(bench.settings(), redactor);
  for (const char* password : {"first-secret", "second-secret"}) {
    worker.commands().push(PlanRecipe{.recipe = with_password(password)});
    while (auto event = worker.events().pop())
      if (std::holds_alternative<PlanResult>(*event)) break;
  }
  CHECK(redactor->redact("second-secret first-secret") == "*** first-secret");
}

namespace {

std::shared_ptr<const recipe::Recipe> recipe_of(const std::string& state) {
  auto loaded = recipe::load_text("test.yaml", "states: [" + state + "]", tests::engine_registry());
  for (const auto& problem : loaded.problems)
    MESSAGE(recipe::describe(problem, "test"));
  REQUIRE(loaded.recipe);
  return loaded.recipe;
}

}  // namespace

TEST_CASE("the values of a sensitive state are secrets, in whatever shape they are written") {
  const auto command = [](const std::string& parameter) {
    return "{ id: c, sensitive: true, module: linux.cmd, parameter: { cmd: 'true', " + parameter + " } }";
  };
  const std::string rows[] = {
      command("env: [{ key: TOKEN, value: hunter22 }]"),
      command("env: 'HOME=/root TOKEN=hunter22'"),
      command("env: { TOKEN: hunter22 }"),
      command("env: { key: hunter22 }"),
      command("env: { value: hunter22 }"),
      command("env: [{ TOKEN: hunter22 }]"),
      command("env: [{ key: hunter22 , other: x }, TOKEN=hunter22]"),
      "{ id: c, sensitive: true, module: linux.cmd, parameter: { cmd: hunter22 } }",
      "{ id: c, sensitive: true, module: linux.cmd, parameter: { cmd: [x, hunter22] } }",
      "{ id: j, sensitive: true, module: linux.cronjob, parameter: { cmd: hunter22 } }",
      "{ id: j, sensitive: true, module: linux.cronjob, parameter: { cmd: [/bin/true, hunter22] } }",
      "{ id: f, sensitive: true, module: linux.file, parameter: { path: /f, content: hunter22 } }",
      "{ id: s, sensitive: true, module: linux.service, parameter: { name: { ssh: hunter22 } } }",
      "{ id: u, module: linux.user, parameter: { username: u, password: hunter22 } }"};
  for (const std::string& row : rows) {
    base::Redactor redactor;
    follow_secrets(nullptr, *recipe_of(row), redactor);
    CHECK_MESSAGE(redactor.redact("said hunter22, no more") == "said ***, no more", row);
  }
  base::Redactor redactor;
  follow_secrets(nullptr,
                 *recipe_of(command("env: [{ key: PIN, value: 12345678 }, { key: K, value: 1.5e77 }]")),
                 redactor);
  CHECK(redactor.redact("12345678 1.5e77") == "*** ***");
}

TEST_CASE("what a sensitive state is about stays readable") {
  const char* rows[] = {
      "{ id: d, sensitive: true, module: linux.dir, parameter: { path: [/srv/secret-place] } }",
      "{ id: p, sensitive: true, module: linux.apt.package, parameter: { name: { nginx-full: 1.2.3-4 } } }",
      "{ id: c, sensitive: true, module: linux.cmd, parameter: { cmd: 'true', if-path-absent: "
      "/srv/secret-place, "
      "env: { NGINX_FULL: x } } }",
      "{ id: u, sensitive: true, module: linux.user, parameter: { username: nginx-full, password: x-y-z-12, "
      "groups: [nginx-full] "
      "} }"};
  for (const char* row : rows) {
    base::Redactor redactor;
    follow_secrets(nullptr, *recipe_of(row), redactor);
    CHECK(redactor.redact("/srv/secret-place nginx-full 1.2.3-4 NGINX_FULL") ==
          "/srv/secret-place nginx-full 1.2.3-4 NGINX_FULL");
  }
}

TEST_CASE("a value is hidden in a text that has its blanks made one") {
  base::Redactor redactor;
  follow_secrets(
      nullptr,
      *recipe_of("{ id: j, sensitive: true, module: linux.cronjob, parameter: { cmd: 'curl  -u  me:pw' } }"),
      redactor);
  CHECK(redactor.redact("* * * * * curl -u me:pw") == "* * * * * ***");
}

TEST_CASE("a secret that is a common word or short is hidden in its own state only, and a warning says so") {
  for (const char* common : {"state", "true", "changed", "linux", "command", "abc", "1234", "Password"}) {
    const auto recipe = recipe_of("{ id: u, module: linux.user, parameter: { username: u, password: '" +
                                  std::string(common) + "' } }, { id: c, module: meta.comment }");
    base::Redactor redactor;
    const auto warnings = follow_secrets(nullptr, *recipe, redactor);
    REQUIRE_MESSAGE(warnings.size() == 1, common);
    CHECK(
        warnings.front().starts_with("[u] a secret of this state is a common word, or shorter than 4 bytes"));
    CHECK(warnings.front().find("'" + std::string(common) + "'") == std::string::npos);
    const std::string text = "said: " + std::string(common) + ".";
    CHECK(hide_in_text(recipe->states()[0], redactor, text) == "said: ***.");
    CHECK(hide_in_text(recipe->states()[1], redactor, text) == text);
  }
}

TEST_CASE("settings of a sensitive state that say on or off are no reason to warn") {
  base::Redactor redactor;
  CHECK(
      follow_secrets(
          nullptr,
          *recipe_of("{ id: c, sensitive: true, module: linux.cmd, parameter: { cmd: /bin/run-it --now, env: "
                     "{ DEBUG: 1, QUIET: 'yes', TOKEN: hunter22 } } }"),
          redactor)
          .empty());
}
