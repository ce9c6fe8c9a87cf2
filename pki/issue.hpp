// Making certificates. For the files of this folder: Authority decides who gets which. Pure functions, but
// for the serial number, which is random.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pki/certificate.hpp"
#include "pki/private_key.hpp"

namespace pki {

struct AltName {
  enum class Kind { uri, dns, address } kind;
  std::string value;  // an address as its 4 or 16 bytes
};

enum class Usage { authority, agent, server };

struct Wanted {
  std::string common_name;
  evp_pkey_st* key;  // the subject's, public
  Usage usage;
  std::vector<AltName> names;
  Instant not_before;
  Instant not_after;
};

// Without an issuer it is signed by the key as its own.
base::Result<Certificate> issue(const Wanted& wanted, const PrivateKey& issuer_key,
                                const Certificate* issuer);

}  // namespace pki
