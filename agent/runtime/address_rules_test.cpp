#include "agent/runtime/address_rules.hpp"

#include <doctest/doctest.h>

using namespace agent::runtime;

namespace {

bool names(const std::optional<std::string>& why, std::string_view word) {
  return why && why->find(word) != std::string::npos;
}

AddressRules rules_of(const std::vector<std::string>& own, bool is_member,
                      const std::vector<std::string>& entries = {}) {
  AddressRules rules{.is_member = is_member, .hosts = AllowedHosts(own, entries)};
  for (const std::string& uri : own)
    rules.is_own_secure = rules.is_own_secure || uri.starts_with("wss:");
  return rules;
}

}  // namespace

TEST_CASE("which addresses of its own configuration a machine uses") {
  struct Row {
    const char* uri;
    bool is_member, allow_plain, is_used;
  };
  // A trial on this machine; a member; plain to another machine, allowed and not.
  for (const Row& row : {Row{"ws://127.0.0.1:8963/agent/", false, false, true},
                         Row{"ws://localhost/agent/", false, false, true},
                         Row{"ws://[::1]:1/", false, false, true},
                         Row{"ws://127.0.0.2/", false, false, true},
                         Row{"wss://ops.example.com/agent/", false, false, true},
                         Row{"wss://127.evil.example/", false, false, true},
                         Row{"ws://127.evil.example/", false, false, false},
                         Row{"ws://127.0.0.1.evil.example/", false, false, false},
                         Row{"ws://127.1/", false, false, false},
                         Row{"ws://2130706433/", false, false, false},
                         Row{"ws://localhost.evil.example/", false, false, false},
                         Row{"ws://[::ffff:127.0.0.1]/", false, false, false},
                         Row{"ws://ops.example.com/", false, false, false},
                         Row{"ws://ops.example.com/", false, true, true},
                         Row{"ws://127.0.0.1:8963/agent/", true, false, false},
                         Row{"ws://127.0.0.1:8963/agent/", true, true, false},
                         Row{"ws://localhost/", true, true, false},
                         Row{"ws://[::1]/", true, true, false},
                         Row{"ws://ops.example.com/", true, true, false},
                         Row{"WS://127.0.0.1/", true, false, false},
                         Row{"wss://127.0.0.1:8963/agent/", true, false, true},
                         Row{"wss://ops.example.com/agent/", true, false, true},
                         Row{"http://127.0.0.1/", false, true, false},
                         Row{"https://127.0.0.1/", true, true, false},
                         Row{"nonsense", false, true, false},
                         Row{"", false, true, false}}) {
    CAPTURE(row.uri);
    CAPTURE(row.is_member);
    CAPTURE(row.allow_plain);
    const auto why = refuse_uri(row.uri, {.is_member = row.is_member, .allow_plain = row.allow_plain});
    CHECK_MESSAGE(!why == row.is_used, why.value_or("used"));
  }
}

TEST_CASE("what a backend names is held to what the machine's own configuration lists") {
  const AddressRules member = rules_of({"wss://backend.example.com:8963/agent/"}, true);
  CHECK_FALSE(refuse_named_uri("wss://backend.example.com/other/", member));
  CHECK_FALSE(refuse_named_uri("wss://b2.example.com:1/", member));
  CHECK(names(refuse_named_uri("ws://127.0.0.1:8963/agent/", member), "wss:// only"));
  CHECK(names(refuse_named_uri("ws://127.evil.example/", member), "wss:// only"));
  CHECK(names(refuse_named_uri("ws://backend.example.com/", member), "wss:// only"));
  CHECK(names(refuse_named_uri("wss://127.0.0.1:8963/agent/", member), "allowed_backend_host"));
  CHECK(names(refuse_named_uri("wss://127.evil.example/", member), "does not list"));
  CHECK(
      names(refuse_named_uri("wss://evil.example/", member), "it lists backend.example.com, *.example.com"));
  CHECK(names(refuse_named_uri("wss://backend.example.com.evil.example/", member), "does not list"));
  CHECK(names(refuse_named_uri("wss://evilexample.com/", member), "does not list"));
  CHECK(names(refuse_named_uri("wss://backend.example.com@evil.example/", member), "names or passwords"));
  CHECK(names(refuse_named_uri("http://backend.example.com/", member), "wss://"));

  // Without a certificate, but over TLS (ca_file): it is not led to where nobody proves who they are.
  const AddressRules by_ca = rules_of({"wss://127.0.0.1:1/"}, false);
  CHECK(names(refuse_named_uri("ws://127.0.0.1:2/", by_ca), "own configuration says wss://"));
  // A trial on one machine.
  const AddressRules trial = rules_of({"ws://127.0.0.1:1/"}, false);
  CHECK_FALSE(refuse_named_uri("ws://127.0.0.1:2/", trial));
  CHECK(refuse_named_uri("ws://127.0.0.2:2/", trial));
  CHECK(refuse_named_uri("ws://localhost:2/", trial));
}

TEST_CASE("the hosts that are allowed when the configuration lists none") {
  struct Row {
    const char* own;
    const char* host;
    bool is_allowed;
  };
  for (const Row& row :
       {Row{"backend.example.com", "backend.example.com", true},
        Row{"backend.example.com", "b2.example.com", true},
        Row{"backend.example.com", "example.com", false},
        Row{"backend.example.com", "a.b.example.com", false},
        Row{"backend.example.com", "b2.example.com.", false},
        Row{"backend.example.com", ".example.com", false},
        Row{"backend.example.com", "b2.example.org", false},
        Row{"backend.example.com", "xexample.com", false},
        Row{"example.com", "example.com", true},
        Row{"example.com", "evil.com", false},
        Row{"ops.example.co.uk", "b2.example.co.uk", true},
        Row{"example.co.uk", "evil.co.uk", false},
        Row{"example.com.au", "evil.com.au", false},
        Row{"example.gov.br", "evil.gov.br", false},
        Row{"example.uk.com", "evil.uk.com", false},
        Row{"example.eu.org", "evil.eu.org", false},
        Row{"example.info.pl", "evil.info.pl", false},
        Row{"ops.example.de", "b2.example.de", true},
        Row{"ops.ibm.de", "b2.ibm.de", false},  // too short to tell from a registry's
        Row{"me.github.io", "you.github.io", false},
        Row{"ec2-1.eu-west-1.compute.amazonaws.com", "ec2-2.eu-west-1.compute.amazonaws.com", false},
        Row{"backend", "backend", true},
        Row{"backend", "other", false},
        Row{"ops.internal", "other.internal", false},
        Row{"ops.corp.internal", "b2.corp.internal", true},
        Row{"10.0.0.1", "10.0.0.1", true},
        Row{"10.0.0.1", "10.0.0.2", false},
        Row{"10.0.0.1", "x.0.0.1", false},
        Row{"[2001:db8::1]", "2001:db8::1", true},
        Row{"[2001:db8::1]", "2001:db8::2", false},
        Row{"127.0.0.1", "127.0.0.1", true},
        Row{"127.0.0.1", "localhost", false},
        Row{"127.0.1", "x.0.1", false}}) {
    CAPTURE(row.own);
    CAPTURE(row.host);
    const AllowedHosts hosts({"wss://" + std::string(row.own) + ":8963/agent/"}, {});
    CHECK(hosts.allows(row.host) == row.is_allowed);
  }
  const AllowedHosts several({"wss://a.example.com/", "wss://10.0.0.1/", "wss://b.example.org/"}, {});
  CHECK(several.allows("10.0.0.1"));
  CHECK(several.allows("b.example.org"));
  CHECK_FALSE(several.allows("c.example.org"));  // only the first one brings its siblings
  CHECK(several.allows("c.example.com"));
  CHECK_FALSE(AllowedHosts({}, {}).allows("localhost"));
}

TEST_CASE("entries of the configuration take the place of the default") {
  const AllowedHosts hosts({"wss://a.example.com/"}, {"b.example.net", "*.ops.example.org", "10.0.0.9"});
  CHECK(hosts.allows("a.example.com"));
  CHECK(hosts.allows("b.example.net"));
  CHECK(hosts.allows("x.ops.example.org"));
  CHECK(hosts.allows("10.0.0.9"));
  CHECK_FALSE(hosts.allows("b.example.com"));
  CHECK_FALSE(hosts.allows("ops.example.org"));
  CHECK_FALSE(hosts.allows("x.y.ops.example.org"));

  CHECK(*parse_allowed_host("B2.Example.COM") == "b2.example.com");
  CHECK(*parse_allowed_host("*.Example.com") == "*.example.com");
  CHECK(*parse_allowed_host("10.0.0.1") == "10.0.0.1");
  CHECK(*parse_allowed_host("[2001:DB8::1]") == "2001:db8::1");
  for (const char* wrong : {"",
                            "*",
                            "*.",
                            "*.com",
                            "*.co.uk",
                            "*.com.au",
                            "*.github.io",
                            "*.compute.amazonaws.com",
                            "a.*.example.com",
                            "*.*.example.com",
                            "a..example.com",
                            ".example.com",
                            "example.com.",
                            "a b",
                            "a/b",
                            "wss://a.example.com",
                            "a:8963",
                            "127.1",
                            "*.0.0.1",
                            "a.example.com\n"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_allowed_host(wrong));
  }
}
