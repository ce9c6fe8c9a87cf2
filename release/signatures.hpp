// Signatures beside a document: the file NAME.sig, a line for each: "ed25519 KEY-ID BASE64". Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "release/documents.hpp"
#include "release/refusal.hpp"

namespace release {

struct Signature {
  std::string key_id;
  std::string bytes;  // 64
};

inline constexpr std::size_t kMostSignatures = 32;
inline constexpr std::size_t kLargestSignatures = kMostSignatures * 162;  // the file, in bytes

// Strict: there is one text for each list, so a byte that changes is never without consequence.
base::Result<std::vector<Signature>> parse_signatures(std::string_view text);
std::string write(const std::vector<Signature>& signatures);

// Enough keys of `role`, as `root` has them, have signed these bytes. All signatures must be in order, also
// those beyond the threshold. Each refusal has its own words: a key that the role does not have, a key that
// is counted twice, a signature that is not this document's, below the threshold ("1 of 2").
base::Result<void> check_signatures(const Root& root, Role role, std::string_view document,
                                    std::string_view signatures);
// The same, with the reason as a value.
Verdict judge_signatures(const Root& root, Role role, std::string_view document, std::string_view signatures);

// For the root that follows another: enough root keys of each of them have signed, and nobody else.
Verdict judge_next_root(const Root& now, const Root& next, std::string_view document,
                        std::string_view signatures);
// Whether enough root keys of `now` have signed, whoever else has: before anything in it is believed.
Verdict judge_untrusted_root(const Root& now, std::string_view document, std::string_view signatures);

// Whether it is a good one, by a key that the role has.
bool is_good(const Root& root, Role role, std::string_view document, const Signature& signature);

// How many more keys of the role must sign; signatures that do not count are left out.
std::size_t missing_signatures(const Root& root, Role role, std::string_view document,
                               const std::vector<Signature>& signatures);

}  // namespace release
