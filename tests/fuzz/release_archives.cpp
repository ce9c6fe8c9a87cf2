// Archives of releases: gzip as it comes; anything else is taken for the tar archive inside.
#include "tests/support/release_archives.hpp"

#include "tests/fuzz/archives.hpp"

namespace {

constexpr std::size_t kBlock = 512;

// Headers get the checksum that they should have: else hardly any change of them would be looked at. One
// without tar's mark keeps its wrong one.
std::string with_right_checksums(std::string tar) {
  for (std::size_t at = 0; at + kBlock <= tar.size(); at += kBlock) {
    if (tar.compare(at + 257, 5, "ustar") != 0) continue;
    tar.replace(at + 148, 8, 8, ' ');
    std::uint64_t sum = 0;
    for (const char c : std::string_view(tar).substr(at, kBlock))
      sum += static_cast<unsigned char>(c);
    tar.replace(at + 148, 6, release::testing::octal(sum, 6));
    tar[at + 154] = '\0';
  }
  return tar;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  if (bytes.starts_with("\x1f\x8b"))
    fuzz::check_archive(bytes);
  else
    fuzz::check_archive(fuzz::stored_gzip(with_right_checksums(std::string(bytes))));
  return 0;
}
