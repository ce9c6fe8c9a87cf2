#include "pki/pem.hpp"

#include <algorithm>
#include <optional>

#include <openssl/evp.h>

#include "base/text.hpp"

namespace pki {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kEnd = "-----END ";
constexpr std::string_view kDashes = "-----";

Error damaged(const std::string& what) {
  return Error(ErrorCode::invalid, "not proper PEM: " + what);
}

// The label of "-----BEGIN label-----".
std::optional<std::string_view> label_of(std::string_view line, std::string_view opening) {
  if (!line.starts_with(opening) || !line.ends_with(kDashes)) return std::nullopt;
  if (line.size() <= opening.size() + kDashes.size()) return std::nullopt;
  const auto label = line.substr(opening.size(), line.size() - opening.size() - kDashes.size());
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' '; };
  if (!std::ranges::all_of(label, fits)) return std::nullopt;
  return label;
}

bool is_base64(std::string_view line) {
  return std::ranges::all_of(line, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=';
  });
}

// Digits as is_base64() lets them through.
std::optional<std::string> decode(std::string_view digits) {
  if (digits.empty() || digits.size() % 4 != 0) return std::nullopt;
  const std::size_t first_pad = std::min(digits.find('='), digits.size());
  const std::size_t pads = digits.size() - first_pad;
  if (pads > 2 || digits.substr(first_pad).find_first_not_of('=') != digits.npos) return std::nullopt;
  std::string bytes(digits.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(digits.data()), static_cast<int>(digits.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  bytes.resize(bytes.size() - pads);
  return bytes;
}

class Reader {
 public:
  explicit Reader(Beside beside) : beside_(beside) {}

  Result<void> line(std::string_view line) { return inside_ ? inside(line) : outside(line); }

  Result<std::vector<PemBlock>> finish() && {
    if (inside_) return damaged("the " + label_ + " has no end");
    if (blocks_.empty()) return damaged("there is no -----BEGIN … line");
    return std::move(blocks_);
  }

 private:
  Result<void> outside(std::string_view line) {
    if (const auto label = label_of(line, kBegin)) {
      if (blocks_.size() == kMostPemBlocks)
        return Error(ErrorCode::limit, "more than " + std::to_string(kMostPemBlocks) + " PEM blocks");
      label_ = *label;
      digits_.clear();
      inside_ = true;
      return {};
    }
    if (line.find(kDashes) != line.npos)
      return damaged("a line with dashes that neither begins nor ends a block");
    if (beside_ == Beside::nothing && !line.empty()) return damaged("there is something beside the blocks");
    return {};
  }

  Result<void> inside(std::string_view line) {
    if (const auto label = label_of(line, kEnd)) {
      auto bytes = label == label_ ? decode(digits_) : std::nullopt;
      if (!bytes) return damaged("the " + label_ + " is damaged");
      blocks_.push_back({label_, std::move(*bytes)});
      inside_ = false;
      return {};
    }
    if (line.find("ENCRYPTED") != line.npos)
      return Error(
          ErrorCode::unsupported,
          "it is encrypted in a way of old, which is not read here: convert it with \"openssl pkcs8 -topk8 "
          "-in FILE -out NEW\", which keeps it encrypted");
    if (!is_base64(line)) return damaged("the " + label_ + " has characters that are not base64");
    digits_ += line;
    return {};
  }

  const Beside beside_;
  bool inside_ = false;
  std::string label_;
  std::string digits_;
  std::vector<PemBlock> blocks_;
};

}  // namespace

Result<std::vector<PemBlock>> read_pem(std::string_view text, Beside beside, std::size_t largest) {
  if (text.size() > largest)
    return Error(ErrorCode::limit, "larger than the " + std::to_string(largest) + " bytes that are allowed");
  Reader reader(beside);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto fine = reader.line(base::trim(text.substr(0, end))); !fine) return std::move(fine).error();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(reader).finish();
}

}  // namespace pki
