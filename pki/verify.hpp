// Does a certificate lead to an authority that is trusted? Pure function.
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "pki/certificate.hpp"

namespace pki {

enum class Purpose { agent, server };

// The first of `chain` is looked at, the others may help on the way to one of `authorities`. Signatures,
// extensions, key sizes and, if `at` is given, times. The error says which certificate has which problem. It
// does not look at names: those are agent_name()'s and the TLS connection's.
base::Result<void> verify(const std::vector<Certificate>& chain, const std::vector<Certificate>& authorities,
                          Purpose purpose, std::optional<Instant> at);

}  // namespace pki
