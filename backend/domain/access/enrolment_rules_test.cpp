// Who may enrol: each row of the table is a request, what is stored, and what comes of it.
#include "backend/domain/access/enrolment_rules.hpp"

#include <doctest/doctest.h>

#include "backend/domain/access/certificate_rules.hpp"

namespace backend::domain {

namespace {

constexpr Millis kNow = 1000;

JoinToken good_token() {
  return {.id = "t1",
          .secret_hash = "hash",
          .app_id = "shop",
          .instance_id = "",
          .name_pattern = "*",
          .tags = {},
          .uses_total = 1,
          .uses_left = 1,
          .expires = kNow + 1,
          .created = 1,
          .revoked = 0,
          .created_by = "ann"};
}

EnrolRequest good_request() {
  return {.token_id = "t1", .secret_hash = "hash", .app_id = "", .instance_id = "web1", .key_hash = "key"};
}

Enrolment current_enrolment(const std::string& key_hash) {
  Enrolment enrolment;
  enrolment.app_id = "shop";
  enrolment.instance_id = "web1";
  enrolment.uid = "uid";
  enrolment.key_hash = key_hash;
  enrolment.token_id = "t0";
  enrolment.current = true;
  return enrolment;
}

CertificateRow ended_certificate(Millis revoked, std::string_view why) {
  CertificateRow row;
  row.key_hash = "key";
  row.revoked = revoked;
  row.why = why;
  return row;
}

EnrolmentDecision decide_with(const EnrolRequest& request, const JoinToken& token,
                              const EnrolmentFacts& facts = {}) {
  return decide_enrolment(request, token, facts, choose_name(request, token, {}));
}

}  // namespace

TEST_CASE("a join token of no use is refused without a word about why, which the audit has") {
  struct Row {
    const char* detail;
    std::optional<JoinToken> token;
  };
  const auto changed = [](auto change) {
    JoinToken token = good_token();
    change(token);
    return token;
  };
  const Row rows[] = {
      {"the join token is not known", std::nullopt},
      {"the join token's secret is wrong", changed([](JoinToken& t) { t.secret_hash = "other"; })},
      {"the join token was revoked", changed([](JoinToken& t) { t.revoked = 5; })},
      {"the join token has expired", changed([](JoinToken& t) { t.expires = kNow; })},
  };
  for (const Row& row : rows) {
    CAPTURE(row.detail);
    const auto refusal = refuse_join_token(good_request(), row.token, kNow);
    REQUIRE(refusal);
    CHECK(refusal->detail == row.detail);
    CHECK(refusal->is_bad_token);
    CHECK(refusal->refusal.starts_with("this join token is of no use"));
  }
  CHECK_FALSE(refuse_join_token(good_request(), good_token(), kNow));
  JoinToken used = good_token();
  used.uses_left = 0;
  const auto refusal = decide_with(good_request(), used);
  CHECK(refusal.is_bad_token);
  CHECK(refusal.detail == "the join token is used up");
}

TEST_CASE("the join token's names go before the machine's, and a machine without a name gets one") {
  EnrolRequest request = good_request();
  JoinToken token = good_token();
  CHECK(decide_with(request, token).instance_id == "web1");
  token.instance_id = "db1";
  CHECK(decide_with(request, token).instance_id == "db1");
  CHECK(decide_with(request, token).app_id == "shop");
  token.instance_id.clear();
  request.instance_id.clear();
  CHECK(decide_with(request, token).instance_id.starts_with("i-"));
  request.app_id = "other";
  CHECK(decide_with(request, token).refusal == "the join token is for the app 'shop', not for 'other'");
  request = good_request();
  request.instance_id = "a/b";
  CHECK(decide_with(request, token).refusal.starts_with("the instance_id "));
  request = good_request();
  request.key_hash.clear();
  CHECK(decide_with(request, token).refusal == "the request has no public key");
}

TEST_CASE("a machine gets the name that it wishes if the join token allows it, and else one that is made") {
  struct Row {
    const char* pattern;
    const char* wish;
    const char* name;  // "": made
  };
  const Row rows[] = {
      {"", "db-prod-7", ""},            // a token that allows no names
      {"", "", ""},                     //
      {"*", "db-prod-7", "db-prod-7"},  // any
      {"*", "", ""},                    //
      {"web-*", "web-1", "web-1"},      //
      {"web-*", "web-", "web-"},        //
      {"web-*", "db-prod-7", ""},       //
      {"web-*", "xweb-1", ""},          //
      {"*-eu", "web-eu", "web-eu"},     //
      {"*-eu", "web-us", ""},           //
      {"web1", "web1", "web1"},         // one name
      {"web1", "web2", "web1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.pattern);
    CAPTURE(row.wish);
    JoinToken token = good_token();
    token.name_pattern = row.pattern;
    EnrolRequest request = good_request();
    request.instance_id = row.wish;
    const std::string name = choose_name(request, token, {});
    if (std::string_view(row.name).empty()) {
      CHECK(name != row.wish);
      CHECK(name == choose_name(request, token, {}));  // it asks again, and is the same
      CHECK(decide_with(request, token).refusal.empty());
      request.key_hash = "another";
      CHECK(name != choose_name(request, token, {}));
      const std::string_view pattern = row.pattern;
      if (pattern == "web-*") CHECK(name.starts_with("web-"));
      if (pattern == "*-eu") CHECK(name.ends_with("-eu"));
      if (pattern.empty() || pattern == "*") CHECK(name.starts_with("i-"));
    } else {
      CHECK(name == row.name);
    }
    // The key of a machine that has a name: it keeps it, unless the token says otherwise.
    Enrolment known = current_enrolment("key");
    known.instance_id = "its-name";
    const bool is_allowed = !std::string_view(row.wish).empty() && name == row.wish;
    CHECK(choose_name(request, token, known) == (is_allowed ? row.wish : "its-name"));
    token.instance_id = "given";
    CHECK(choose_name(request, token, known) == "given");
  }
}

TEST_CASE("a pattern of names has only what names may have") {
  for (const char* good : {"*", "web-*", "*-eu", "a*b*c", "web1"})
    CHECK_MESSAGE(problem_of_name_pattern(good).empty(), good);
  for (const char* bad : {"-web*", "a b*", "a/*", "*****", "web-*\n", "é*"})
    CHECK_MESSAGE(!problem_of_name_pattern(bad).empty(), bad);
  CHECK_FALSE(problem_of_name_pattern(std::string(120, 'a') + "*").empty());
}

TEST_CASE("a name that is taken needs a join token that names it, or the machine's own key") {
  struct Row {
    const char* name;
    EnrolmentFacts facts;
    const char* refusal;  // a part of it; "": it may
  };
  Enrolment revoked = current_enrolment("key");
  revoked.revoked = 5;
  const Row rows[] = {
      {"nobody has it", {}, ""},
      {"its own key", {.newest = current_enrolment("key")}, ""},
      {"another key", {.newest = current_enrolment("other")}, "is the id of another machine"},
      {"a key that it was given and has not used",
       {.newest = current_enrolment("other"), .with_requested_key = {ended_certificate(0, "")}},
       ""},
      {"a key that ended when it was forgotten",
       {.newest = current_enrolment("other"), .with_requested_key = {ended_certificate(5, kForgotten)}},
       ""},
      {"a key that ended otherwise",
       {.newest = current_enrolment("other"), .with_requested_key = {ended_certificate(5, kReplaced)}},
       "is the id of another machine"},
      {"its own key, revoked", {.newest = revoked}, "was revoked"},
      {"known with an instance_token", {.instance_exists = true}, "is known already"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    JoinToken token = good_token();
    const auto decision = decide_with(good_request(), token, row.facts);
    CHECK(decision.refusal.empty() == std::string_view(row.refusal).empty());
    CHECK(decision.refusal.find(row.refusal) != std::string::npos);
    CHECK_FALSE(decision.is_bad_token);
    token.instance_id = "web1";
    CHECK(decide_with(good_request(), token, row.facts).refusal.empty());
  }
}

TEST_CASE("a request that was answered before, and whose certificate was never used, costs no second use") {
  JoinToken used = good_token();
  used.uses_left = 0;
  EnrolmentFacts facts{.newest = current_enrolment("key")};
  facts.newest->token_id = "t1";
  CHECK(decide_with(good_request(), used, facts).repeats);
  facts.with_token = kMostRepeats - 1;
  CHECK(decide_with(good_request(), used, facts).refusal.empty());
  facts.with_token = kMostRepeats;
  CHECK(decide_with(good_request(), used, facts).refusal.find("has used none") != std::string::npos);
  facts.with_token = 0;
  CHECK(decide_with(good_request(), used, facts).refusal.empty());
  const auto is_refused = [&](auto change) {
    EnrolmentFacts other = facts;
    change(other);
    return decide_with(good_request(), used, other).is_bad_token;
  };
  CHECK(is_refused([](EnrolmentFacts& f) { f.has_used_certificate = true; }));
  CHECK(is_refused([](EnrolmentFacts& f) { f.newest->current = false; }));
  CHECK(is_refused([](EnrolmentFacts& f) { f.newest->revoked = 5; }));
  CHECK(is_refused([](EnrolmentFacts& f) { f.newest->token_id = "t2"; }));
  CHECK(is_refused([](EnrolmentFacts& f) { f.newest->key_hash = "other"; }));
}

}  // namespace backend::domain
