// Redactor: what must not leave the host does not leave it.
//
// Every text on its way out (logs, diffs, output of programs, reports, plan files) passes redact(), which
// puts "***" in the place of each registered secret and of the credentials in URLs. A secret is found as it
// is, JSON-escaped, percent-encoded, in hexadecimal digits and in base64, also where it is a part of a longer
// base64 text ("user:secret" of an Authorization header). It is not found in other encodings, nor in base64
// that is broken into lines.
//
// Any thread may call any function. Whoever reads never waits for a list that is being built: add() and
// replace() build it aside, in time that grows with the size of the secrets, and put it in place at once.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace base {

class Redactor {
 public:
  // Texts of fewer bytes are not searched for: hiding every "on" or "db1" would destroy all output and tell
  // the secret by where it is missing. Numbers must have more digits: they stand everywhere.
  static constexpr std::size_t kShortest = 4;
  static constexpr std::size_t kShortestNumber = 6;
  // Of a secret with several lines (a key, a file) each line of this length is a secret of its own.
  static constexpr std::size_t kShortestLine = 8;

  Redactor();
  ~Redactor();

  // Words that stay readable though somebody has them for a secret: those that the program itself uses. In
  // small letters; they count in any case of letters.
  using Words = std::unordered_set<std::string>;
  void keep_readable(std::shared_ptr<const Words> words);

  // Registers a secret for good.
  void add(std::string_view secret);
  // Registers these in the place of those that the same owner had registered: what nobody has registered any
  // more is forgotten.
  void replace(std::string_view owner, std::vector<std::string> secrets);

  // False for what is too short, or a word that stays readable: it would not be searched for.
  bool can_hide(std::string_view secret) const;

  // Whether redact() would change the text: callers that hold a large one need not copy it in vain.
  bool is_needed(std::string_view text) const;

  // The text with every secret replaced. Secrets that overlap become one "***".
  std::string redact(std::string_view text) const;

  // For a text that comes in parts, see RedactingStream. `text` is all that has not been consumed, its first
  // `covered` bytes belong to a secret whose "***" has been written. Appends to `out` what is certain,
  // answers how many bytes that consumed and sets `covered` for the rest. With `is_last` it consumes all.
  std::size_t redact_part(std::string_view text, bool is_last, std::size_t& covered, std::string& out) const;

 private:
  class Index;
  void rebuild();
  std::shared_ptr<const Index> index() const;

  std::mutex writing_;  // whoever changes the secrets: one at a time
  // By owner; "" has those that stay.
  std::map<std::string, std::vector<std::string>, std::less<>> secrets_;

  mutable std::mutex mutex_;  // held only to copy what follows, or to put it in place
  std::shared_ptr<const Words> readable_;
  std::shared_ptr<const Index> index_;
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
