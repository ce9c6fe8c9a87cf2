#include "ctl/doctor.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "ctl/api.hpp"
#include "ctl/fields.hpp"

namespace {

const ctl::Instant kNow = *ctl::parse_instant("2026-03-01T12:00:00Z");

// "check" of a finding, "(check)" of a note.
std::vector<std::string> checks(const char* installation, const char* tokens = "[]",
                                const char* apps = "[]") {
  const ctl::Document first{std::string(installation)}, second{std::string(tokens)}, third{std::string(apps)};
  std::vector<std::string> names;
  for (const ctl::Finding& each :
       ctl::find_faults(first.root(), second.root().items(), third.root().items(), kNow)) {
    CHECK_FALSE(each.what.empty());
    CHECK_FALSE(each.advice.empty());
    names.push_back(each.is_note ? "(" + each.check + ")" : each.check);
  }
  return names;
}

using Names = std::vector<std::string>;

constexpr const char* kGood =
    R"({"listeners":[{"address":"0.0.0.0:8963","tls":true,"loopback":false}],
        "authority":{"expires":"2036-01-01T00:00:00Z"},"allow_v1":false})";

}  // namespace

TEST_CASE("doctor finds nothing in an installation as it should be") {
  CHECK(checks(kGood, R"([{"name":"ann","role":"operator","scope":"role=web","created_by":"admin",
                           "expires":"2026-05-01T00:00:00Z","revoked":null},
                          {"name":"admin","role":"admin","scope":null,"created_by":"opsbackend",
                           "expires":null,"revoked":null,"last_used":"2026-01-01T00:00:00Z"},
                          {"name":"gone","role":"operator","scope":null,"expires":null,
                           "revoked":"2026-01-01T00:00:00Z"},
                          {"name":"over","role":"operator","scope":null,"expires":"2026-01-01T00:00:00Z",
                           "revoked":null}])",
               R"([{"app_id":"default","report":"all"},{"app_id":"shop","trust_self_reported":"off"},
                   {"app_id":"x","trust_self_reported":[]}])")
            .empty());
}

TEST_CASE(
    "doctor finds open scopes, eternal tokens, plain listeners, an old authority, version 1, trusting apps") {
  CHECK(checks(kGood, R"([{"name":"a","role":"operator","scope":null,"expires":"2027-01-01T00:00:00Z"}])") ==
        Names{"open_scope"});
  CHECK(checks(kGood, R"([{"name":"a","role":"admin","scope":null,"expires":null,"created_by":"admin"}])") ==
        Names{"eternal_token"});
  CHECK(checks(kGood, R"([{"name":"a","role":"viewer","scope":null,"expires":"2026-03-02T00:00:00Z"}])") ==
        Names{"(open_viewer)", "(token_ends)"});
  CHECK(checks(kGood, R"([{"name":"admin","role":"admin","scope":null,"expires":null,
                           "created_by":"opsbackend","last_used":"2026-03-01T11:00:00Z"}])") ==
        Names{"(admin_token_used)"});
  CHECK(checks(R"({"listeners":[{"address":"127.0.0.1:1","tls":false}],"authority":null,"allow_v1":true})") ==
        Names{"plain_listener", "allows_v1"});
  CHECK(checks(R"({"listeners":[],"authority":{"expires":"2026-12-01T00:00:00Z"}})") ==
        Names{"authority_ends"});
  CHECK(checks(kGood, "[]", R"([{"app_id":"a","trust_self_reported":"named"},
                                {"app_id":"b","trust_self_reported":["role"]}])") ==
        Names{"trusts_self_reported", "trusts_self_reported"});
  CHECK(checks("null") == Names{"(old_backend)"});
}
