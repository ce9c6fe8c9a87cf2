// Redactor: what must not leave the host does not leave it.
//
// Every text on its way out (logs, diffs, output of programs, reports, plan files) passes redact(), which
// puts "***" in the place of each registered secret and of the credentials in URLs. A secret is found as it
// is, JSON-escaped, percent-encoded and in base64, also where it is a part of a longer base64 text
// ("user:secret" of an Authorization header). It is not found in other encodings, nor in base64 that is
// broken into lines.
//
// Any thread may call any function: readers share a lock, add() and replace() take it alone.
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <map>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace base {

class Redactor {
 public:
  // Texts of fewer bytes are not registered: hiding every "on" or "db1" would destroy all output and tell
  // the secret by where it is missing.
  static constexpr std::size_t kShortest = 4;
  // Of a secret with several lines (a key, a file) each line of this length is a secret of its own.
  static constexpr std::size_t kShortestLine = 8;

  // Registers a secret for good.
  void add(std::string_view secret);
  // Registers these in the place of those that the same owner had registered: what nobody has registered any
  // more is forgotten.
  void replace(std::string_view owner, std::vector<std::string> secrets);

  // Whether redact() would change the text: callers that hold a large one need not copy it in vain.
  bool is_needed(std::string_view text) const;

  // The text with every secret replaced. Secrets that overlap become one "***".
  std::string redact(std::string_view text) const;

  // For a text that comes in parts, see RedactingStream. `text` is all that has not been consumed, its first
  // `covered` bytes belong to a secret whose "***" has been written. Appends to `out` what is certain,
  // answers how many bytes that consumed and sets `covered` for the rest. With `is_last` it consumes all.
  std::size_t redact_part(std::string_view text, bool is_last, std::size_t& covered, std::string& out) const;

 private:
  // Bytes to hide: `skip` bytes behind the place where it was found.
  struct Match {
    std::size_t skip = 0;
    std::size_t length = 0;  // 0: nothing found
  };
  void index(std::string_view secret);
  void insert(std::string form);
  std::span<const std::string> forms_that_begin_with(std::size_t first_two) const;
  Match match_at(std::string_view text, std::size_t at) const;
  bool may_begin_at(std::string_view text, std::size_t at) const;
  std::size_t first_undecided(std::string_view text) const;

  mutable std::shared_mutex mutex_;
  // Guarded by mutex_, as all below. By owner; "" has those that stay.
  std::map<std::string, std::vector<std::string>, std::less<>> secrets_;
  // All forms of all secrets, those that begin with the same two bytes together, longest
  // first; the set says which two bytes there are, so that one look-up passes over almost all of a text.
  std::vector<std::string> forms_;
  std::bitset<65536> first_two_;
  std::bitset<256> first_;
  std::size_t longest_ = 0;
};

// "scheme://user:password@" as "scheme://***@". A user name without a password stays, unless it is so long
// that it must be a token.
std::string redact_url_credentials(std::string_view text);

// Redacts a text that comes in chunks. What may be the beginning of a secret is held back until the rest has
// come, so a secret that is split over chunks does not leak; everything else passes at once.
class RedactingStream {
 public:
  // The redactor must outlive the stream.
  explicit RedactingStream(const Redactor& redactor) : redactor_(redactor) {}

  // What may be shown now.
  std::string add(std::string_view chunk);
  // The rest; the stream is empty again.
  std::string finish();

 private:
  const Redactor& redactor_;
  std::string held_;
  std::size_t covered_ = 0;  // bytes of held_ whose "***" has been shown
};

}  // namespace base
