#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <doctest/doctest.h>

#include "agent/facts/facts.hpp"
#include "agent/inputs/machine_secrets.hpp"
#include "agent/inputs/recipe_facts.hpp"
#include "base/values/json.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace agent::inputs;

TEST_CASE("recipes know the machine's names and addresses, and of facts only what checks know of") {
  const std::string facts = recipe_facts(agent::facts::gather({.version = "1.2.3"}).json);
  base::Arena arena;
  const auto parsed = base::parse_json(facts, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  REQUIRE(root);
  CHECK(root->find("os")->find("id")->text() == "debian");
  CHECK(root->find("network")->find("ipv4")->is_list());
  CHECK(root->find("fqdn")->text().starts_with(root->find("hostname")->text()));
  for (const base::Member& member : root->members())
    CHECK(std::ranges::find(recipe::kFactNames, member.key) != std::end(recipe::kFactNames));
  const std::string other =
      recipe_facts(R"({"hostname":"a","interfaces":{"e0":{"addresses":["10.0.0.1","fd00::1"]}}})");
  CHECK(other.find(R"("network":{"ipv4":["10.0.0.1"],"ipv6":["fd00::1"]})") != std::string::npos);
}

TEST_CASE("the domain is what the machine calls itself, or what its own hosts file says") {
  CHECK(full_name("web1.example.com", "") == "web1.example.com");
  CHECK(full_name("web1", "127.0.0.1 localhost\n127.0.1.1\tweb1.example.com web1 # me\n") ==
        "web1.example.com");
  CHECK(full_name("web1", "10.0.0.1 web11.example.com\n# 1 web1.example.org\n") == "web1");
}

TEST_CASE("a secret comes from a file that only root can read, then from a credential, then from a program") {
  const tests::ScratchFolder scratch;
  scratch.write("secrets/db", "from the file\n");
  scratch.write("credentials/db", "from the credential");
  scratch.write("credentials/api", "from the credential");
  scratch.write(
      "program",
      "#!/bin/sh\n[ \"$1\" = none ] && { echo hidden; exit 3; }\necho noise >&2\necho \"printed $1\"\n");
  for (const char* file : {"secrets/db", "credentials/db", "credentials/api"})
    REQUIRE(::chmod((scratch / file).c_str(), 0600) == 0);
  REQUIRE(::chmod((scratch / "program").c_str(), 0700) == 0);
  REQUIRE(::chmod((scratch / "secrets").c_str(), 0700) == 0);
  REQUIRE(::chmod((scratch / "credentials").c_str(), 0700) == 0);
  MachineSecrets secrets({.folder = scratch / "secrets",
                          .credentials = scratch / "credentials",
                          .program = scratch / "program"});
  CHECK(*secrets.secret("db") == "from the file");
  CHECK(*secrets.secret("api") == "from the credential");
  CHECK(*secrets.secret("other") == "printed other");
  const auto none = secrets.secret("none");
  REQUIRE(!none);
  CHECK(none.error().message().find("exit status 3") != std::string::npos);
  CHECK(none.error().message().find("hidden") == std::string::npos);
}

TEST_CASE("a secret that others can read or change is refused, and so is a link") {
  const tests::ScratchFolder scratch;
  scratch.write("s/open", "x");
  scratch.write("s/real", "x");
  REQUIRE(::chmod((scratch / "s").c_str(), 0700) == 0);
  REQUIRE(::chmod((scratch / "s/open").c_str(), 0640) == 0);
  REQUIRE(::chmod((scratch / "s/real").c_str(), 0600) == 0);
  REQUIRE(::symlink("real", (scratch / "s/link").c_str()) == 0);
  MachineSecrets secrets({.folder = scratch / "s"});
  const auto said = [&](std::string_view name) {
    const auto found = secrets.secret(name);
    return found ? "found" : found.error().message();
  };
  CHECK(said("real") == "found");
  CHECK(said("open").find("can be read by others") != std::string::npos);
  CHECK(said("link").find("is a link") != std::string::npos);
  CHECK(said("gone").find("there is none") != std::string::npos);
  REQUIRE(::chmod((scratch / "s").c_str(), 0777) == 0);
  CHECK(said("real").find("only root may write to it") != std::string::npos);
}
