#include "ctl/output/show.hpp"

#include <doctest/doctest.h>

using ctl::Options;

namespace {

Options machines(std::vector<std::string> instances, std::string selector = {}) {
  Options options;
  options.instances = std::move(instances);
  options.selector = std::move(selector);
  return options;
}

}  // namespace

TEST_CASE("instances and a selector together mean both") {
  CHECK(ctl::selector_of(machines({})).empty());
  CHECK(ctl::selector_of(machines({"web1"})) == "instance=web1");
  CHECK(ctl::selector_of(machines({"web1", "web2"})) == "instance in (web1, web2)");
  CHECK(ctl::selector_of(machines({"web1"}, "a=b or c=d")) == "instance=web1 and (a=b or c=d)");
  CHECK(ctl::selector_of(machines({"strange name"})) == "instance=\"strange name\"");
}

TEST_CASE("an instance may name its app") {
  CHECK(ctl::app_of(machines({})) == "default");
  CHECK(ctl::app_of(machines({"shop/web1"})) == "shop");
  CHECK(ctl::selector_of(machines({"shop/web1"})) == "instance=web1");
  CHECK(ctl::machine_of("shop/web1", Options{}).app == "shop");
  CHECK(ctl::machine_of("web1", Options{}).app == "default");
}

TEST_CASE("nothing hits all machines by accident") {
  CHECK_FALSE(ctl::required_selector(machines({})));
  CHECK(*ctl::required_selector(machines({}, "*")) == "*");
}

TEST_CASE("parameters are text, or JSON behind :=") {
  const std::vector<std::string> given{"cmd=echo a=b", "n:=5", "list:=[1, 2]", "empty="};
  CHECK(*ctl::object_from(given) == R"({"cmd":"echo a=b","n":5,"list":[1, 2],"empty":""})");
  CHECK(*ctl::object_from({}) == "{}");
  for (const std::string wrong : {"cmd", "=x", "n:={", ":=5"})
    CHECK_MESSAGE(!ctl::object_from(std::vector{wrong}), wrong);
}
