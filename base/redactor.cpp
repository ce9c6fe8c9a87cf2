#include "base/redactor.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <openssl/evp.h>

#include "base/json.hpp"
#include "base/text.hpp"

namespace base {

namespace {

constexpr std::string_view kHidden = "***";
constexpr std::string_view kUrlMark = "://";
constexpr std::size_t kLongestCredentials = 4096;  // of URLs; bounds what a stream holds back
constexpr std::size_t kLongestUrlStart = kUrlMark.size() + kLongestCredentials;
constexpr std::size_t kShortestToken = 16;  // user names are shorter, tokens in their place are longer
constexpr std::size_t kShortestInner = 8;   // base64 characters that are no coincidence

std::size_t first_two_bytes(std::string_view text, std::size_t at) {
  return static_cast<std::size_t>(static_cast<unsigned char>(text[at])) * 256 +
         static_cast<unsigned char>(text[at + 1]);
}

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

std::vector<std::string> encodings_of(std::string_view secret) {
  std::vector<std::string> forms;
  add_base64(secret, forms);
  forms.emplace_back(secret);
  forms.push_back(percent_encoded(secret, "0123456789ABCDEF"));
  forms.push_back(percent_encoded(secret, "0123456789abcdef"));
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

}  // namespace

void Redactor::add(std::string_view secret) {
  const std::unique_lock lock(mutex_);
  auto& own = secrets_[""];
  if (std::ranges::find(own, secret) != own.end()) return;
  own.emplace_back(secret);
  index(secret);
}

void Redactor::replace(std::string_view owner, std::vector<std::string> secrets) {
  const std::unique_lock lock(mutex_);
  auto& own = secrets_[std::string(owner)];
  if (own == secrets) return;
  own = std::move(secrets);
  forms_.clear();
  first_two_.reset();
  first_.reset();
  longest_ = 0;
  for (const auto& [each, registered] : secrets_)
    for (const std::string& secret : registered)
      index(secret);
}

void Redactor::index(std::string_view secret) {
  std::vector<std::string> forms;
  const auto register_text = [&](std::string_view text) {
    if (text.size() < kShortest) return;
    for (std::string& form : encodings_of(text))
      forms.push_back(std::move(form));
  };
  const std::string_view trimmed = trim(secret);
  register_text(trimmed);
  // The blanks around it change its base64, but nobody is helped by hiding them in a plain text.
  if (trimmed.size() >= kShortest && trimmed != secret) add_base64(secret, forms);
  if (trimmed.find('\n') != std::string_view::npos)
    for (const std::string_view line : split(trimmed, '\n'))
      if (const std::string_view text = trim(line); text.size() >= kShortestLine) forms.emplace_back(text);
  for (std::string& form : forms)
    insert(std::move(form));
}

void Redactor::insert(std::string form) {
  const auto before = [](const std::string& a, const std::string& b) {
    const std::size_t first_a = first_two_bytes(a, 0);
    const std::size_t first_b = first_two_bytes(b, 0);
    if (first_a != first_b) return first_a < first_b;
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  };
  const auto place = std::ranges::lower_bound(forms_, form, before);
  if (place != forms_.end() && *place == form) return;
  first_two_.set(first_two_bytes(form, 0));
  first_.set(static_cast<unsigned char>(form[0]));
  longest_ = std::max(longest_, form.size());
  forms_.insert(place, std::move(form));
}

Redactor::Match Redactor::match_at(std::string_view text, std::size_t at) const {
  if (at + 1 >= text.size()) return {};
  if (text[at] == ':' && text.substr(at).starts_with(kUrlMark)) {
    if (const std::size_t length = credentials_length(text, at + kUrlMark.size()))
      return {kUrlMark.size(), length};
  }
  const std::size_t first = first_two_bytes(text, at);
  if (!first_two_[first]) return {};
  const std::string_view rest = text.substr(at);
  for (const std::string& form : forms_that_begin_with(first))
    if (rest.starts_with(form)) return {0, form.size()};
  return {};
}

std::span<const std::string> Redactor::forms_that_begin_with(std::size_t first_two) const {
  const auto same = std::ranges::equal_range(forms_, first_two, {},
                                             [](const std::string& f) { return first_two_bytes(f, 0); });
  return {same.begin(), same.end()};
}

// Whether the text from `at` to its end may be the beginning of something to hide.
bool Redactor::may_begin_at(std::string_view text, std::size_t at) const {
  const std::string_view rest = text.substr(at);
  if (kUrlMark.starts_with(rest)) return true;
  if (rest.starts_with(kUrlMark) && rest.size() < kLongestUrlStart &&
      authority_end(rest, kUrlMark.size()) == rest.size())
    return true;
  if (rest.size() == 1) return first_[static_cast<unsigned char>(rest.front())];
  const std::size_t first = first_two_bytes(rest, 0);
  if (!first_two_[first]) return false;
  return std::ranges::any_of(forms_that_begin_with(first), [rest](const std::string& form) {
    return form.size() > rest.size() && form.starts_with(rest);
  });
}

std::size_t Redactor::first_undecided(std::string_view text) const {
  const std::size_t longest = std::max(longest_, kLongestUrlStart);
  for (std::size_t at = text.size() - std::min(text.size(), longest); at < text.size(); ++at)
    if (may_begin_at(text, at)) return at;
  return text.size();
}

std::size_t Redactor::redact_part(std::string_view text, bool is_last, std::size_t& covered,
                                  std::string& out) const {
  const std::shared_lock lock(mutex_);
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

bool Redactor::is_needed(std::string_view text) const {
  const std::shared_lock lock(mutex_);
  if (forms_.empty() && text.find("://") == std::string_view::npos) return false;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (match_at(text, at).length > 0) return true;
  return false;
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
