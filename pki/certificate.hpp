// Certificate: an X.509 certificate that could be read. Nothing here says that it is to be trusted: see
// verify.hpp. A value that is cheap to copy (copies share what never changes); any thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pki/agent_name.hpp"

struct x509_st;  // OpenSSL's, for the files of this folder

namespace pki {

using Instant = std::chrono::system_clock::time_point;

class Certificate {
 public:
  // Exactly one, and nothing beside it.
  static base::Result<Certificate> parse(std::string_view pem);
  // One to sixteen, in their order; comments between them are fine: people keep chains in files.
  static base::Result<std::vector<Certificate>> parse_chain(std::string_view pem);

  std::string pem() const;
  std::string serial() const;   // hexadecimal, lower case
  std::string subject() const;  // one line, RFC 2253; nothing in it disturbs a log
  Instant not_before() const { return not_before_; }
  Instant not_after() const { return not_after_; }
  // SHA-256 of the public key (SubjectPublicKeyInfo, DER), 64 hexadecimal digits.
  std::string public_hash() const;

  // The agent that it is for. Nothing unless it is a certificate as Authority::issue_agent() makes them: for
  // clients only, no CA, with one name, which is a URI of ours, and the same uid as common name.
  std::optional<AgentName> agent_name() const;
  // May it sign others: basicConstraints and keyUsage, both there, say so.
  bool is_authority() const;

  // Of what is whole: an Error when the times or the extensions cannot be understood.
  static base::Result<Certificate> wrap(std::shared_ptr<x509_st> certificate);
  x509_st* get() const { return certificate_.get(); }

 private:
  Certificate() = default;

  std::shared_ptr<x509_st> certificate_;
  Instant not_before_;
  Instant not_after_;
};

// All of them, one after the other.
std::string pem_of(const std::vector<Certificate>& chain);

}  // namespace pki
