#include "agent/identity/membership.hpp"

#include <doctest/doctest.h>

#include "agent/identity/source_identity.hpp"
#include "pki/authority.hpp"
#include "pki/request.hpp"
#include "tests/support/scratch_folder.hpp"

namespace agent::identity {

namespace {

using namespace std::chrono_literals;

pki::Instant now() {
  return std::chrono::system_clock::now();
}

// A state folder, and an authority that signs what it is asked for.
struct Machine {
  tests::ScratchFolder scratch;
  base::Redactor redactor;
  pki::Authority authority = *pki::Authority::generate(now());

  std::string token() const { return pki::format_join_token(pki::make_join_token(authority.public_hash())); }

  base::Result<std::unique_ptr<Membership>> open(std::string join_token = {}, std::string ca_file = {}) {
    return Membership::open(
        {.state_dir = scratch.path(), .join_token = std::move(join_token), .ca_file = std::move(ca_file)},
        redactor);
  }
  std::unique_ptr<Membership> must_open(std::string join_token = {}) {
    auto opened = open(std::move(join_token));
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message()));
    return std::move(*opened);
  }
  protocol::CertIssued issue(const protocol::CertRequest& request, const pki::AgentName& name,
                             std::chrono::seconds life = 1h) const {
    auto certificate = authority.issue_agent(request.csr, name, now(), life);
    REQUIRE(certificate);
    return {.chain = certificate->pem() + authority.chain_pem()};
  }
  // Enrolled as default/a.
  std::unique_ptr<Membership> enrolled(std::chrono::seconds life = 1h) {
    auto membership = must_open(token());
    auto request = membership->ask_to_enrol("default", "a");
    REQUIRE(request);
    REQUIRE(membership->accept(issue(*request, {"default", "a", "01"}, life)));
    return membership;
  }
};

std::string refusal(const base::Result<void>& accepted) {
  return accepted ? "" : accepted.error().message();
}

}  // namespace

TEST_CASE("a machine with a join token enrols once, and is known afterwards without it") {
  Machine machine;
  auto membership = machine.must_open(machine.token());
  CHECK(membership->must_enrol("default", now()));
  const auto request = membership->ask_to_enrol("default", "a");
  REQUIRE(request);
  CHECK(request->app_id == "default");
  CHECK(request->instance_id == "a");
  CHECK(request->token.starts_with("opsjoin1."));
  REQUIRE(membership->accept(machine.issue(*request, {"default", "b", "01"})));
  CHECK_FALSE(membership->must_enrol("default", now()));

  const auto again = machine.must_open();
  REQUIRE(again->credentials());
  CHECK(again->credentials()->name == pki::AgentName{"default", "b", "01"});
  CHECK(again->tls_for_work("default", now()));
  CHECK((machine.scratch.look("identity.pem").st_mode & 0777) == 0600);
}

TEST_CASE("an enrolment is due for a certificate that is over or of another app, if there is a token") {
  Machine machine;
  auto membership = machine.enrolled();
  CHECK_FALSE(membership->must_enrol("default", now()));
  CHECK(membership->must_enrol("other", now()));
  CHECK(membership->must_enrol("default", now() + 2h));
  const auto without = machine.must_open();
  CHECK_FALSE(without->must_enrol("other", now()));
  const auto other = without->tls_for_work("other", now());
  REQUIRE_FALSE(other);
  CHECK(other.error().message().find("enrolled in the app default and not in other") != std::string::npos);
  const auto over = without->tls_for_work("default", now() + 2h);
  REQUIRE_FALSE(over);
  CHECK(over.error().message().find("join") != std::string::npos);
}

TEST_CASE("a machine that has nothing is told what it needs") {
  Machine machine;
  const auto nothing = machine.must_open()->tls_for_work("default", now());
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().message().find("opsctl join-token create") != std::string::npos);
  const auto bad = machine.open("opsjoin1.nonsense");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message().starts_with("join_token"));
  CHECK_FALSE(machine.open("/nowhere/token"));
  machine.scratch.write("token-file", machine.token() + "\n");
  CHECK(machine.must_open(machine.scratch / "token-file")->must_enrol("default", now()));
  machine.scratch.write("ca", machine.authority.chain_pem());
  CHECK((*machine.open("", machine.scratch / "ca"))->tls_for_work("default", now()));
}

TEST_CASE("a certificate that does not fit is refused, and the old one stays") {
  Machine machine;
  Machine foreign;
  auto membership = machine.enrolled();
  const std::string before = machine.scratch.read("identity.pem");
  const auto renewed_as = [&](const Machine& by, const pki::AgentName& name) {
    auto request = membership->ask_to_renew();
    REQUIRE(request);
    CHECK(request->token.empty());
    return refusal(membership->accept(by.issue(*request, name)));
  };
  CHECK(renewed_as(machine, {"default", "b", "01"}).find("another name") != std::string::npos);
  CHECK(renewed_as(machine, {"other", "a", "01"}).find("the app other") != std::string::npos);
  CHECK(renewed_as(foreign, {"default", "a", "01"}) != "");
  const auto for_another_key = foreign.must_open(foreign.token())->ask_to_enrol("default", "a");
  REQUIRE(membership->ask_to_renew());
  CHECK(refusal(membership->accept(machine.issue(*for_another_key, {"default", "a", "01"})))
            .find("another key") != std::string::npos);
  CHECK(refusal(membership->accept({})).find("nobody asked") != std::string::npos);
  REQUIRE(membership->ask_to_renew());
  CHECK(refusal(membership->accept({.chain = "nonsense"})) != "");
  CHECK(machine.scratch.read("identity.pem") == before);

  CHECK(renewed_as(machine, {"default", "a", "01"}) == "");
  CHECK(machine.scratch.read("identity.pem") != before);
}

TEST_CASE("an enrolment believes only the authority of its token") {
  Machine machine;
  Machine foreign;
  auto membership = machine.must_open(machine.token());
  const auto request = membership->ask_to_enrol("default", "a");
  REQUIRE(request);
  CHECK(refusal(membership->accept(foreign.issue(*request, {"default", "a", "01"}))).find("join token's") !=
        std::string::npos);
  CHECK_FALSE(membership->credentials());
}

TEST_CASE("an identity source cannot lead an enrolled machine to another authority") {
  Machine machine;
  const Machine foreign;
  auto membership = machine.enrolled();
  CHECK(refusal(membership->offer_token(foreign.token(), machine.redactor)).find("opsagent clean") !=
        std::string::npos);
  CHECK_FALSE(membership->must_enrol("default", now()));
  REQUIRE(membership->offer_token(machine.token(), machine.redactor));
  CHECK(membership->must_enrol("default", now()));  // a new one of its own authority

  // Nor before the start, by what was kept of it; then the configuration's counts.
  const auto opened = [&](std::string configured, std::string announced) {
    auto made = Membership::open({.state_dir = machine.scratch.path(),
                                  .join_token = std::move(configured),
                                  .announced_token = std::move(announced)},
                                 machine.redactor);
    REQUIRE(made);
    return std::move(*made);
  };
  CHECK(opened("", foreign.token())->refused_token() != "");
  CHECK_FALSE(opened("", foreign.token())->must_enrol("default", now()));
  CHECK(opened(machine.token(), foreign.token())->must_enrol("default", now()));
  CHECK(opened("", machine.token())->refused_token() == "");
  CHECK(opened("", machine.token())->must_enrol("default", now()));
  CHECK(opened(foreign.token(), "")->must_enrol("default", now()));  // whoever owns the machine may

  Machine fresh;  // that has nobody yet
  auto first = Membership::open({.state_dir = fresh.scratch.path(), .announced_token = foreign.token()},
                                fresh.redactor);
  REQUIRE(first);
  CHECK((*first)->must_enrol("default", now()));
}

namespace {

std::vector<std::string> roots_of(std::initializer_list<const pki::Authority*> authorities) {
  std::vector<std::string> roots;
  for (const pki::Authority* each : authorities)
    roots.push_back(each->root_pem());
  return roots;
}

}  // namespace

TEST_CASE("a machine moves from one authority to the next, and is never without one that it trusts") {
  Machine machine;
  const Machine next;
  auto membership = machine.enrolled();
  const std::vector<std::string> old_only{machine.authority.public_hash()};
  CHECK(membership->vouching() == old_only);
  const protocol::Authorities both{.roots = roots_of({&machine.authority, &next.authority}),
                                   .issuer = next.authority.issuer_hash()};
  const auto told = membership->trust(both, old_only);
  REQUIRE(told);
  CHECK(told->changed);
  CHECK(told->must_renew);
  CHECK_FALSE(told->is_stale);
  CHECK(machine.must_open()->trusted() ==
        std::vector<std::string>{machine.authority.public_hash(), next.authority.public_hash()});

  // To drop the old one would leave its certificate worthless: first the new one.
  const protocol::Authorities alone{.roots = roots_of({&next.authority}),
                                    .issuer = next.authority.issuer_hash()};
  CHECK_FALSE(membership->trust(alone, old_only));
  CHECK_FALSE(machine.scratch.exists("retired_authorities"));
  const auto request = membership->ask_to_renew();
  REQUIRE(request);
  REQUIRE(membership->accept(next.issue(*request, {"default", "a", "01"})));
  CHECK_FALSE(membership->trust(both, old_only)->must_renew);
  CHECK_FALSE(membership->trust(both, old_only)->changed);

  const auto retired = membership->trust(alone, old_only);
  REQUIRE(retired);
  CHECK(retired->is_stale);
  CHECK(machine.must_open()->trusted() == std::vector<std::string>{next.authority.public_hash()});
  // The connection that the old one has vouched for says no more about whom to trust.
  const Machine stranger;
  CHECK_FALSE(membership->trust(
      {.roots = roots_of({&next.authority, &stranger.authority}), .issuer = stranger.authority.issuer_hash()},
      old_only));
}

TEST_CASE("nothing is believed that came over a plain connection, or is no proper announcement") {
  Machine machine;
  const Machine next;
  auto membership = machine.enrolled();
  const std::string before = machine.scratch.read("identity.pem");
  protocol::Authorities both{.roots = roots_of({&machine.authority, &next.authority}),
                             .issuer = next.authority.issuer_hash()};
  CHECK_FALSE(membership->trust(both, {}));
  CHECK_FALSE(membership->trust(both, {next.authority.public_hash()}));
  both.issuer = "somebody";
  CHECK_FALSE(membership->trust(both, membership->vouching()));
  CHECK(machine.scratch.read("identity.pem") == before);
  CHECK_FALSE(machine.must_open("").get()->trusted().size() > 1);
  Machine without;
  CHECK_FALSE(without.must_open()->trust(both, {machine.authority.public_hash()}));
}

TEST_CASE("an identity from before the authority was retired is not used again") {
  Machine machine;
  const Machine next;
  auto membership = machine.enrolled();
  const std::string first = machine.scratch.read("identity.pem");
  const std::vector<std::string> vouching = membership->vouching();
  REQUIRE(membership->trust(
      {.roots = roots_of({&machine.authority, &next.authority}), .issuer = next.authority.issuer_hash()},
      vouching));
  const std::string second = machine.scratch.read("identity.pem");
  const auto request = membership->ask_to_renew();
  REQUIRE(membership->accept(next.issue(*request, {"default", "a", "01"})));
  const std::string third = machine.scratch.read("identity.pem");
  REQUIRE(membership->trust({.roots = roots_of({&next.authority}), .issuer = next.authority.issuer_hash()},
                            vouching));
  // Trusts both, has a certificate of the old one; or trusts the old one alone.
  for (const std::string& earlier : {first, second}) {
    machine.scratch.write("identity.pem", earlier);
    const auto opened = machine.open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error().message().find("opsctl join-token create") != std::string::npos);
  }
  // Trusts both, has a certificate of the new one: the old one counts for nothing. This is also what a kill
  // between the two files leaves.
  machine.scratch.write("identity.pem", third);
  CHECK(machine.must_open()->vouching() == std::vector<std::string>{next.authority.public_hash()});
  // A token of whoever owns the machine is stronger.
  REQUIRE(membership->offer_token(next.token(), machine.redactor));
  machine.scratch.write("identity.pem", third);
  auto again = machine.must_open(machine.token());
  const auto enrolment = again->ask_to_enrol("default", "a");
  REQUIRE(enrolment);
  REQUIRE(again->accept(machine.issue(*enrolment, {"default", "a", "02"})));
  CHECK(machine.must_open()->vouching() == std::vector<std::string>{machine.authority.public_hash()});
}

TEST_CASE("with a ca_file only announced authorities that are in it count") {
  Machine machine;
  const Machine next;
  (void)machine.enrolled();
  machine.scratch.write("ca", machine.authority.chain_pem());
  const protocol::Authorities both{.roots = roots_of({&machine.authority, &next.authority}),
                                   .issuer = next.authority.issuer_hash()};
  auto pinned = *machine.open("", machine.scratch / "ca");
  const auto refused = pinned->trust(both, pinned->vouching());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("ca_file") != std::string::npos);
  machine.scratch.write("ca", machine.authority.chain_pem() + next.authority.chain_pem());
  auto prepared = *machine.open("", machine.scratch / "ca");
  CHECK(prepared->trusted() == std::vector<std::string>{machine.authority.public_hash()});
  REQUIRE(prepared->trust(both, prepared->vouching()));
  CHECK(prepared->trusted().size() == 2);
}

TEST_CASE("a renewal has a new key; a new enrolment keeps the key by which the machine is known") {
  Machine machine;
  auto membership = machine.enrolled();
  const auto key_of = [](const base::Result<protocol::CertRequest>& request) {
    REQUIRE(request);
    return pki::Request::parse(request->csr)->public_hash();
  };
  const std::string mine = pki::PrivateKey::parse(membership->credentials()->key)->public_hash();
  CHECK(key_of(membership->ask_to_renew()) != mine);
  CHECK(key_of(membership->ask_to_enrol("default", "a")) == mine);
}

TEST_CASE("a machine is a member with a certificate, or with a token to get one; else it is not") {
  Machine machine;
  CHECK_FALSE(machine.must_open()->is_member());
  CHECK(machine.must_open(machine.token())->is_member());
  machine.enrolled();
  CHECK(machine.must_open()->is_member());
}

TEST_CASE("an announced app counts for an enrolled machine only with a token that it has not used") {
  Machine machine;
  CHECK(refuse_app("shop", *machine.must_open()).empty());
  auto membership = machine.enrolled();
  CHECK(refuse_app("default", *membership).empty());
  CHECK(refuse_app("shop", *membership).find("stays in the app 'default'") != std::string::npos);
  CHECK_FALSE(refuse_app("", *membership).empty());
  REQUIRE(membership->offer_token(machine.token(), machine.redactor));
  CHECK(refuse_app("shop", *membership).empty());
  membership->token_refused();
  CHECK_FALSE(refuse_app("shop", *membership).empty());
  // Also after a restart.
  CHECK_FALSE(refuse_app("shop", *machine.must_open()).empty());
}

}  // namespace agent::identity
