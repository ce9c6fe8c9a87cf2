// Seal: texts that go out to somebody and come back, and tell nothing on the way. The key is the object's
// own, new with each, and never leaves it: what one has closed only the same one opens.
//
// Const functions may be called by any thread. Nothing fails but memory and OpenSSL itself, and then an empty
// text is the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pki {

class Seal {
 public:
  Seal();

  // `text` (without NULs) as hexadecimal digits, whose number is the same for all texts of up to kPadding
  // bytes. `about` is not in it: open() must be told the same.
  std::string close(std::string_view text, std::string_view about) const;
  // Nothing when it is not what close() has made for this `about`.
  std::optional<std::string> open(std::string_view sealed, std::string_view about) const;

  static constexpr std::size_t kPadding = 160;  // longer texts: in steps of so many

 private:
  std::string key_;
};

}  // namespace pki
