#include "modules/git/object.hpp"

#include <algorithm>
#include <utility>

#include <openssl/evp.h>

namespace modules::git {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::pair<ObjectType, std::string_view> kTypes[] = {{ObjectType::commit, "commit"},
                                                              {ObjectType::tree, "tree"},
                                                              {ObjectType::blob, "blob"},
                                                              {ObjectType::tag, "tag"}};

}  // namespace

std::string ObjectId::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::optional<ObjectId> ObjectId::parse(std::string_view hex) {
  if (hex.size() != kDigits) return std::nullopt;
  ObjectId id;
  for (std::size_t i = 0; i < kSize; ++i) {
    const std::size_t high = kHexDigits.find(hex[2 * i]);
    const std::size_t low = kHexDigits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    id.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return id;
}

std::string_view name_of(ObjectType type) {
  return std::ranges::find(kTypes, type, &std::pair<ObjectType, std::string_view>::first)->second;
}

std::optional<ObjectType> object_type(std::string_view name) {
  for (const auto& [type, known] : kTypes)
    if (known == name) return type;
  return std::nullopt;
}

struct ObjectHash::State {
  State() : context(EVP_MD_CTX_new()) {}
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD_CTX* const context;
};

ObjectHash::ObjectHash(ObjectType type, std::uint64_t size) : state_(std::make_unique<State>()) {
  // Looked up once: that costs more than hashing a small file.
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA1", nullptr);
  EVP_DigestInit_ex(state_->context, kAlgorithm, nullptr);
  const std::string head = std::string(name_of(type)) + ' ' + std::to_string(size);
  EVP_DigestUpdate(state_->context, head.c_str(), head.size() + 1);
}

ObjectHash::~ObjectHash() = default;
ObjectHash::ObjectHash(ObjectHash&&) noexcept = default;
ObjectHash& ObjectHash::operator=(ObjectHash&&) noexcept = default;

void ObjectHash::add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

ObjectId ObjectHash::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  // Without SHA-1 (a library that forbids it) the id is all zeros, which is nobody's.
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  ObjectId id;
  if (size == ObjectId::kSize) std::copy_n(digest.begin(), ObjectId::kSize, id.bytes.begin());
  return id;
}

ObjectId id_of(ObjectType type, std::string_view content) {
  ObjectHash hash(type, content.size());
  hash.add(content);
  return hash.finish();
}

}  // namespace modules::git
