// The fingerprints of the keys in a GPG keyring: who may have signed. Pure; checking a signature is gpgv's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace modules::git {

// Of all keys and subkeys of a keyring as `gpg --export` writes it, as gpgv shows them: hexadecimal, upper
// case. An error when it is in another form (armoured, a keybox).
base::Result<std::vector<std::string>> openpgp_fingerprints(std::string_view keyring);

}  // namespace modules::git
