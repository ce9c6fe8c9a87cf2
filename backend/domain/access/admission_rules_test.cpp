// Who is admitted at a handshake, and which certificates are good: tables of facts and verdicts.
#include "backend/domain/access/admission_rules.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "backend/domain/access/certificate_rules.hpp"
#include "base/sha256.hpp"

namespace backend::domain {

namespace {

using Verdict = Admission::Verdict;

constexpr Millis kToday = 1000;

protocol::Handshake hello_of_web1() {
  protocol::Handshake handshake;
  handshake.app_id = "shop";
  handshake.instance_id = "web1";
  handshake.instance_token = "token";
  return handshake;
}

const Credential kCredential{"shop", "web1", "uid", "77"};

AdmissionFacts facts_of_member() {
  AdmissionFacts facts{.app_is_known = true};
  facts.instance = KnownInstance{.key = 1, .token_hash = base::sha256_hex("token")};
  Enrolment& enrolment = facts.enrolment.emplace();
  enrolment.app_id = "shop";
  enrolment.instance_id = "web1";
  enrolment.uid = "uid";
  enrolment.current = true;
  CertificateRow& certificate = facts.certificate.emplace();
  certificate.serial = "77";
  certificate.uid = "uid";
  certificate.not_after = kToday + 1;
  return facts;
}

// The verdict; "admitted" when there is no refusal.
Verdict verdict_of(const std::optional<HandshakeRefusal>& refusal) {
  return refusal ? refusal->verdict : Verdict::admitted;
}

}  // namespace

TEST_CASE(
    "a handshake that no agent would send, or for another than its certificate names, is refused unseen") {
  struct Row {
    const char* name;
    void (*change)(protocol::Handshake&);
    bool has_certificate;
    Verdict verdict;
  };
  const Row rows[] = {
      {"fine", [](protocol::Handshake&) {}, false, Verdict::admitted},
      {"odd id", [](protocol::Handshake& h) { h.instance_id = "a/b"; }, false, Verdict::invalid},
      {"odd tag", [](protocol::Handshake& h) { h.tags["a b"] = "x"; }, false, Verdict::invalid},
      {"long uid", [](protocol::Handshake& h) { h.agent_uid = std::string(256, 'a'); }, false,
       Verdict::invalid},
      {"no token", [](protocol::Handshake& h) { h.instance_token.clear(); }, false, Verdict::invalid},
      {"no token, a certificate", [](protocol::Handshake& h) { h.instance_token.clear(); }, true,
       Verdict::admitted},
      {"another's id", [](protocol::Handshake& h) { h.instance_id = "db1"; }, true, Verdict::wrong_name},
      {"another's app", [](protocol::Handshake& h) { h.app_id = "x"; }, true, Verdict::wrong_name},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    protocol::Handshake handshake = hello_of_web1();
    row.change(handshake);
    const auto credential = row.has_certificate ? std::optional(kCredential) : std::nullopt;
    CHECK(verdict_of(refuse_form(handshake, credential)) == row.verdict);
  }
}

TEST_CASE("without a certificate a machine is who its first token says, unless it was enrolled or revoked") {
  struct Row {
    const char* name;
    void (*change)(AdmissionFacts&);
    Verdict verdict;
  };
  const Row rows[] = {
      {"its token", [](AdmissionFacts&) {}, Verdict::admitted},
      {"new", [](AdmissionFacts& f) { f.instance.reset(); }, Verdict::admitted},
      {"another token", [](AdmissionFacts& f) { f.instance->token_hash = "x"; }, Verdict::wrong_token},
      {"enrolled", [](AdmissionFacts& f) { f.was_enrolled = true; }, Verdict::wrong_token},
      {"forgotten after it was enrolled",
       [](AdmissionFacts& f) {
         f.instance.reset();
         f.was_enrolled = true;
       },
       Verdict::wrong_token},
      {"revoked", [](AdmissionFacts& f) { f.instance->revoked = 5; }, Verdict::revoked},
      {"unknown app", [](AdmissionFacts& f) { f.app_is_known = false; }, Verdict::unknown_app},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    AdmissionFacts facts = facts_of_member();
    row.change(facts);
    CHECK(verdict_of(refuse_peer(hello_of_web1(), std::nullopt, facts, kToday)) == row.verdict);
  }
}

TEST_CASE("a certificate is good while its enrolment is current and it is neither revoked nor expired") {
  struct Row {
    const char* problem;  // its beginning; "": it is good
    void (*change)(AdmissionFacts&);
  };
  const Row rows[] = {
      {"", [](AdmissionFacts&) {}},
      {"the certificate is of no enrolment", [](AdmissionFacts& f) { f.enrolment.reset(); }},
      {"the certificate is of no enrolment", [](AdmissionFacts& f) { f.enrolment->app_id = "x"; }},
      {"the certificate is of no enrolment", [](AdmissionFacts& f) { f.enrolment->instance_id = "x"; }},
      {"the machine was revoked: stolen",
       [](AdmissionFacts& f) {
         f.enrolment->revoked = 5;
         f.enrolment->why = "stolen";
       }},
      {"the certificate is dead", [](AdmissionFacts& f) { f.enrolment->current = false; }},
      {"the certificate is not known", [](AdmissionFacts& f) { f.certificate.reset(); }},
      {"the certificate is not known", [](AdmissionFacts& f) { f.certificate->uid = "x"; }},
      {"the certificate was revoked", [](AdmissionFacts& f) { f.certificate->revoked = 5; }},
      {"the certificate has expired", [](AdmissionFacts& f) { f.certificate->not_after = kToday; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.problem);
    AdmissionFacts facts = facts_of_member();
    facts.was_enrolled = true;
    row.change(facts);
    const std::string problem =
        problem_of_certificate(kCredential, facts.enrolment, facts.certificate, kToday);
    CHECK(problem.empty() == std::string_view(row.problem).empty());
    CHECK(problem.starts_with(row.problem));
    const auto refusal = refuse_peer(hello_of_web1(), kCredential, facts, kToday);
    CHECK(verdict_of(refusal) == (problem.empty() ? Verdict::admitted : Verdict::revoked));
    const auto renewal = decide_renewal(kCredential, facts.enrolment, facts.certificate, {.good = 1}, kToday);
    CHECK(renewal.refusal == problem);
    CHECK_FALSE(renewal.drops_unused);
    CHECK_FALSE(renewal.is_for_now);
  }
}

TEST_CASE("certificates that nobody used make room when there are too many, and only for who may renew") {
  AdmissionFacts facts = facts_of_member();
  const auto drops = [&](std::int64_t good) {
    return decide_renewal(kCredential, facts.enrolment, facts.certificate, {.good = good}, kToday)
        .drops_unused;
  };
  CHECK_FALSE(drops(kMostCertificates - 1));
  CHECK(drops(kMostCertificates));
  facts.enrolment->current = false;
  CHECK_FALSE(drops(kMostCertificates));
}

TEST_CASE("a certificate is renewed in the last half of its life, and a refusal says when that is") {
  AdmissionFacts facts = facts_of_member();
  constexpr Millis kDay = 24LL * 3600 * 1000;
  constexpr Millis kIssued = 1'800'000'000'000;
  facts.certificate->issued = kIssued;
  facts.certificate->not_after = kIssued + 7 * kDay;
  const auto decide = [&](Millis now, std::int64_t lately = 1) {
    return decide_renewal(kCredential, facts.enrolment, facts.certificate, {.good = 1, .lately = lately},
                          now);
  };
  CHECK(decide(kIssued).is_for_now);
  const auto early = decide(kIssued + 3 * kDay);
  CHECK(early.is_for_now);
  CHECK(early.refusal.find("from 2027-01-18T20:00:00.000Z on") != std::string::npos);
  CHECK(decide(kIssued + 7 * kDay / 2).refusal.empty());
  // Agents ask at two thirds by their own clock: one that is a day ahead is not refused.
  CHECK(decide(kIssued + 7 * kDay / 3 * 2 - kDay).refusal.empty());
  CHECK(decide(kIssued - kDay).is_for_now);  // our own clock was set back
  CHECK_FALSE(decide(kIssued + 8 * kDay).is_for_now);
  CHECK(decide(kIssued + 8 * kDay).refusal.starts_with("the certificate has expired"));
  // Answers may get lost, but not without end.
  CHECK(decide(kIssued + 5 * kDay, kMostRenewals - 1).refusal.empty());
  CHECK(decide(kIssued + 5 * kDay, kMostRenewals).is_for_now);
  // Lives of seconds, as tests have them.
  facts.certificate->not_after = kIssued + 12'000;
  CHECK(decide(kIssued + 5'999).is_for_now);
  CHECK(decide(kIssued + 6'000).refusal.empty());
}

TEST_CASE("versions go on from the higher of what we have and what the agent has") {
  CHECK(versions_after(std::nullopt, 17).recipe == 17);
  CHECK(versions_after(std::nullopt, 17).reported == 17);
  const KnownInstance known{.key = 1, .recipe_version = 5, .reported_version = 4};
  CHECK(versions_after(known, 0).recipe == 5);
  CHECK(versions_after(known, 5).recipe == 5);
  CHECK(versions_after(known, 5).reported == 5);
  CHECK(versions_after(known, 20).recipe == 21);
  CHECK(versions_after(known, 20).reported == 20);
}

TEST_CASE(
    "attack: a version stands for one list, also when the database was put back and gives its number again") {
  const KnownInstance known{.key = 1, .recipe_version = 5, .reported_version = 4, .recipe_digest = "ours"};
  CHECK(versions_after(known, 5, "theirs").recipe == 6);
  CHECK(versions_after(known, 5, "theirs").reported == 5);
  CHECK(versions_after(known, 5, "ours").recipe == 5);
  CHECK(versions_after(known, 5, "").recipe == 5);  // it does not say
  CHECK(versions_after(known, 4, "theirs").recipe == 5);
  CHECK(versions_after(known, 6, "ours").recipe == 7);
  CHECK(versions_after(KnownInstance{.key = 1, .recipe_version = 5}, 5, "theirs").recipe ==
        5);  // nothing is ours
}

TEST_CASE("no agent pushes the version of its recipe to where there is no next one") {
  const KnownInstance known{.key = 1, .recipe_version = 5, .reported_version = 4};
  CHECK(versions_after(known, kLargestBelieved).recipe == kLargestBelieved + 1);
  for (const std::int64_t absurd :
       {kLargestBelieved + 1, protocol::kLargestNumber, std::numeric_limits<std::int64_t>::max(),
        std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    CAPTURE(absurd);
    CHECK(versions_after(known, absurd).recipe == 5);
    CHECK(versions_after(known, absurd).reported == 4);
    CHECK(versions_after(std::nullopt, absurd).recipe == 0);
    CHECK(versions_after(std::nullopt, absurd).reported == 0);
  }
  // What an older backend let itself be told does not stay.
  const KnownInstance pushed{.key = 1,
                             .recipe_version = std::numeric_limits<std::int64_t>::min(),
                             .reported_version = std::numeric_limits<std::int64_t>::max()};
  CHECK(versions_after(pushed, 20).recipe == 21);
  CHECK(versions_after(pushed, 20).reported == 20);
}

TEST_CASE(
    "whoever has a dead certificate hears that it is, and not what an operator said about the machine") {
  AdmissionFacts facts = facts_of_member();
  facts.enrolment->revoked = 5;
  facts.enrolment->why = "stolen by Bob";
  const auto refusal = refuse_peer(hello_of_web1(), kCredential, facts, kToday);
  REQUIRE(refusal);
  CHECK(refusal->reason == "the machine was revoked: stolen by Bob");
  CHECK(refusal->told == "the machine was revoked");
}

TEST_CASE("a network has a few places to wait, and gives way to quieter ones when all are taken") {
  struct Row {
    PendingCounts counts;
    WaitingRoom room;
  };
  const std::size_t few = kMostPendingOfNetwork;
  const Row rows[] = {
      {{.all = 0, .of_network = 0, .of_busiest = 0}, WaitingRoom::there_is},
      {{.all = few, .of_network = few - 1, .of_busiest = few - 1}, WaitingRoom::there_is},
      {{.all = few, .of_network = few, .of_busiest = few}, WaitingRoom::none},
      {{.all = kMostPending, .of_network = 0, .of_busiest = 1}, WaitingRoom::oldest_of_busiest_goes},
      {{.all = kMostPending, .of_network = 3, .of_busiest = few}, WaitingRoom::oldest_of_busiest_goes},
      {{.all = kMostPending, .of_network = 3, .of_busiest = 3}, WaitingRoom::none},
  };
  for (const Row& row : rows)
    CHECK(room_to_wait(row.counts) == row.room);
}

TEST_CASE("a machine that an operator has to approve waits, and only one that has proved who it is") {
  struct Row {
    const char* name;
    bool is_known, has_certificate, is_pending, approves_strangers;
    Verdict verdict;
  };
  const Row rows[] = {
      {"whoever comes first, on loopback", false, false, false, false, Verdict::admitted},
      {"whoever comes first", false, false, false, true, Verdict::pending},
      {"it comes again, and waits still", true, false, true, true, Verdict::pending},
      {"approved, or known from before", true, false, false, true, Verdict::admitted},
      {"enrolled with a join token", true, true, false, true, Verdict::admitted},
      {"enrolled with one that needs approval", true, true, true, true, Verdict::pending},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    AdmissionFacts facts = facts_of_member();
    facts.approves_strangers = row.approves_strangers;
    if (!row.is_known) facts.instance.reset();
    if (facts.instance) facts.instance->pending = row.is_pending ? 5 : 0;
    const auto credential = row.has_certificate ? std::optional(kCredential) : std::nullopt;
    const auto refusal = refuse_peer(hello_of_web1(), credential, facts, kToday);
    CHECK(verdict_of(refusal) == row.verdict);
    if (row.verdict == Verdict::pending)
      CHECK(refusal->reason.find("opsctl agent approve shop/web1") != std::string::npos);
  }
  // Another token learns nothing about who waits.
  AdmissionFacts facts = facts_of_member();
  facts.approves_strangers = true;
  facts.instance->pending = 5;
  auto rival = hello_of_web1();
  rival.instance_token = "another";
  CHECK(verdict_of(refuse_peer(rival, {}, facts, kToday)) == Verdict::wrong_token);
  facts.instance->revoked = 7;
  CHECK(verdict_of(refuse_peer(hello_of_web1(), {}, facts, kToday)) == Verdict::revoked);
}

}  // namespace backend::domain
