#include "modules/git/openpgp_keys.hpp"

#include <array>
#include <cstdint>
#include <optional>

#include "modules/git/openssl.hpp"

namespace modules::git {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int kPublicKey = 6, kPublicSubkey = 14;  // tags of packets (RFC 9580, 5)

struct Packet {
  int tag = 0;
  std::string_view body;
};

std::optional<std::size_t> take_number(std::string_view& rest, std::size_t bytes) {
  if (rest.size() < bytes) return std::nullopt;
  std::size_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    number = number << 8 | static_cast<std::uint8_t>(rest[i]);
  rest.remove_prefix(bytes);
  return number;
}

// Lengths in pieces and without end are for data, never for keys.
std::optional<std::size_t> take_length(std::string_view& rest, int head) {
  constexpr int kNewForm = 0x40, kLengthKind = 3;
  if ((head & kNewForm) == 0) {
    const int kind = head & kLengthKind;
    return kind == kLengthKind ? std::nullopt : take_number(rest, std::size_t{1} << kind);
  }
  const auto first = take_number(rest, 1);
  if (!first || *first < 192) return first;
  if (*first == 255) return take_number(rest, 4);
  if (*first >= 224) return std::nullopt;
  const auto second = take_number(rest, 1);
  return second ? std::optional((*first - 192) * 256 + *second + 192) : std::nullopt;
}

std::optional<Packet> take_packet(std::string_view& rest) {
  const auto head = take_number(rest, 1);
  if (!head || (*head & 0x80) == 0) return std::nullopt;
  const int octet = static_cast<int>(*head);
  Packet packet{.tag = (octet & 0x40) != 0 ? octet & 0x3f : octet >> 2 & 0x0f, .body = {}};
  const auto length = take_length(rest, octet);
  if (!length || *length > rest.size()) return std::nullopt;
  packet.body = rest.substr(0, *length);
  rest.remove_prefix(*length);
  return packet;
}

std::string hashed(const EVP_MD* kind, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, kind, nullptr) != 1) return "";
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

// What is hashed has the length in front, in as many bytes as the key's version says. "": a version that
// gpgv does not know either.
std::string fingerprint_of(std::string_view key) {
  const auto with_length = [&](char mark, int bytes) {
    std::string text(1, mark);
    for (int i = bytes - 1; i >= 0; --i)
      text += static_cast<char>(key.size() >> (8 * i) & 0xff);
    return text.append(key);
  };
  switch (key.empty() ? 0 : key.front()) {
    case 4:
      return hashed(EVP_sha1(), with_length('\x99', 2));
    case 5:
      return hashed(EVP_sha256(), with_length('\x9a', 4));
    case 6:
      return hashed(EVP_sha256(), with_length('\x9b', 4));
    default:
      return "";
  }
}

}  // namespace

Result<std::vector<std::string>> openpgp_fingerprints(std::string_view keyring) {
  std::vector<std::string> found;
  while (!keyring.empty()) {
    const auto packet = take_packet(keyring);
    if (!packet)
      return Error(ErrorCode::invalid, "this is not a keyring as 'gpg --export' (without --armor) writes it");
    if (packet->tag != kPublicKey && packet->tag != kPublicSubkey) continue;
    if (std::string fingerprint = fingerprint_of(packet->body); !fingerprint.empty())
      found.push_back(std::move(fingerprint));
  }
  return found;
}

}  // namespace modules::git
