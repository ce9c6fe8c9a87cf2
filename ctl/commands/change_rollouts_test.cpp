#include "ctl/commands/change_rollouts.hpp"

#include <doctest/doctest.h>

namespace {

std::string terms(const ctl::Options& options) {
  const auto made = ctl::rollout_terms(options);
  return made ? *made : "refused: " + made.error().message();
}

}  // namespace

TEST_CASE("without options the app decides how a change goes out") {
  CHECK(terms({}).empty());
}

TEST_CASE("the options of a change are the object that the API takes") {
  ctl::Options options;
  options.rings = "5, 25,100";
  options.canary = "zone=test";
  options.canaries = 7;
  options.may_fail = 0;
  options.pause = "15m";
  options.jitter = "0s";
  options.silence = "1h";
  CHECK(terms(options) ==
        R"({"rings":[5,25,100],"canary":"zone=test","canaries":7,"may_fail":0,"pause_s":900,"jitter_s":0,)"
        R"("timeout_s":3600})");
  ctl::Options now;
  now.at_once = true;
  CHECK(terms(now) == R"({"now":true})");
}

TEST_CASE("options of a change that contradict each other are refused") {
  ctl::Options options;
  options.at_once = true;
  options.canaries = 5;
  CHECK(terms(options).find("there are no rings then") != std::string::npos);
  ctl::Options words;
  words.rings = "many";
  CHECK(terms(words).find("percentages") != std::string::npos);
  words.rings = "now";
  CHECK(terms(words).find("--now") != std::string::npos);
  ctl::Options pause;
  pause.pause = "soon";
  CHECK(terms(pause).find("--pause") != std::string::npos);
}

TEST_CASE("rings of an app: percentages, or none for now") {
  CHECK(*ctl::rings_json("10,50,100") == "[10,50,100]");
  CHECK(*ctl::rings_json("now") == "[]");
  CHECK_FALSE(ctl::rings_json("10,,100"));
}
