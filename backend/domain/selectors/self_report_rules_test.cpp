#include "backend/domain/selectors/self_report_rules.hpp"

#include <doctest/doctest.h>

namespace backend::domain {

namespace {

Instance machine(const std::string& id, Tags own, Tags given = {}, SelfTrust trust = SelfTrust::off) {
  Instance instance;
  instance.app_id = "shop";
  instance.instance_id = id;
  instance.agent_tags = std::move(own);
  instance.operator_tags = std::move(given);
  instance.facts = R"({"os":{"id":"debian"}})";
  instance.trust = trust;
  return instance;
}

Selector parsed(std::string_view text) {
  auto selector = Selector::parse(text);
  REQUIRE(selector);
  return *selector;
}

}  // namespace

TEST_CASE("what a machine says of itself does not select what it is given, unless the app relies on it") {
  struct Row {
    const char* selector;
    bool off, named, all;  // strict, under each
  };
  // It says role=pci and team=a; the operator has said role=web.
  const Tags own{{"role", "pci"}, {"tier", "pci"}}, given{{"role", "web"}};
  const Row rows[] = {
      {"role=web", true, true, true},        // the operator's wins
      {"role=pci", false, false, false},     //
      {"tier=pci", false, false, true},      //
      {"tag.tier=pci", false, false, true},  //
      {"tier!=pci", true, true, false},      // it cannot talk itself out of what is meant for others either
      {"not tier=pci", true, true, false},   //
      {"self.tier=pci", false, true, true},  //
      {"self.role=pci", false, true, true},  //
      {"self.tier!=pci", false, false, false},  // nor by a contrary
      {"self.tier!=x", false, true, true},      //
      {"not self.tier=x", false, true, true},   //
      {"fact.os.id=debian", false, true, true},
      {"not fact.os.id=debian", false, false, false},
      {"fact.os.id!=arch", false, true, true},
      {"role=web or self.tier=pci", true, true, true},  // true whatever it says
      {"role=web and self.tier=pci", false, true, true},
      {"role=web and not self.tier=x", false, true, true},
      {"not (role=db and self.tier=pci)", true, true, true},  // false whatever it says, and the contrary
      {"self.tier=pci or not self.tier=pci", false, true, true},
      {"*", true, true, true},
      {"instance=m1", true, true, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.selector);
    const Instance instance = machine("m1", own, given);
    const Selector strict = parsed(row.selector).strict();
    CHECK(strict.matches_under(instance, SelfTrust::off) == row.off);
    CHECK(strict.matches_under(instance, SelfTrust::named) == row.named);
    CHECK(strict.matches_under(instance, SelfTrust::all) == row.all);
  }
  // Whoever only looks may ask for anything.
  CHECK(parsed("self.tier=pci").matches(machine("m1", own, given)));
  CHECK(parsed("fact.os.id=debian").matches(machine("m1", own, given)));
  CHECK_FALSE(parsed("tier=pci").matches(machine("m1", own, given)));
}

TEST_CASE("a scope stays strict when somebody looks for something in it") {
  const Selector scope = parsed("self.team=blue").strict();
  const auto both = Selector::both(scope, parsed("self.role=web"));
  REQUIRE(both);
  CHECK(both->text() == "(self.team=blue) and (self.role=web)");
  CHECK_FALSE(both->matches(machine("m1", {{"team", "blue"}, {"role", "web"}})));
  CHECK(both->matches(machine("m1", {{"team", "blue"}, {"role", "web"}}, {}, SelfTrust::named)));
  const auto looked = Selector::both(parsed("team=blue").strict(), parsed("self.role=web"));
  REQUIRE(looked);
  CHECK(looked->matches(machine("m1", {{"role", "web"}}, {{"team", "blue"}})));
}

TEST_CASE("an app that relies on nothing refuses selectors that ask for it, with what to do") {
  const App off{.app_id = "shop"};
  App named = off;
  named.trust = SelfTrust::named;
  for (const char* text : {"self.role=web", "role=web and fact.os.id=debian", "not self.a=b"}) {
    CAPTURE(text);
    const std::string problem = problem_of_self_report(parsed(text), off);
    CHECK(problem.find("--trust-self-reported named") != std::string::npos);
    CHECK(problem.find("opsctl agent tag") != std::string::npos);
    CHECK(problem_of_self_report(parsed(text), named).empty());
  }
  CHECK(problem_of_self_report(parsed("role=web"), off).empty());
}

TEST_CASE("whoever gives something to machines is told what rests on their word") {
  App app{.app_id = "shop"};
  const auto warnings = [&](std::string_view selector, SelfTrust trust) {
    app.trust = trust;
    SelfReportStudy study(parsed(selector));
    study.add(machine("honest", {}, {{"role", "web"}}, trust));
    study.add(machine("claims", {{"role", "web"}}, {}, trust));
    Instance revoked = machine("revoked", {{"role", "web"}}, {}, trust);
    revoked.revoked = 1;
    study.add(revoked);
    std::string all;
    for (const std::string& each : self_report_warnings(parsed(selector), app, study.effect()))
      all += each;
    return all;
  };
  CHECK(warnings("role=web", SelfTrust::off).empty());
  CHECK(warnings("self.role=web", SelfTrust::named).find("say of themselves") != std::string::npos);
  const std::string all = warnings("role=web", SelfTrust::all);
  CHECK(all.find("1 machine (claims) match only by tags that they set themselves") != std::string::npos);
  CHECK(all.find("revoked") == std::string::npos);

  // Who used to rely on it is told why nobody matches.
  SelfReportStudy study(parsed("tier=pci"));
  study.add(machine("m1", {{"tier", "pci"}}));
  app.trust = SelfTrust::off;
  const auto told = self_report_warnings(parsed("tier=pci"), app, study.effect());
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("no machine matches, but 1 machine (m1) would by tags that they set themselves") == 0);
}

}  // namespace backend::domain
