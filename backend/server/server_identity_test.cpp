#include "backend/server/server_identity.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "pki/certificate.hpp"
#include "pki/verify.hpp"
#include "tests/support/scratch_folder.hpp"

namespace backend::server {

namespace {

using namespace std::chrono_literals;

pki::Instant now() {
  return std::chrono::system_clock::now();
}

std::string hash_of(const ServerIdentity& identity) {
  return identity.authorities().now()->oldest().public_hash();
}

struct Folder {
  tests::ScratchFolder scratch;
  DataFolder data = *DataFolder::open(scratch / "data");

  base::Result<ServerIdentity> open(ServerIdentityOptions options = {.listen = "0.0.0.0:8963"}) const {
    return ServerIdentity::open(data, options, now());
  }
};

}  // namespace

TEST_CASE("the first start makes an authority for its owner only, and later ones have the same") {
  const Folder folder;
  const auto first = folder.open();
  REQUIRE(first);
  CHECK((folder.scratch.look("data/ca.pem").st_mode & 0777) == 0600);
  const std::string published = folder.scratch.read("data/ca.crt");
  CHECK(published.find("PRIVATE") == std::string::npos);
  const auto again = folder.open();
  REQUIRE(again);
  CHECK(hash_of(*again) == hash_of(*first));
  CHECK(folder.scratch.read("data/ca.crt") == published);
  CHECK(pki::Certificate::parse_chain(published)->back().public_hash() == hash_of(*first));
}

TEST_CASE("the server's certificate is new every time, leads to the authority, and is due in time") {
  const Folder folder;
  auto identity = folder.open({.listen = "192.0.2.7:8963", .names = {"ops.example"}});
  REQUIRE(identity);
  const auto first = identity->issue(*identity->authorities().now(), now());
  const auto second = identity->issue(*identity->authorities().now(), now());
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->key != second->key);
  const auto chain = pki::Certificate::parse_chain(first->chain);
  REQUIRE(chain);
  CHECK(chain->back().public_hash() == hash_of(*identity));
  CHECK(pki::verify(*chain, {chain->back()}, pki::Purpose::server, now()));
  CHECK_FALSE(pki::verify(*chain, {chain->back()}, pki::Purpose::agent, now()));
  CHECK(identity->names().front() == "ops.example");
  CHECK(std::ranges::find(identity->names(), "192.0.2.7") != identity->names().end());
  CHECK(std::ranges::find(identity->names(), "localhost") != identity->names().end());
  CHECK_FALSE(identity->is_due(now()));
  CHECK(identity->is_due(chain->front().not_after() - 24h));
}

TEST_CASE("a wildcard is no name") {
  const Folder folder;
  for (const char* listen : {"0.0.0.0:1", "[::]:1"}) {
    const auto identity = folder.open({.listen = listen});
    REQUIRE(identity);
    for (const std::string& name : identity->names())
      CHECK((name != "0.0.0.0" && name != "::"));
  }
}

TEST_CASE("an authority that is brought is used, and half of one is refused") {
  const Folder folder;
  const pki::Authority brought = *pki::Authority::generate(now());
  folder.scratch.write("chain", brought.chain_pem());
  folder.scratch.write("key", brought.key_pem());
  const auto identity = folder.open(
      {.authorities = {.first = {.certificate = folder.scratch / "chain", .key = folder.scratch / "key"}},
       .listen = "127.0.0.1:1"});
  REQUIRE(identity);
  CHECK(hash_of(*identity) == brought.public_hash());
  CHECK_FALSE(folder.scratch.exists("data/ca.pem"));
  const auto half = folder.open(
      {.authorities = {.first = {.certificate = folder.scratch / "chain"}}, .listen = "127.0.0.1:1"});
  REQUIRE_FALSE(half);
  CHECK(half.error().message().find("belong together") != std::string::npos);
}

TEST_CASE("a damaged authority is not replaced by another one") {
  const Folder folder;
  REQUIRE(folder.open());
  folder.scratch.write("data/ca.pem", folder.scratch.read("data/ca.pem").substr(0, 300));
  const auto damaged = folder.open();
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().message().find("restore it from a backup") != std::string::npos);
}

}  // namespace backend::server
