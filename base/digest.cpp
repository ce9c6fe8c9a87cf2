#include "base/digest.hpp"

#include <array>

#include "base/openssl.hpp"

namespace base {

namespace {

struct Row {
  DigestKind kind;
  std::string_view name;
  std::size_t digits;
};
constexpr std::array<Row, 4> kRows{{{DigestKind::md5, "md5", 32},
                                    {DigestKind::sha1, "sha1", 40},
                                    {DigestKind::sha256, "sha256", 64},
                                    {DigestKind::sha512, "sha512", 128}}};

const Row& row_of(DigestKind kind) {
  return kRows[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string_view digest_name(DigestKind kind) {
  return row_of(kind).name;
}

std::size_t digest_length(DigestKind kind) {
  return row_of(kind).digits;
}

std::optional<DigestKind> digest_kind(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

std::optional<DigestKind> digest_kind_of_length(std::size_t digits) {
  for (const Row& row : kRows)
    if (row.digits == digits) return row.kind;
  return std::nullopt;
}

struct Digest::State {
  State() : context(EVP_MD_CTX_new()) {}
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD_CTX* const context;
  bool works = false;
};

Digest::Digest(DigestKind kind) : state_(std::make_unique<State>()) {
  const ErrorScope scope;
  const EVP_MD* algorithm = EVP_get_digestbyname(std::string(digest_name(kind)).c_str());
  state_->works = algorithm && EVP_DigestInit_ex(state_->context, algorithm, nullptr) == 1;
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::string_view bytes) {
  if (state_->works) EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Digest::finish() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  if (!state_->works || EVP_DigestFinal_ex(state_->context, bytes.data(), &size) != 1) return {};
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace base
