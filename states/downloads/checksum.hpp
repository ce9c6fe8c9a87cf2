// Checksums as recipes write them: "sha256:<hex>", "md5=<hex>", or the digits alone.
#pragma once

#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "base/result.hpp"

namespace states::downloads {

struct Checksum {
  base::DigestKind kind = base::DigestKind::sha256;
  std::string hex;  // lower case

  std::string text() const { return std::string(base::digest_name(kind)) + ":" + hex; }
  bool operator==(const Checksum&) const = default;
};

// Errors: a kind that is not md5, sha1, sha256 or sha512; digits that are none, or not as many as it has.
base::Result<Checksum> parse_checksum(std::string_view text);

// From a file of checksums (SHA256SUMS, file.tar.gz.sha256): the first word of hexadecimal digits in the line
// that names the file, else in the first line.
base::Result<Checksum> find_checksum(std::string_view sums, std::string_view file_name);

// The sum of these bytes.
Checksum checksum_of(base::DigestKind kind, std::string_view bytes);

}  // namespace states::downloads
