// Keys and signed documents, for tests.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/sha256.hpp"
#include "release/documents.hpp"
#include "release/signatures.hpp"

namespace release::testing {

inline SigningKey new_key() {
  auto key = SigningKey::generate();
  REQUIRE(key);
  return std::move(*key);
}

inline Instant at(std::int64_t seconds) {
  return Instant(std::chrono::seconds(1'800'000'000 + seconds));  // 2027-01-15T08:00:00Z
}
inline constexpr std::int64_t kHour = 3600, kDay = 24 * 3600;

inline std::string signed_by(std::initializer_list<const SigningKey*> keys, std::string_view document) {
  std::vector<Signature> signatures;
  for (const SigningKey* key : keys) {
    auto bytes = key->sign(document);
    REQUIRE(bytes);
    signatures.push_back({key->public_key().id(), *bytes});
  }
  return write(signatures);
}

using Keys = std::vector<const SigningKey*>;

inline RoleKeys role_of(Role role, std::uint32_t threshold, const Keys& keys) {
  RoleKeys made{.role = role, .threshold = threshold, .keys = {}};
  for (const SigningKey* key : keys)
    made.keys.push_back(key->public_key().id());
  return made;
}

inline Root root_of(std::uint64_t version, const Keys& root, std::uint32_t root_threshold,
                    const Keys& release, const Keys& timestamp) {
  Root made;
  made.version = version;
  made.expires = at(365 * kDay);
  for (const Keys* keys : {&root, &release, &timestamp})
    for (const SigningKey* key : *keys) {
      bool known = false;
      for (const PublicKey& other : made.keys)
        known |= other.id() == key->public_key().id();
      if (!known) made.keys.push_back(key->public_key());
    }
  made.roles = {role_of(Role::root, root_threshold, root), role_of(Role::release, 1, release),
                role_of(Role::timestamp, 1, timestamp)};
  return made;
}

inline Release release_of(std::string version, std::uint64_t number) {
  Release made;
  made.version = std::move(version);
  made.number = number;
  made.expires = at(90 * kDay);
  made.targets = {{.os = "linux",
                   .arch = "amd64",
                   .size = 1000,
                   .sha256 = base::sha256_hex(made.version),
                   .path = "files/opsagent-" + made.version + "-linux-amd64.tar.gz"}};
  return made;
}

inline Offer offer_of(const Release& release) {
  return {.channel = release.channel,
          .version = release.version,
          .number = release.number,
          .sha256 = base::sha256_hex(write(release)),
          .path = "releases/" + std::to_string(release.number) + ".json"};
}

inline Timestamp timestamp_of(std::uint64_t version, std::vector<Offer> offers) {
  Timestamp made;
  made.version = version;
  made.expires = at(2 * kDay);
  made.offers = std::move(offers);
  return made;
}

}  // namespace release::testing
