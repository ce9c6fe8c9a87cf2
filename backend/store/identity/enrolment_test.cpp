// The rules of enrolment, each as a test, in real files.
#include "backend/store/identity/enrolment.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "backend/domain/access/certificate_rules.hpp"
#include "backend/domain/access/enrolment_rules.hpp"
#include "backend/store/identity/certificates.hpp"
#include "backend/store/inventory/apps.hpp"
#include "backend/store/inventory/instances.hpp"
#include "backend/store/store.hpp"
#include "base/sha256.hpp"
#include "base/token.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using backend::domain::Admission;
using backend::domain::Credential;
using backend::domain::Enrolled;
using backend::domain::EnrolRequest;
using backend::store::Store;
using tests::must;
using tests::StoreBench;

constexpr backend::domain::Millis kHour = 3600 * 1000;
constexpr backend::domain::Millis kWeek = 7 * 24 * kHour;

struct EnrolmentBench : StoreBench {
  // A token's id; its secret is "secret of <id>".
  std::string token(const std::string& instance = {}, std::int64_t uses = 1, backend::domain::Tags tags = {},
                    const std::string& app = "default", const std::string& pattern = "*") {
    backend::domain::JoinToken row;
    row.id = base::random_hex(8);
    row.secret_hash = base::sha256_hex("secret of " + row.id);
    row.app_id = app;
    row.instance_id = instance;
    if (instance.empty()) row.name_pattern = pattern;
    row.uses_total = row.uses_left = uses;
    row.tags = std::move(tags);
    row.created = now;
    row.expires = now + kHour;
    row.created_by = "test";
    return must(backend::store::add_join_token(*store, row)).id;
  }
  static domain::EnrolRequest request(const std::string& id, const std::string& instance = {},
                                      const std::string& key = "key 1") {
    return {.token_id = id,
            .secret_hash = base::sha256_hex("secret of " + id),
            .app_id = "",
            .instance_id = instance,
            .key_hash = base::sha256_hex(key),
            .from = "10.0.0.7"};
  }
  domain::Enrolled enrol(const domain::EnrolRequest& wanted) {
    return must(backend::store::enrol(*store, wanted, now));
  }
  // Enrolled, with a certificate.
  domain::Credential member(const std::string& instance, const std::string& key = "key 1") {
    const auto enrolled = enrol(request(token(), instance, key));
    REQUIRE_MESSAGE(enrolled.verdict == domain::Enrolled::Verdict::enrolled, enrolled.reason);
    return certificate(enrolled, key);
  }
  domain::Credential certificate(const domain::Enrolled& enrolled, const std::string& key = "key 1") {
    const std::string serial = base::random_hex(8);
    must(backend::store::put_certificate(*store, enrolled.instance, enrolled.uid, serial,
                                         base::sha256_hex(key), now + kWeek, now));
    return {enrolled.app_id, enrolled.instance_id, enrolled.uid, serial};
  }
  domain::Admission greet(const domain::Credential& credential) {
    auto hello = handshake(credential.instance_id);
    hello.app_id = credential.app_id;
    hello.instance_token.clear();
    return admit(hello, credential);
  }
  bool admits(const domain::Credential& credential) {
    return greet(credential).verdict == domain::Admission::Verdict::admitted;
  }
  backend::domain::AuditRow newest_audit() { return must(store->list_audit({"", 1})).items.at(0); }
};

bool refused(const domain::Enrolled& enrolled) {
  return enrolled.verdict == domain::Enrolled::Verdict::refused && enrolled.uid.empty() &&
         enrolled.instance == 0;
}

}  // namespace

STORE_TEST_CASE("a join token makes an identity: names, a uid, the operator's tags, one use less") {
  EnrolmentBench bench;
  const std::string id = bench.token("", 2, {{"role", "web"}});
  const auto enrolled = bench.enrol(EnrolmentBench::request(id, "web1"));
  CHECK(enrolled.verdict == domain::Enrolled::Verdict::enrolled);
  CHECK(enrolled.app_id == "default");
  CHECK(enrolled.instance_id == "web1");
  CHECK(enrolled.uid.size() == 32);
  CHECK_FALSE(enrolled.was_enrolled);
  CHECK(must(bench->list_join_tokens({})).items.at(0).uses_left == 1);
  CHECK(must(bench->find_instance("default", "web1")).operator_tags ==
        backend::domain::Tags{{"role", "web"}});
  const auto row = bench.newest_audit();
  CHECK(row.action == "agent.enrol");
  CHECK(row.object == "default/web1");
  CHECK(row.from == "10.0.0.7");
  CHECK(row.result == "ok");
  CHECK(bench.stored_bytes().find("secret of") == std::string::npos);

  // Its first handshake is the first sight of it, and it is placed then.
  const auto admission = bench.greet(bench.certificate(enrolled));
  CHECK(admission.verdict == domain::Admission::Verdict::admitted);
  CHECK(admission.is_new);
  CHECK(admission.session.instance == enrolled.instance);
  CHECK_FALSE(bench.greet(bench.certificate(enrolled)).is_new);
}

STORE_TEST_CASE(
    "an unknown, wrong, expired, revoked or used-up join token is refused with one and the same text") {
  EnrolmentBench bench;
  std::vector<domain::Enrolled> answers;
  std::vector<std::string> noted;
  const auto attempt = [&](const domain::EnrolRequest& request) {
    answers.push_back(bench.enrol(request));
    noted.push_back(bench.newest_audit().detail);
    CHECK(bench.newest_audit().result == "denied");
  };
  attempt(EnrolmentBench::request("0123456789abcdef"));
  auto wrong = EnrolmentBench::request(bench.token());
  wrong.secret_hash = base::sha256_hex("guessed");
  attempt(wrong);
  const std::string revoked = bench.token();
  must(bench->revoke_join_token(revoked, bench.now));
  attempt(EnrolmentBench::request(revoked));
  const std::string used = bench.token();
  CHECK(bench.enrol(EnrolmentBench::request(used)).verdict == domain::Enrolled::Verdict::enrolled);
  attempt(EnrolmentBench::request(used, "", "another machine's key"));
  const std::string old = bench.token();
  bench.now += kHour;
  attempt(EnrolmentBench::request(old));
  for (const domain::Enrolled& answer : answers) {
    CHECK(refused(answer));
    CHECK(answer.reason == answers[0].reason);
  }
  CHECK(noted == std::vector<std::string>{"the join token is not known", "the join token's secret is wrong",
                                          "the join token was revoked", "the join token is used up",
                                          "the join token has expired"});
}

STORE_TEST_CASE("the join token's app counts, and its instance goes before what the machine wishes") {
  EnrolmentBench bench;
  must(backend::store::put_app(*bench, {"shop", "all"}, {}, bench.now));
  const std::string id = bench.token("web1", 1, {}, "shop");
  auto other_app = EnrolmentBench::request(id);
  other_app.app_id = "default";
  CHECK(refused(bench.enrol(other_app)));
  const auto enrolled = bench.enrol(EnrolmentBench::request(id, "web2"));
  CHECK(enrolled.app_id == "shop");
  CHECK(enrolled.instance_id == "web1");
}

STORE_TEST_CASE("without a named or wished instance the server makes one up") {
  EnrolmentBench bench;
  const std::string id = bench.token("", 2);
  const auto one = bench.enrol(EnrolmentBench::request(id)),
             two = bench.enrol(EnrolmentBench::request(id, "", "key 2"));
  CHECK(one.instance_id.size() == 18);
  CHECK(one.instance_id.starts_with("i-"));
  CHECK(one.instance_id != two.instance_id);
}

STORE_TEST_CASE("a join token that allows no names gives none that a machine wishes, and says so") {
  EnrolmentBench bench;
  const std::string id = bench.token("", 2, {{"role", "web"}}, "default", "");
  const auto enrolled = bench.enrol(EnrolmentBench::request(id, "db-prod-7"));
  REQUIRE(enrolled.verdict == domain::Enrolled::Verdict::enrolled);
  CHECK(enrolled.instance_id.starts_with("i-"));
  CHECK(must(bench->find_instance("default", enrolled.instance_id)).wished_name == "db-prod-7");
  CHECK_FALSE(bench->find_instance("default", "db-prod-7"));
  CHECK(bench.newest_audit().detail.find("wished to be 'db-prod-7'") != std::string::npos);
  // Asked again, before it has used what it was given: the same name, and no second use.
  const auto repeated = bench.enrol(EnrolmentBench::request(id, "db-prod-7"));
  CHECK(repeated.instance_id == enrolled.instance_id);
  CHECK(must(bench->list_join_tokens({})).items.at(0).uses_left == 1);
  CHECK(bench.admits(bench.certificate(repeated)));

  // With another token and its key it is who it was, also when it was forgotten.
  const auto again = [&](const std::string& key) {
    return bench.enrol(EnrolmentBench::request(bench.token("", 1, {}, "default", ""), "db-prod-7", key));
  };
  CHECK(again("key 1").instance_id == enrolled.instance_id);
  CHECK(again("key 2").instance_id != enrolled.instance_id);
  must(backend::store::revoke(*bench, "default", enrolled.instance_id, "stolen", bench.now));
  CHECK(refused(again("key 1")));
}

STORE_TEST_CASE("an instance cannot be enrolled under an odd name") {
  EnrolmentBench bench;
  const std::string id = bench.token("", 1);
  const std::vector<std::string> odd{
      "..", "a/b", "a b", "-a", "a\nb", "\u202Ea", std::string("a\0b", 3), std::string(129, 'a')};
  for (const std::string& name : odd)
    CHECK_MESSAGE(refused(bench.enrol(EnrolmentBench::request(id, name))), name);
  CHECK(must(bench->list_join_tokens({})).items.at(0).uses_left == 1);
}

STORE_TEST_CASE("an instance is enrolled anew with a token that names it, and its old certificate is dead") {
  EnrolmentBench bench;
  const domain::Credential old = bench.member("web1");
  CHECK(bench.admits(old));
  const auto other = bench.enrol(EnrolmentBench::request(bench.token(), "web1", "another machine's key"));
  CHECK(refused(other));
  CHECK(other.reason.find("--instance web1") != std::string::npos);
  CHECK(bench.admits(old));

  const auto epoch = must(bench->find_instance("default", "web1")).epoch;
  const auto anew = bench.enrol(EnrolmentBench::request(bench.token("web1"), "", "another machine's key"));
  CHECK(anew.verdict == domain::Enrolled::Verdict::enrolled);
  CHECK(anew.was_enrolled);
  CHECK(anew.uid != old.uid);
  CHECK(must(bench->find_instance("default", "web1")).epoch == epoch + 1);  // what is under way is superseded
  CHECK(bench.greet(old).verdict == domain::Admission::Verdict::revoked);
  CHECK(bench.admits(bench.certificate(anew, "another machine's key")));
  CHECK_FALSE(must(backend::store::may_renew(*bench, old, bench.now)).allowed);
}

STORE_TEST_CASE("the same machine, by its key, may be enrolled anew with any token of its app") {
  EnrolmentBench bench;
  const domain::Credential old = bench.member("web1", "its key");
  const auto anew = bench.enrol(EnrolmentBench::request(bench.token(), "web1", "its key"));
  CHECK(anew.verdict == domain::Enrolled::Verdict::enrolled);
  CHECK_FALSE(bench.admits(old));
  must(backend::store::revoke(*bench, "default", "web1", "stolen", bench.now));
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "its key"))));
  CHECK(bench.enrol(EnrolmentBench::request(bench.token("web1"), "web1", "its key")).verdict ==
        domain::Enrolled::Verdict::enrolled);
}

STORE_TEST_CASE("an id is not given to another machine after its instance was forgotten") {
  EnrolmentBench bench;
  const domain::Credential old = bench.member("web1", "its key");
  must(backend::store::forget_instance(*bench, "default", "web1", bench.now));
  CHECK(bench.greet(old).verdict == domain::Admission::Verdict::revoked);
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "another"))));
  auto hello = StoreBench::handshake("web1");
  CHECK(bench.admit(hello).verdict == domain::Admission::Verdict::wrong_token);
  bench.open();
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "another"))));
  CHECK(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "its key")).verdict ==
        domain::Enrolled::Verdict::enrolled);
}

STORE_TEST_CASE("a machine with an instance_token is enrolled with a token that names it") {
  EnrolmentBench bench;
  bench.join("web1");
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web1"))));
  const auto enrolled = bench.enrol(EnrolmentBench::request(bench.token("web1")));
  REQUIRE(enrolled.verdict == domain::Enrolled::Verdict::enrolled);
  const auto without = bench.admit(StoreBench::handshake("web1"));
  CHECK(without.verdict == domain::Admission::Verdict::wrong_token);
  CHECK(without.reason.find("needs its certificate") != std::string::npos);
  CHECK(bench.admits(bench.certificate(enrolled)));
}

STORE_TEST_CASE("of many who use a join token at the same time, as many as it has uses win") {
  EnrolmentBench bench;
  for (int round = 0; round < 10; ++round) {
    const std::string id = bench.token();
    std::atomic<int> won = 0, lost = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        auto store = bench.open_another(backend::store::Access::write);
        if (!store) return;
        auto enrolled = backend::store::enrol(
            **store, EnrolmentBench::request(id, "m" + std::to_string(round * 2 + i)), bench.now);
        if (enrolled) ++(enrolled->verdict == domain::Enrolled::Verdict::enrolled ? won : lost);
      });
    for (auto& thread : threads)
      thread.join();
    CHECK(won == 1);
    CHECK(lost == 1);
  }
}

STORE_TEST_CASE("a certificate speaks for the machine that it names, and for no other") {
  EnrolmentBench bench;
  const domain::Credential web = bench.member("web1");
  bench.member("db1", "key 2");
  auto hello = StoreBench::handshake("db1");
  const auto admission = bench.admit(hello, web);
  CHECK(admission.verdict == domain::Admission::Verdict::wrong_name);
  CHECK(admission.reason == "the certificate is for default/web1, not for default/db1");
  domain::Credential forged = web;
  forged.instance_id = "db1";
  CHECK(bench.admit(hello, forged).verdict == domain::Admission::Verdict::revoked);
  domain::Credential unknown = web;
  unknown.serial = "77";
  CHECK(bench.greet(unknown).verdict == domain::Admission::Verdict::revoked);
  bench.now += kWeek;
  CHECK(bench.greet(web).verdict == domain::Admission::Verdict::revoked);
  CHECK_FALSE(must(backend::store::may_renew(*bench, web, bench.now)).allowed);
}

STORE_TEST_CASE("a renewed certificate leaves the old one good until the new one is first used") {
  EnrolmentBench bench;
  const domain::Credential first = bench.member("web1");
  CHECK(bench.admits(first));
  const auto early = must(backend::store::may_renew(*bench, first, bench.now));
  CHECK_FALSE(early.allowed);
  CHECK(early.is_for_now);
  bench.now += kWeek / 2;
  const auto renewal = must(backend::store::may_renew(*bench, first, bench.now));
  REQUIRE(renewal.allowed);
  must(backend::store::put_certificate(*bench, renewal.instance, first.uid, "second",
                                       base::sha256_hex("key 2"), bench.now + kWeek, bench.now));
  domain::Credential second = first;
  second.serial = "second";
  CHECK(bench.admits(first));  // the answer was lost on its way, or the agent was killed
  CHECK(bench.admits(second));
  CHECK(bench.greet(first).reason == "the certificate was revoked: replaced by a newer one");
  CHECK(bench.admits(second));
  // The key that it has is the new one from then on.
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "key 1"))));
  CHECK(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "key 2")).verdict ==
        domain::Enrolled::Verdict::enrolled);
}

STORE_TEST_CASE("an agent whose renewals never arrive is renewed all the same, and few of them are good") {
  EnrolmentBench bench;
  const domain::Credential member = bench.member("web1");
  REQUIRE(bench.admits(member));
  bench.now += kWeek / 2;
  for (int renewed = 0; renewed < 100; ++renewed) {
    const auto renewal = must(backend::store::may_renew(*bench, member, bench.now));
    REQUIRE(renewal.allowed);
    must(backend::store::put_certificate(*bench, renewal.instance, member.uid, "s" + std::to_string(renewed),
                                         "k", bench.now + kWeek, bench.now));
    const auto enrolment = must(backend::store::show_enrolment(*bench, "default", "web1"));
    CHECK(std::ranges::count(enrolment->certificates, 0, &backend::domain::CertificateRow::revoked) <= 16);
  }
  CHECK(bench.admits(member));
  CHECK(bench.admits({member.app_id, member.instance_id, member.uid, "s99"}));
}

STORE_TEST_CASE("on one connection the answer may get lost: the certificate that was shown counts, too") {
  EnrolmentBench bench;
  const domain::Credential shown = bench.member("web1");
  REQUIRE(bench.admits(shown));
  bench.now += kWeek / 2;
  const auto renewal = must(backend::store::may_renew(*bench, shown, bench.now));
  must(backend::store::put_certificate(*bench, renewal.instance, shown.uid, "second", "k", bench.now + kWeek,
                                       bench.now));
  domain::Credential newest = shown;
  newest.serial = "second";
  CHECK(must(backend::store::may_renew(*bench, newest, bench.now)).is_for_now);
  CHECK(must(backend::store::may_renew(*bench, newest, bench.now, shown)).allowed);
  // Once the new one was used, the old one counts no more.
  REQUIRE(bench.admits(newest));
  CHECK_FALSE(must(backend::store::may_renew(*bench, newest, bench.now, shown)).allowed);
  bench.now += kWeek / 2;
  CHECK(must(backend::store::may_renew(*bench, newest, bench.now, shown)).allowed);
}

STORE_TEST_CASE("renewals of one machine are few, however often it asks") {
  EnrolmentBench bench;
  const domain::Credential member = bench.member("web1");
  REQUIRE(bench.admits(member));
  bench.now += kWeek / 2;
  std::int64_t issued = 0;
  for (int asked = 0; asked < 1000; ++asked) {
    const auto renewal = must(backend::store::may_renew(*bench, member, bench.now));
    if (!renewal.allowed) {
      CHECK(renewal.is_for_now);
      continue;
    }
    must(backend::store::put_certificate(*bench, renewal.instance, member.uid, base::random_hex(8), "k",
                                         bench.now + kWeek, bench.now));
    ++issued;
  }
  CHECK(issued == backend::domain::kMostRenewals);
}

STORE_TEST_CASE("a machine that never uses what its join token gives it is refused in the end") {
  EnrolmentBench bench;
  const std::string id = bench.token("", 1);
  int enrolled = 0;
  std::string reason;
  for (int i = 0; i < 100; ++i) {
    const auto answer = bench.enrol(EnrolmentBench::request(id, "web1"));
    if (answer.verdict == domain::Enrolled::Verdict::enrolled)
      ++enrolled;
    else
      reason = answer.reason;
  }
  CHECK(enrolled == backend::domain::kMostRepeats);
  CHECK(reason.find("has used none") != std::string::npos);
  CHECK(bench.enrol(EnrolmentBench::request(bench.token("web1"), "web1")).verdict ==
        domain::Enrolled::Verdict::enrolled);
}

STORE_TEST_CASE("dead certificates and enrolments are removed, and an id stays that of its machine") {
  EnrolmentBench bench;
  const domain::Credential old = bench.member("web1", "key 1");
  REQUIRE(bench.admits(old));
  for (int i = 2; i < 30; ++i) {
    const std::string key = "key " + std::to_string(i);
    const auto anew = bench.enrol(EnrolmentBench::request(bench.token("web1"), "web1", key));
    REQUIRE(bench.admits(bench.certificate(anew, key)));
  }
  const domain::Credential gone = bench.member("web2", "key of web2");
  must(bench->set_all_offline());
  must(backend::store::forget_instance(*bench, "default", "web2", bench.now));
  CHECK(must(bench->remove_dead_certificates(bench.now, 1000)) == 0);  // none is older than this moment
  CHECK(must(bench->remove_dead_enrolments({.before = bench.now})).rows == 0);

  const auto later = bench.now + 1;
  CHECK(must(bench->remove_dead_certificates(later, 10)) == 10);
  CHECK(must(bench->remove_dead_certificates(later, 1000)) == 18);
  const auto step = must(bench->remove_dead_enrolments({.batch = 10, .before = later}));
  CHECK(step.rows == 10);
  CHECK(step.next > 0);
  const auto rest = must(bench->remove_dead_enrolments({.after = step.next, .batch = 1000, .before = later}));
  CHECK(rest.rows == 18);
  CHECK(rest.next == 0);
  // The present one works; the old ones are refused as before, and other machines do not get the id.
  const auto present = must(backend::store::show_enrolment(*bench, "default", "web1"));
  CHECK(bench.admits({"default", "web1", present->uid, present->certificates.at(0).serial}));
  CHECK(bench.greet(old).verdict == domain::Admission::Verdict::revoked);
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "key of another"))));
  // One that was forgotten comes back with its key for as long as its certificate would have been good.
  CHECK(bench.greet(gone).verdict == domain::Admission::Verdict::revoked);
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web2", "key of another"))));
  CHECK(must(bench->remove_dead_certificates(bench.now + 2 * kWeek, 1000)) == 2);
  CHECK(must(bench->remove_dead_enrolments({.before = later})).rows == 0);
  CHECK(bench.enrol(EnrolmentBench::request(bench.token(), "web2", "key of web2")).verdict ==
        domain::Enrolled::Verdict::enrolled);
}

STORE_TEST_CASE(
    "a machine whose certificate got lost on the way asks again, and no use of the token is lost") {
  EnrolmentBench bench;
  const std::string id = bench.token("", 1);
  const auto first = bench.enrol(EnrolmentBench::request(id, "web1"));
  REQUIRE(first.verdict == domain::Enrolled::Verdict::enrolled);
  bench.certificate(first);  // never used
  const auto again = bench.enrol(EnrolmentBench::request(id, "web1"));
  REQUIRE(again.verdict == domain::Enrolled::Verdict::enrolled);
  CHECK(refused(bench.enrol(EnrolmentBench::request(id, "web1", "key of another"))));
  CHECK(refused(bench.enrol(EnrolmentBench::request(id, "web2"))));
  REQUIRE(bench.admits(bench.certificate(again)));
  CHECK(refused(bench.enrol(EnrolmentBench::request(id, "web1"))));  // it has arrived
}

STORE_TEST_CASE(
    "a machine that was forgotten comes back with the key that it has, also if that is newer than its last "
    "handshake") {
  EnrolmentBench bench;
  const domain::Credential member = bench.member("web1", "key 1");
  REQUIRE(bench.admits(member));
  bench.now += kWeek / 2;
  const auto renewal = must(backend::store::may_renew(*bench, member, bench.now));
  must(backend::store::put_certificate(*bench, renewal.instance, member.uid, "new", base::sha256_hex("key 2"),
                                       bench.now + kWeek, bench.now));
  must(bench->set_all_offline());
  must(backend::store::forget_instance(*bench, "default", "web1", bench.now));
  CHECK(refused(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "key of another"))));
  CHECK(bench.enrol(EnrolmentBench::request(bench.token(), "web1", "key 2")).verdict ==
        domain::Enrolled::Verdict::enrolled);
}

STORE_TEST_CASE("a revoked machine is dead at once, after a restart too, and stays so when it is forgotten") {
  EnrolmentBench bench;
  const domain::Credential member = bench.member("web1");
  REQUIRE(bench.admits(member));
  const auto session = bench.greet(member).session;
  const auto revoked = must(backend::store::revoke(*bench, "default", "web1", "stolen", bench.now));
  CHECK_FALSE(revoked.online);
  const std::vector<backend::domain::Report> reports{StoreBench::log(1, "s")};
  CHECK(must(bench->store_reports(session, reports, bench.now)).is_superseded);
  const auto check = [&] {
    const auto refusal = bench.greet(member);
    CHECK(refusal.verdict == domain::Admission::Verdict::revoked);
    CHECK(refusal.reason == "the machine was revoked: stolen");
    CHECK_FALSE(must(backend::store::may_renew(*bench, member, bench.now)).allowed);
    CHECK_FALSE(backend::store::put_certificate(*bench, revoked.key, member.uid, "late", "k",
                                                bench.now + kWeek, bench.now));
  };
  check();
  bench.open();
  check();
  const auto shown = must(backend::store::show_enrolment(*bench, "default", "web1"));
  REQUIRE(shown);
  CHECK(shown->revoked == bench.now);
  CHECK(shown->certificates.at(0).why == "stolen");
  must(backend::store::forget_instance(*bench, "default", "web1", bench.now));
  check();
}

STORE_TEST_CASE(
    "a machine without a certificate is revoked, too, and is not let in again by being forgotten") {
  EnrolmentBench bench;
  bench.join("web1");
  must(backend::store::revoke(*bench, "default", "web1", "", bench.now));
  CHECK(bench.admit(StoreBench::handshake("web1")).verdict == domain::Admission::Verdict::revoked);
  must(backend::store::forget_instance(*bench, "default", "web1", bench.now));
  CHECK(bench.admit(StoreBench::handshake("web1")).verdict == domain::Admission::Verdict::wrong_token);
  CHECK(backend::store::revoke(*bench, "default", "nobody", "", bench.now).error().code() ==
        base::ErrorCode::not_found);
}

STORE_TEST_CASE("a machine relies on an authority until it has kept or used a certificate of another") {
  EnrolmentBench bench;
  const std::string old(64, 'a'), next(64, 'b');
  const auto still = bench.member("still"), kept = bench.member("kept"), used = bench.member("used"),
             lost = bench.member("lost"), gone = bench.member("gone"), forgotten = bench.member("forgotten");
  must(bench->adopt_authority(old, std::string(64, 'c')));  // what was issued before issuers were noted
  const auto relying = [&] {
    const auto found = must(bench->machines_relying_on(old, bench.now, 100));
    CHECK(found.count == found.some.size());
    std::string names;
    for (const auto& each : found.some)
      names += each.instance_id + " ";
    return names;
  };
  CHECK(relying() == "forgotten gone kept lost still used ");
  const auto renew = [&](const domain::Credential& credential, const std::string& serial) {
    // Long before half of its life: the next is of another authority.
    CHECK(must(backend::store::may_renew(*bench, credential, bench.now, {}, old)).is_for_now);
    const auto renewal = must(backend::store::may_renew(*bench, credential, bench.now, {}, next));
    REQUIRE(renewal.allowed);
    must(backend::store::put_certificate(*bench, renewal.instance, credential.uid, serial,
                                         base::sha256_hex(serial), bench.now + kWeek, bench.now, next));
  };
  renew(kept, "k");
  renew(used, "u");
  renew(lost, "l");  // the answer never arrives
  CHECK(relying() == "forgotten gone kept lost still used ");
  must(bench->set_certificate_kept(kept.uid, "k", bench.now));
  must(bench->set_certificate_kept(kept.uid, "l", bench.now));  // of another machine: says nothing
  domain::Credential with_new = used;
  with_new.serial = "u";
  CHECK(bench.greet(with_new).issuer == next);
  must(backend::store::revoke(*bench, "default", "gone", "test", bench.now));
  must(backend::store::forget_instance(*bench, "default", "forgotten", bench.now));
  CHECK(relying() == "lost still ");
  CHECK(bench.greet(still).issuer == old);
  CHECK(must(bench->count_machines_of(next, bench.now)) == 2);
  CHECK(must(bench->count_machines_of(old, bench.now)) == 1);  // the others have never been here
  CHECK(must(bench->machines_relying_on(old, bench.now, 1)).some.size() == 1);
  CHECK(must(bench->machines_relying_on(old, bench.now, 1)).count == 2);
  // A certificate that is over is nobody's to rely on.
  CHECK(must(bench->machines_relying_on(old, bench.now + kWeek, 100)).count == 0);
}

STORE_TEST_CASE("good join tokens are counted by the authority whose hash they have") {
  EnrolmentBench bench;
  bench.token();
  must(bench->adopt_authority("i", "c"));
  CHECK(must(bench->count_join_tokens_of("c", bench.now)) == 1);
  const std::string other = bench.token();  // of no authority yet
  CHECK(must(bench->count_join_tokens_of("c", bench.now)) == 1);
  must(bench->adopt_authority("i", "d"));
  CHECK(must(bench->count_join_tokens_of("d", bench.now)) == 1);
  must(bench->revoke_join_token(other, bench.now));
  CHECK(must(bench->count_join_tokens_of("d", bench.now)) == 0);
  CHECK(must(bench->count_join_tokens_of("c", bench.now + kWeek)) == 0);
}
