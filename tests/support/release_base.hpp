// A release base in a scratch folder, for tests of the repository.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "release/repository.hpp"
#include "release/trust.hpp"
#include "tests/support/release_archives.hpp"
#include "tests/support/release_documents.hpp"
#include "tests/support/scratch_folder.hpp"

namespace release::testing {

// A release base with a key for each role.
struct Base {
  tests::ScratchFolder scratch;
  SigningKey root = new_key(), release = new_key(), timestamp = new_key();
  Repository repository{scratch / "base"};

  RootChoice choice() const {
    return {.roles = {{Role::root, {.keys = {root.public_key()}}},
                      {Role::release, {.keys = {release.public_key()}}},
                      {Role::timestamp, {.keys = {timestamp.public_key()}}}},
            .expires = at(365 * kDay)};
  }
  void begin() {
    auto placed = repository.create_root(choice(), {root});
    REQUIRE_MESSAGE(placed, placed.error().message());
    REQUIRE(placed->missing.empty());
  }
  std::string archive(const std::string& version, const std::string& arch = "amd64",
                      const std::string& inside = {}) const {
    const std::string name = "in/opsagent-" + version + "-linux-" + arch + ".tar.gz";
    scratch.write(name, gzipped(tar_file("manifest", "opsagent " + (inside.empty() ? version : inside) +
                                                         "\ntarget linux " + arch + "\n") +
                                tar_end()));
    return scratch / name;
  }
  Publication of(const std::string& version, std::vector<std::string> archives) const {
    return {.archives = std::move(archives),
            .version = version,
            .expires = at(90 * kDay),
            .timestamp_expires = at(2 * kDay)};
  }
  Published publish(const std::string& version) {
    auto published = repository.publish(of(version, {archive(version)}), {release}, {timestamp}, at(0));
    REQUIRE_MESSAGE(published, published.error().message());
    return std::move(*published);
  }
  // "" when an agent would believe all of it.
  std::string wrong(Instant now = at(0)) const {
    std::string text;
    for (const Checked& each : repository.check("", now))
      if (!each.is_good) text += each.text + "\n";
    return text;
  }
  std::string offered() const {
    std::string text;
    auto listed = repository.list();
    REQUIRE(listed);
    for (const Listed& each : *listed)
      if (each.is_offered) text += each.release.version + " ";
    return text;
  }
};

}  // namespace release::testing
