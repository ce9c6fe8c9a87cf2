#include "agent/identity/credentials.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "pki/authority.hpp"
#include "tests/support/openssl_program.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace agent;
using namespace agent::identity;
using namespace std::chrono_literals;

namespace {

const pki::AgentName kName{"shop", "web1", "00ff"};

pki::Instant now() {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}
bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

pki::Authority authority() {
  auto made = pki::Authority::generate(now());
  REQUIRE(made);
  return std::move(*made);
}

std::string issue(const pki::Authority& ca, const pki::PrivateKey& key) {
  const auto csr = pki::make_request(key);
  const auto certificate = ca.issue_agent(*csr, kName, now(), 168h);
  REQUIRE(certificate);
  return certificate->pem() + ca.chain_pem();
}

Credentials enrolled(const pki::Authority& ca) {
  const auto key = pki::PrivateKey::generate();
  auto made = make_credentials(key->pem(), issue(ca, *key), ca.root_pem());
  REQUIRE(made);
  return std::move(*made);
}

}  // namespace

TEST_CASE("credentials come back as they were stored, readable by nobody else") {
  const tests::OpensslProgram openssl;
  const tests::ScratchFolder& scratch = openssl.folder();
  const auto nothing = load_credentials(scratch.path());
  REQUIRE(nothing);
  CHECK(!*nothing);

  const Credentials first = enrolled(authority());
  REQUIRE(store_credentials(scratch.path(), first));
  CHECK(scratch.mode("identity.pem") == 0600);
  CHECK(!scratch.exists("identity.pem.new"));
  const auto read = load_credentials(scratch.path());
  REQUIRE(read);
  REQUIRE(*read);
  CHECK((*read)->key == first.key);
  CHECK((*read)->chain == first.chain);
  CHECK((*read)->ca == first.ca);
  CHECK((*read)->name == kName);
  CHECK((*read)->serial == first.serial);
  CHECK((*read)->not_after == first.not_after);
  // People look into it with what they have.
  CHECK(says(openssl.must({"x509", "-in", "identity.pem", "-noout", "-subject", "-nameopt", "RFC2253"}),
             "CN=00ff"));
  openssl.must({"pkey", "-in", "identity.pem", "-noout", "-check"});
}

TEST_CASE("what does not belong together is neither made nor stored") {
  const tests::ScratchFolder scratch;
  const pki::Authority ca = authority(), other_ca = authority();
  const Credentials good = enrolled(ca), other = enrolled(ca);
  const auto refusal = [](const auto& result) { return result ? "accepted" : result.error().message(); };
  CHECK(says(refusal(make_credentials(other.key, good.chain, good.ca)), "another key"));
  CHECK(says(refusal(make_credentials(good.key, good.chain, other_ca.root_pem())), "not one of the CA's"));
  CHECK(says(refusal(make_credentials(good.key, good.chain, good.chain)), "is not a CA"));
  CHECK(says(refusal(make_credentials(good.key, good.ca, good.ca)), "another key"));
  const auto key = pki::PrivateKey::generate();
  const auto server = ca.issue_server(*key, {"localhost"}, now(), 1h);
  CHECK(says(refusal(make_credentials(key->pem(), server->pem(), good.ca)), "not one of an agent"));
  REQUIRE(store_credentials(scratch.path(), good));
  Credentials mixed = other;
  mixed.key = good.key;
  CHECK(!store_credentials(scratch.path(), mixed));
  CHECK((**load_credentials(scratch.path())).serial == good.serial);
}

TEST_CASE("damaged credentials are noticed, with what to do") {
  const tests::ScratchFolder scratch;
  const pki::Authority ca = authority();
  REQUIRE(store_credentials(scratch.path(), enrolled(ca)));
  const std::string text = scratch.read("identity.pem");
  scratch.write("identity.pem", enrolled(ca).key + text.substr(text.find("-----BEGIN CERTIFICATE")));
  const auto swapped = load_credentials(scratch.path());
  REQUIRE(!swapped);
  CHECK(says(swapped.error().message(), "made for another key"));
  CHECK(says(swapped.error().message(), "join-token"));
  for (std::size_t size = 0; size < text.size() - 1; size += 7) {
    scratch.write("identity.pem", text.substr(0, size));
    CHECK_MESSAGE(!load_credentials(scratch.path()), size);
  }
  std::mt19937 random(13);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    scratch.write("identity.pem", damaged);
    const auto read = load_credentials(scratch.path());
    if (read) CHECK((**read).name == kName);  // it was in a comment
  }
}

TEST_CASE("an agent that is killed while an authority is retired trusts one that fits") {
  const tests::ScratchFolder scratch;
  const pki::Authority old = authority(), next = authority();
  const Credentials moved = enrolled(next);
  Credentials both = moved;
  both.ca = old.root_pem() + next.root_pem();
  std::mt19937 random(23);
  std::set<std::string> seen;
  for (int round = 0; round < 80; ++round) {
    REQUIRE(unretire_authority(scratch.path(), old.public_hash()));
    REQUIRE(store_credentials(scratch.path(), both));
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      (void)store_authorities(scratch.path(), moved, {old.public_hash()});
      ::pause();
    }
    char begun = 0;
    REQUIRE(::read(ends[0], &begun, 1) == 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    const auto read = load_credentials(scratch.path());
    REQUIRE_MESSAGE(read, read.error().message());
    REQUIRE(*read);
    CHECK((*read)->serial == moved.serial);
    CHECK(((*read)->ca == both.ca || (*read)->ca == moved.ca));
    seen.insert((*read)->ca);
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("key and certificate agree whenever the agent is killed") {
  const tests::ScratchFolder scratch;
  const pki::Authority ca = authority();
  const Credentials some[] = {enrolled(ca), enrolled(authority())};
  REQUIRE(store_credentials(scratch.path(), some[0]));
  std::set<std::string> seen;
  std::mt19937 random(17);
  for (int round = 0; round < 60; ++round) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0)
      for (std::size_t i = 1;; ++i)
        if (!store_credentials(scratch.path(), some[i % 2]) || ::write(ends[1], "x", 1) != 1) ::_exit(1);
    // Some whole replacements, then in the middle of one.
    for (std::size_t wanted = random() % 4; wanted > 0; --wanted) {
      char done = 0;
      REQUIRE(::read(ends[0], &done, 1) == 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    ::close(ends[0]);
    ::close(ends[1]);
    const auto read = load_credentials(scratch.path());
    REQUIRE(read);
    REQUIRE(*read);
    CHECK(((*read)->ca == some[0].ca) == ((*read)->key == some[0].key));
    seen.insert((*read)->serial);
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("a key that got no certificate asks again, one that did is never asked for twice") {
  const tests::ScratchFolder scratch;
  const pki::Authority ca = authority();
  const auto key = pending_key(scratch.path());
  REQUIRE(key);
  CHECK(scratch.mode("pending.key") == 0600);
  CHECK(pending_key(scratch.path())->public_hash() == key->public_hash());

  const auto credentials = make_credentials(key->pem(), issue(ca, *key), ca.root_pem());
  REQUIRE(credentials);
  REQUIRE(store_credentials(scratch.path(), *credentials));
  CHECK(!scratch.exists("pending.key"));
  scratch.write("pending.key", key->pem());  // killed between the two steps
  const auto next = pending_key(scratch.path());
  REQUIRE(next);
  CHECK(next->public_hash() != key->public_hash());
  CHECK((**load_credentials(scratch.path())).key == key->pem());
  scratch.write("pending.key", "rubbish");
  CHECK(pending_key(scratch.path()));
}

TEST_CASE("a fleet renews after two thirds of the certificates' life, spread over a tenth of it") {
  const auto start = now();
  Credentials credentials{.not_before = start, .not_after = start + 300h};
  std::mt19937 random(19);
  pki::Instant first = pki::Instant::max(), last = pki::Instant::min();
  for (int i = 0; i < 1000; ++i) {
    credentials.serial = "8000000000000000";
    for (int digit = 0; digit < 16; ++digit)
      credentials.serial += "0123456789abcdef"[random() % 16];
    const auto when = credentials.renew_at();
    CHECK(when == credentials.renew_at());
    first = std::min(first, when);
    last = std::max(last, when);
  }
  CHECK(first >= start + 200h);
  CHECK(first < start + 201h);
  CHECK(last <= start + 230h);
  CHECK(last > start + 229h);
}

TEST_CASE("credentials say in words why they cannot be used") {
  const Credentials credentials = enrolled(authority());
  CHECK(credentials.problem(now()).empty());
  CHECK(says(credentials.problem(now() + 169h), "expired at 20"));
  CHECK(says(credentials.problem(now() + 169h), "join-token"));
  CHECK(says(credentials.problem(now() - 1h), "is the clock right?"));
}
