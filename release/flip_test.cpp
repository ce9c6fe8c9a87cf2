// None of many one-byte flips is accepted.
#include <random>

#include <doctest/doctest.h>

#include "release/trust.hpp"
#include "tests/support/release_documents.hpp"

using namespace release;
using namespace release::testing;

namespace {

constexpr int kFlips = 10'000;
constexpr std::uint32_t kSeed = 20261116;

// The six files that an update reads. More have signed than must: what a signature too many says counts too.
struct Files {
  std::string root, root_sig, timestamp, timestamp_sig, release, release_sig;

  std::string& at(std::size_t index) {
    std::string* const all[] = {&root, &root_sig, &timestamp, &timestamp_sig, &release, &release_sig};
    return *all[index];
  }
};

bool accepted(const Memory& memory, const Files& files, const Machine& machine) {
  auto trust = Trust::open(memory);
  REQUIRE(trust);
  if (!trust->take_root(files.root, files.root_sig)) return false;
  auto stamp = trust->take_timestamp(files.timestamp, files.timestamp_sig, at(0));
  if (!stamp) return false;
  auto offer = trust->choose(*stamp, machine, "1.4.0");
  return offer && trust->take_release(*offer, files.release, files.release_sig, machine, at(0));
}

}  // namespace

TEST_CASE("ten thousand one-byte flips over documents and signatures: none is accepted") {
  const SigningKey a = new_key(), b = new_key(), c = new_key(), d = new_key(), e = new_key();
  const Memory memory{.root = write(root_of(1, {&a, &b}, 1, {&c}, {&d}))};
  const Release release = release_of("1.4.0", 7);
  Files good;
  good.root = write(root_of(2, {&a, &b, &e}, 1, {&c, &e}, {&d, &e}));
  good.timestamp = write(timestamp_of(12, {offer_of(release)}));
  good.release = write(release);
  good.root_sig = signed_by({&a, &b, &e}, good.root);
  good.timestamp_sig = signed_by({&d, &e}, good.timestamp);
  good.release_sig = signed_by({&c, &e}, good.release);
  const Machine machine{.os = "linux", .arch = "amd64", .channel = "stable", .version = "1.3.0"};
  REQUIRE(accepted(memory, good, machine));

  std::mt19937 random(kSeed);
  int wrong = 0;
  for (int i = 0; i < kFlips; ++i) {
    Files files = good;
    std::string& file = files.at(static_cast<std::size_t>(i) % 6);
    const std::size_t where = random() % file.size();
    // Half of them one bit, half of them any other byte.
    const auto mask = i % 12 < 6 ? 1U << (random() % 8) : 1 + random() % 255;
    file[where] = static_cast<char>(static_cast<unsigned char>(file[where]) ^ mask);
    if (accepted(memory, files, machine)) {
      ++wrong;
      MESSAGE("accepted: file " << i % 6 << ", byte " << where << ", mask " << mask);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a document that is cut short, or goes on, is not accepted") {
  const SigningKey a = new_key();
  const Memory memory{.root = write(root_of(1, {&a}, 1, {&a}, {&a}))};
  const Release release = release_of("1.4.0", 7);
  Files good;
  good.root = write(root_of(2, {&a}, 1, {&a}, {&a}));
  good.timestamp = write(timestamp_of(12, {offer_of(release)}));
  good.release = write(release);
  good.root_sig = signed_by({&a}, good.root);
  good.timestamp_sig = signed_by({&a}, good.timestamp);
  good.release_sig = signed_by({&a}, good.release);
  const Machine machine{.os = "linux", .arch = "amd64", .channel = "stable", .version = ""};
  REQUIRE(accepted(memory, good, machine));
  for (std::size_t which = 0; which < 6; ++which) {
    for (std::size_t size = 0; size < good.at(which).size(); size += 7) {
      Files files = good;
      files.at(which).resize(size);
      CHECK_FALSE(accepted(memory, files, machine));
    }
    for (const std::string_view more :
         {std::string_view("\n"), std::string_view(" "), std::string_view("\0", 1),
          std::string_view("\0x", 2), std::string_view("{}")}) {
      Files files = good;
      files.at(which) += more;
      CHECK_FALSE(accepted(memory, files, machine));
    }
  }
}
