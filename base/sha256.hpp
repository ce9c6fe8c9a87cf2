// SHA-256.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace base {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);
  // 64 hexadecimal digits; the object is spent afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);
// Whether the text has the form of one: 64 hexadecimal digits, lower case.
bool is_sha256_hex(std::string_view text);

// 32 hexadecimal digits; only to read the watch records of the original agent.
std::string md5_hex(std::string_view bytes);

}  // namespace base
