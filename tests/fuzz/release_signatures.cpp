// Signature files, as a release base sends them: first their form, then whom they are taken for. The root
// below has two keys that must both sign; what they signed, once, is all that there is. The private parts
// are gone.
#include "release/signatures.hpp"
#include "tests/fuzz/fuzz.hpp"

using fuzz::require;

namespace {

constexpr std::string_view kDocument = "a document\n";
constexpr std::string_view kFirst =
    "ed25519 c11075995be6498b72d10faa5e5fab74124e4019be943d4a6211de71c7cc2c31 "
    "UreVxYYpw2gls/NaZydAfwZCGxqAU3GDjvX4n32CejSmBuw6CrK8i9K05Iuxp04VXvDx8/td9lN5uTEQrNAuCg==\n";
constexpr std::string_view kSecond =
    "ed25519 c6dc4a66058305b9c6ed591d9b2f16ddf7d82dab03619e2a580216b7910a41fc "
    "3Ru5Ydbc0PXUfUryGMF7JkpKJjRDPXLiUdAyRuDrrSiO8ibzMlDM/P8P59I02ZUWi0GprG2oGKvEzdB8JUUsAg==\n";
constexpr std::string_view kRoot = R"({
  "type": "root",
  "product": "opsagent",
  "version": 3,
  "expires": "2028-01-15T08:00:00Z",
  "keys": [
    {"id": "c11075995be6498b72d10faa5e5fab74124e4019be943d4a6211de71c7cc2c31", "public": "MCowBQYDK2VwAyEAEvc88oCl3WXd725Xz1ECtw8gS3ZLQpiXic9PxB6YSdI="},
    {"id": "c6dc4a66058305b9c6ed591d9b2f16ddf7d82dab03619e2a580216b7910a41fc", "public": "MCowBQYDK2VwAyEAvlFhKpiW9REWoKT8aT54A911WI6NP7BfExv4DiI+uH0="},
    {"id": "6f7749f315da18c37cc9a47a112ecad7a909ff61e151e55411981d899f6098b5", "public": "MCowBQYDK2VwAyEAXCFoVtrYA4QDDgM5qtqIml36zVFBmD6yVuKx/3ZdMXQ="}
  ],
  "roles": [
    {"role": "root", "threshold": 2, "keys": ["c11075995be6498b72d10faa5e5fab74124e4019be943d4a6211de71c7cc2c31", "c6dc4a66058305b9c6ed591d9b2f16ddf7d82dab03619e2a580216b7910a41fc"]},
    {"role": "release", "threshold": 1, "keys": ["6f7749f315da18c37cc9a47a112ecad7a909ff61e151e55411981d899f6098b5"]},
    {"role": "timestamp", "threshold": 1, "keys": ["6f7749f315da18c37cc9a47a112ecad7a909ff61e151e55411981d899f6098b5"]}
  ]
}
)";

bool is_believed(std::string_view signatures) {
  static const release::Root root = *release::parse_root(kRoot);
  return static_cast<bool>(release::judge_signatures(root, release::Role::root, kDocument, signatures));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool works = is_believed(std::string(kFirst) + std::string(kSecond));
  require(works, "what both have signed is believed");
  const std::string_view text = fuzz::text_of(data, size);
  const auto signatures = release::parse_signatures(text);
  if (!signatures) {
    require(!signatures.error().message().empty(), "a refusal says why");
    require(!is_believed(text), "a file that cannot be read is not believed");
    return 0;
  }
  require(release::write(*signatures) == text, "there is one way to write signatures");
  require(signatures->size() <= release::kMostSignatures && size <= release::kLargestSignatures,
          "a signature file has its largest size");
  for (const release::Signature& each : *signatures)
    require(each.key_id.size() == 64 && each.bytes.size() == 64, "a signature is whole");
  const bool is_forward = text == std::string(kFirst) + std::string(kSecond);
  const bool is_backward = text == std::string(kSecond) + std::string(kFirst);
  require(is_believed(text) == (is_forward || is_backward), "nobody else can sign");
  return 0;
}
