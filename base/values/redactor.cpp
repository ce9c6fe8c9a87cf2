#include "base/values/redactor.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <utility>

#include <openssl/evp.h>

#include "base/text.hpp"
#include "base/values/json.hpp"

namespace base {

namespace {

constexpr std::string_view kHidden = "***";
constexpr std::string_view kUrlMark = "://";
constexpr std::size_t kLongestCredentials = 4096;  // of URLs; bounds what a stream holds back
constexpr std::size_t kLongestUrlStart = kUrlMark.size() + kLongestCredentials;
constexpr std::size_t kShortestToken = 16;  // user names are shorter, tokens in their place are longer
constexpr std::size_t kShortestInner = 8;   // base64 characters that are no coincidence
// What is longer is searched for piece by piece: bounds what a stream holds back.
constexpr std::size_t kLongestPiece = 4096;
// Of what is larger, no encoding is searched for: a file of many megabytes would be kept a dozen times.
constexpr std::size_t kLargestEncoded = 256 * 1024;

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL puts a NUL behind it
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string percent_encoded(std::string_view text, std::string_view digits) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

std::string url_safe(std::string base64) {
  std::ranges::replace(base64, '+', '-');
  std::ranges::replace(base64, '/', '_');
  return base64;
}

// The characters that stand for these bytes in whatever base64 text contains them, when `before` bytes (0 to
// 2) precede them in their group of three. The characters at both ends that also depend on other bytes are
// left out.
std::string inner_base64(std::string_view bytes, std::size_t before) {
  const std::string text = encode_base64(std::string(before, '\0') + std::string(bytes));
  const std::size_t first = before == 0 ? 0 : before + 1;
  const std::size_t end = (before + bytes.size()) * 8 / 6;
  return end > first ? text.substr(first, end - first) : std::string();
}

void add_base64(std::string_view secret, std::vector<std::string>& forms) {
  const std::string padded = encode_base64(secret);
  forms.push_back(padded);
  forms.push_back(padded.substr(0, padded.find('=')));
  for (std::size_t before = 0; before < 3; ++before)
    if (std::string inner = inner_base64(secret, before); inner.size() >= kShortestInner)
      forms.push_back(std::move(inner));
  for (std::size_t i = 0, count = forms.size(); i < count; ++i)
    forms.push_back(url_safe(forms[i]));
}

// As hexdump and its like print it, without blanks.
std::string hex(std::string_view bytes, std::string_view digits) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

std::vector<std::string> encodings_of(std::string_view secret) {
  std::vector<std::string> forms;
  add_base64(secret, forms);
  forms.emplace_back(secret);
  for (const std::string_view digits : {"0123456789ABCDEF", "0123456789abcdef"}) {
    forms.push_back(percent_encoded(secret, digits));
    forms.push_back(hex(secret, digits));
  }
  const std::string quoted = json_quote(secret);
  forms.push_back(quoted.substr(1, quoted.size() - 2));
  return forms;
}

bool ends_authority(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
         std::string_view("/?#\"'`<>\\").find(c) != std::string_view::npos;
}

// Where the part of a URL that may hold credentials ends, `at` being behind its "://".
std::size_t authority_end(std::string_view text, std::size_t at) {
  const std::size_t limit = std::min(text.size(), at + kLongestCredentials);
  while (at < limit && !ends_authority(text[at]))
    ++at;
  return at;
}

// How many bytes at `at`, behind "://", are credentials.
std::size_t credentials_length(std::string_view text, std::size_t at) {
  const std::string_view authority = text.substr(at, authority_end(text, at) - at);
  const std::size_t sign = authority.rfind('@');  // a password may have an @ that should have been encoded
  if (sign == std::string_view::npos || sign == 0) return 0;
  const bool has_password = authority.substr(0, sign).find(':') != std::string_view::npos;
  return has_password || sign >= kShortestToken ? sign : 0;
}

// Pieces of a form, in a row; each is long enough to be no coincidence.
void add_pieces(std::string form, std::vector<std::string>& forms) {
  if (form.size() < Redactor::kShortest) return;
  std::string_view rest = form;
  while (rest.size() >= 2 * kLongestPiece) {
    forms.emplace_back(rest.substr(0, kLongestPiece));
    rest.remove_prefix(kLongestPiece);
  }
  if (rest.size() == form.size())
    forms.push_back(std::move(form));
  else
    forms.emplace_back(rest);
}

bool is_readable(std::string_view text, const Redactor::Words* words) {
  if (text.size() < Redactor::kShortest) return true;
  if (text.size() < Redactor::kShortestNumber &&
      std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; }))
    return true;
  constexpr std::size_t kLongestWord = 64;
  if (!words || text.size() > kLongestWord) return false;
  std::string small(text);
  for (char& c : small)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return words->contains(small);
}

// All that is searched for on behalf of one secret.
void add_forms(std::string_view secret, const Redactor::Words* words, std::vector<std::string>& forms) {
  const std::string_view trimmed = trim(secret);
  if (!is_readable(trimmed, words)) {
    std::vector<std::string> whole;
    if (secret.size() > kLargestEncoded) {
      whole.emplace_back(trimmed);
    } else {
      whole = encodings_of(trimmed);
      // The blanks around it change its base64, but nobody is helped by hiding them in a plain text.
      if (trimmed != secret) add_base64(secret, whole);
    }
    for (std::string& form : whole)
      add_pieces(std::move(form), forms);
  }
  if (trimmed.find('\n') == std::string_view::npos) return;
  for (const std::string_view line : split(trimmed, '\n'))
    if (const std::string_view text = trim(line);
        text.size() >= Redactor::kShortestLine && !is_readable(text, words))
      add_pieces(std::string(text), forms);
}

}  // namespace

// All forms of all secrets, in order. What begins at a place of a text is found by halving: the last form
// that is not behind the text there in the order, or one that this form begins with. Constant after
// construction.
class Redactor::Index {
 public:
  explicit Index(std::vector<std::string> forms);

  bool empty() const { return forms_.empty(); }
  std::size_t redact_part(std::string_view text, bool is_last, std::size_t& covered, std::string& out) const;
  bool finds_any(std::string_view text) const;

 private:
  // Bytes to hide: `skip` bytes behind the place where it was found.
  struct Match {
    std::size_t skip = 0;
    std::size_t length = 0;  // 0: nothing found
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  Match match_at(std::string_view text, std::size_t at) const;
  bool may_begin_at(std::string_view text, std::size_t at) const;
  std::size_t first_undecided(std::string_view text) const;
  std::size_t filter_bit(std::string_view text) const;
  bool passes_filter(std::string_view text) const {
    const std::size_t bit = filter_bit(text);
    return (filter_[bit / 64] >> (bit % 64) & 1) != 0;
  }

  std::vector<std::string> forms_;
  std::vector<std::uint32_t> shorter_;  // of each: the longest other one that it begins with
  // A bit for every beginning of four bytes that there is (and for some that there are not), so that one look
  // passes over almost all of a text.
  std::vector<std::uint64_t> filter_;
  std::size_t longest_ = 0;
};

Redactor::Index::Index(std::vector<std::string> forms) : forms_(std::move(forms)) {
  std::ranges::sort(forms_);
  const auto repeated = std::ranges::unique(forms_);
  forms_.erase(repeated.begin(), repeated.end());
  shorter_.reserve(forms_.size());
  std::size_t words = forms_.empty() ? 1 : 1024;
  while (words * 4 < forms_.size())  // 16 bits for each
    words *= 2;
  filter_.resize(words);
  std::vector<std::uint32_t> around;  // those that the form before begins with, and itself
  for (std::uint32_t i = 0; i < forms_.size(); ++i) {
    const std::string& form = forms_[i];
    while (!around.empty() && !form.starts_with(forms_[around.back()]))
      around.pop_back();
    shorter_.push_back(around.empty() ? kNone : around.back());
    around.push_back(i);
    const std::size_t bit = filter_bit(form);
    filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    longest_ = std::max(longest_, form.size());
  }
}

// `text` has at least four bytes, as all forms have.
std::size_t Redactor::Index::filter_bit(std::string_view text) const {
  static_assert(kShortest == sizeof(std::uint32_t));
  std::uint32_t start = 0;
  std::memcpy(&start, text.data(), sizeof start);
  const std::uint64_t mixed = start * std::uint64_t{0x9E3779B97F4A7C15};
  return static_cast<std::size_t>(mixed >> 32) & (filter_.size() * 64 - 1);
}

Redactor::Index::Match Redactor::Index::match_at(std::string_view text, std::size_t at) const {
  if (text[at] == ':' && text.substr(at).starts_with(kUrlMark)) {
    if (const std::size_t length = credentials_length(text, at + kUrlMark.size()))
      return {kUrlMark.size(), length};
  }
  const std::string_view rest = text.substr(at);
  if (rest.size() < kShortest || !passes_filter(rest)) return {};
  const auto behind = std::ranges::upper_bound(forms_, rest);
  if (behind == forms_.begin()) return {};
  auto found = static_cast<std::uint32_t>(behind - forms_.begin() - 1);
  while (found != kNone && !rest.starts_with(forms_[found]))
    found = shorter_[found];
  return found == kNone ? Match{} : Match{0, forms_[found].size()};
}

// Whether the text from `at` to its end may be the beginning of something to hide.
bool Redactor::Index::may_begin_at(std::string_view text, std::size_t at) const {
  const std::string_view rest = text.substr(at);
  if (kUrlMark.starts_with(rest)) return true;
  if (rest.starts_with(kUrlMark) && rest.size() < kLongestUrlStart &&
      authority_end(rest, kUrlMark.size()) == rest.size())
    return true;
  if (rest.size() >= longest_ || (rest.size() >= kShortest && !passes_filter(rest))) return false;
  const auto longer = std::ranges::upper_bound(forms_, rest);
  return longer != forms_.end() && longer->starts_with(rest);
}

std::size_t Redactor::Index::first_undecided(std::string_view text) const {
  const std::size_t longest = std::max(longest_, kLongestUrlStart);
  for (std::size_t at = text.size() - std::min(text.size(), longest); at < text.size(); ++at)
    if (may_begin_at(text, at)) return at;
  return text.size();
}

std::size_t Redactor::Index::redact_part(std::string_view text, bool is_last, std::size_t& covered,
                                         std::string& out) const {
  const std::size_t end = is_last ? text.size() : first_undecided(text);
  std::size_t hidden_to = covered;
  for (std::size_t at = 0; at < end; ++at) {
    const Match match = match_at(text, at);
    if (match.length == 0) continue;
    const std::size_t from = at + match.skip;
    if (from >= hidden_to) out.append(text.substr(hidden_to, from - hidden_to)).append(kHidden);
    hidden_to = std::max(hidden_to, from + match.length);
  }
  if (hidden_to < end) out.append(text.substr(hidden_to, end - hidden_to));
  covered = hidden_to > end ? hidden_to - end : 0;
  return end;
}

bool Redactor::Index::finds_any(std::string_view text) const {
  if (empty() && text.find(kUrlMark) == std::string_view::npos) return false;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (match_at(text, at).length > 0) return true;
  return false;
}

Redactor::Redactor() : index_(std::make_shared<const Index>(std::vector<std::string>())) {}
Redactor::~Redactor() = default;

std::shared_ptr<const Redactor::Index> Redactor::index() const {
  const std::scoped_lock lock(mutex_);
  return index_;
}

// Under `writing_`.
void Redactor::rebuild() {
  std::vector<std::string> forms;
  for (const auto& [owner, registered] : secrets_)
    for (const std::string& secret : registered)
      add_forms(secret, readable_.get(), forms);
  auto built = std::make_shared<const Index>(std::move(forms));
  const std::scoped_lock lock(mutex_);
  index_.swap(built);
}

void Redactor::keep_readable(std::shared_ptr<const Words> words) {
  const std::scoped_lock writing(writing_);
  if (words == readable_) return;
  {
    const std::scoped_lock lock(mutex_);
    readable_ = std::move(words);
  }
  rebuild();
}

void Redactor::add(std::string_view secret) {
  const std::scoped_lock writing(writing_);
  auto& own = secrets_[""];
  if (std::ranges::find(own, secret) != own.end()) return;
  own.emplace_back(secret);
  rebuild();
}

void Redactor::replace(std::string_view owner, std::vector<std::string> secrets) {
  const std::scoped_lock writing(writing_);
  auto& own = secrets_[std::string(owner)];
  if (own == secrets) return;
  own = std::move(secrets);
  rebuild();
}

bool Redactor::can_hide(std::string_view secret) const {
  std::shared_ptr<const Words> words;
  {
    const std::scoped_lock lock(mutex_);
    words = readable_;
  }
  return !is_readable(trim(secret), words.get());
}

bool Redactor::is_needed(std::string_view text) const {
  return index()->finds_any(text);
}

std::size_t Redactor::redact_part(std::string_view text, bool is_last, std::size_t& covered,
                                  std::string& out) const {
  return index()->redact_part(text, is_last, covered, out);
}

std::string Redactor::redact(std::string_view text) const {
  std::string out;
  std::size_t covered = 0;
  redact_part(text, true, covered, out);
  return out;
}

std::string redact_url_credentials(std::string_view text) {
  return Redactor().redact(text);
}

std::string RedactingStream::add(std::string_view chunk) {
  held_ += chunk;
  std::string shown;
  held_.erase(0, redactor_.redact_part(held_, false, covered_, shown));
  return shown;
}

std::string RedactingStream::finish() {
  std::string shown;
  redactor_.redact_part(held_, true, covered_, shown);
  held_.clear();
  covered_ = 0;
  return shown;
}

}  // namespace base
