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
