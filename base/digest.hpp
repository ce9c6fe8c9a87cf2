// Digests by name, for checksums that others publish. What is ours is SHA-256 (sha256.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace base {

enum class DigestKind { md5, sha1, sha256, sha512 };

std::string_view digest_name(DigestKind kind);  // "sha256"
std::optional<DigestKind> digest_kind(std::string_view name);
// By how many hexadecimal digits it has.
std::optional<DigestKind> digest_kind_of_length(std::size_t digits);
std::size_t digest_length(DigestKind kind);  // in hexadecimal digits

class Digest {
 public:
  explicit Digest(DigestKind kind);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void add(std::string_view bytes);
  // Hexadecimal digits, lower case; the object is spent afterwards. "" where the machine's policy forbids
  // this kind (MD5 in FIPS mode).
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace base
