// An archive that is not, byte for byte, the one that was signed is not unpacked: step 4 of an update.
#include <algorithm>
#include <filesystem>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "agent/updater/candidate.hpp"
#include "base/sha256.hpp"
#include "tests/support/release_archives.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

using agent::updater::Attempt;
using agent::updater::Candidate;
using agent::updater::Settings;
using agent::updater::StepFailure;
using release::testing::tar_file;
using release::testing::tar_folder;

constexpr int kFlips = 10'000;
constexpr std::uint32_t kSeed = 20261117;

std::string noise(std::size_t size) {
  std::mt19937 random(kSeed);
  std::string bytes(size, '\0');
  for (char& c : bytes)
    c = static_cast<char>(random());
  return bytes;
}

// As scripts/release makes them, but for their size: programs, libraries that do not compress, a manifest.
std::string archive_of(const std::string& version) {
  const std::string program = "#!/bin/sh\n[ \"$1\" = self-test ]\n", unit = "[Service]\nType=notify\n";
  const std::string library = noise(6'000);
  const auto line = [](const std::string& content, const std::string& mode, const std::string& path) {
    return "file " + base::sha256_hex(content) + " " + mode + " " + std::to_string(content.size()) + " " +
           path + "\n";
  };
  const std::string manifest =
      "opsagent " + version + "\ntarget linux amd64\nglibc 2.36\n" + line(program, "0755", "bin/opsagent") +
      line(library, "0644", "lib/libcrypto.so.3") + line(unit, "0644", "share/opsagent.service");
  return release::testing::gzipped(tar_folder("bin") + tar_file("bin/opsagent", program, true) +
                                   tar_folder("lib") + tar_file("lib/libcrypto.so.3", library) +
                                   tar_file("manifest", manifest) + tar_folder("share") +
                                   tar_file("share/opsagent.service", unit) + release::testing::tar_end());
}

// A machine that has this archive's release document, and gets an archive.
class Machine {
 public:
  Machine(const std::string& signed_archive, const std::string& below) : folder_(below) {
    candidate_.version = "1.4.0";
    candidate_.release = 7;
    candidate_.target.size = signed_archive.size();
    candidate_.target.sha256 = base::sha256_hex(signed_archive);
    candidate_.folder = update::Layout::folder_name(candidate_.version, candidate_.target.sha256);
    settings_.prefix = folder_.path();
    folder_.folder("staging");
    folder_.folder("versions");
  }

  Attempt<std::monostate> verify(std::string_view archive) {
    folder_.write("staging/" + candidate_.folder + ".part", archive);
    base::NoInterrupt never;
    return agent::updater::verify_archive(settings_, candidate_, never);
  }
  // "" when it is refused for its hash, and nothing of it is left; else what is wrong.
  std::string objection_to_refusal(std::string_view archive) {
    const auto verified = verify(archive);
    const auto* stumble = std::get_if<StepFailure>(&verified);
    if (!stumble) return "accepted";
    if (stumble->event != update::Event::refused) return "not refused: " + stumble->reason;
    if (stumble->reason != "the archive is not the one that was signed: its hash differs")
      return stumble->reason;
    if (folder_.count("staging") != 0) return "something stays in staging/";
    if (folder_.count("versions") != 0) return "something is in versions/";
    return "";
  }
  bool adopt() {
    return std::holds_alternative<std::monostate>(agent::updater::adopt_version(settings_, candidate_));
  }
  std::string read(const std::string& path) const {
    return folder_.read("versions/" + candidate_.folder + "/" + path);
  }

 private:
  tests::ScratchFolder folder_;
  Settings settings_;
  Candidate candidate_;
};

// The test would say nothing if the archive itself were no good. On a disk: programs need not start from
// memory.
void check_accepted(const std::string& archive) {
  Machine machine(archive, std::filesystem::temp_directory_path().string());
  const auto verified = machine.verify(archive);
  if (const auto* stumble = std::get_if<StepFailure>(&verified)) FAIL(stumble->reason);
  REQUIRE(machine.adopt());
  CHECK(machine.read("manifest").starts_with("opsagent 1.4.0\n"));
  CHECK(machine.read("lib/libcrypto.so.3") == noise(6'000));
}

}  // namespace

TEST_CASE("ten thousand one-byte flips over the archive: none is accepted, none leaves anything") {
  const std::string good = archive_of("1.4.0");
  Machine machine(good, tests::folder_in_memory());
  std::mt19937 random(kSeed);
  int wrong = 0;
  std::vector<bool> touched(good.size());
  for (int i = 0; i < kFlips; ++i) {
    std::string archive = good;
    const std::size_t where = random() % archive.size();
    const unsigned mask = 1U << (random() % 8);
    archive[where] = static_cast<char>(static_cast<unsigned char>(archive[where]) ^ mask);
    touched[where] = true;
    if (const std::string objection = machine.objection_to_refusal(archive); !objection.empty()) {
      ++wrong;
      MESSAGE("byte " << where << ", mask " << mask << ": " << objection);
    }
  }
  CHECK(wrong == 0);
  // They are everywhere, not in a corner.
  CHECK(std::ranges::count(touched, true) > static_cast<std::ptrdiff_t>(good.size() / 2));
  check_accepted(good);
}

TEST_CASE("an archive that is cut short anywhere, or goes on, is not accepted and leaves nothing") {
  const std::string good = archive_of("1.4.0");
  Machine machine(good, tests::folder_in_memory());
  for (std::size_t size = 0; size < good.size(); size += size < 64 || size + 64 > good.size() ? 1 : 13) {
    CAPTURE(size);
    CHECK(machine.objection_to_refusal(good.substr(0, size)) == "");
  }
  for (const std::string& more : {std::string(1, '\0'), std::string("\n"), std::string(512, '\0'), good}) {
    CAPTURE(more.size());
    CHECK(machine.objection_to_refusal(good + more) == "");
    CHECK(machine.objection_to_refusal(more + good) == "");
  }
  check_accepted(good);
}

TEST_CASE("an archive of the right hash and the wrong content is given up, and its version is not there") {
  const std::string other = archive_of("1.4.1");
  Machine machine(other, tests::folder_in_memory());
  const auto verified = machine.verify(other);
  const auto* stumble = std::get_if<StepFailure>(&verified);
  REQUIRE(stumble != nullptr);
  CHECK(stumble->event == update::Event::failed);
  CHECK(stumble->reason == "the archive is of 'opsagent 1.4.1', not of opsagent 1.4.0");
  CHECK_FALSE(stumble->retryable);
  CHECK(machine.read("manifest") == "");
}
