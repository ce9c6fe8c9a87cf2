// Signatures beside a document: the file NAME.sig, a line for each: "ed25519 KEY-ID BASE64".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "release/documents.hpp"

namespace release {

struct Signature {
  std::string key_id;
  std::string bytes;  // 64
};

inline constexpr std::size_t kMostSignatures = 32;

base::Result<std::vector<Signature>> parse_signatures(std::string_view text);
std::string write(const std::vector<Signature>& signatures);

// Enough keys of `role`, as `root` has them, have signed these bytes. Each refusal has its own words: a key
// that the role does not have, a key that is counted twice, a signature that is not this document's, below
// the threshold ("1 of 2").
base::Result<void> check_signatures(const Root& root, Role role, std::string_view document,
                                    std::string_view signatures);

}  // namespace release
