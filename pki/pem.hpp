// PEM text, read by rules of our own: OpenSSL's reader skips what it does not understand, asks the terminal
// for passwords and decodes what follows an "=". Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pki {

struct PemBlock {
  std::string label;  // "CERTIFICATE"
  std::string der;
};

// What may stand beside the blocks: nothing but empty lines, or the comments that people's files have.
enum class Beside { nothing, comments };

// More is not a chain of certificates, but an attempt to keep us busy.
inline constexpr std::size_t kMostPemBlocks = 16;

// One block at least. The error says what is wrong and never repeats the content: it may be a key.
base::Result<std::vector<PemBlock>> read_pem(std::string_view text, Beside beside, std::size_t largest);

}  // namespace pki
