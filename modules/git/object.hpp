// What git calls things: ids, types, and how an object's id follows from its content. Values; any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace modules::git {

// SHA-1, as git has it: of "TYPE SIZE\0" and the content.
struct ObjectId {
  static constexpr std::size_t kSize = 20;
  static constexpr std::size_t kDigits = 40;

  std::array<std::uint8_t, kSize> bytes{};

  auto operator<=>(const ObjectId&) const = default;
  std::string hex() const;
  // 40 hexadecimal digits, lower case; nothing else.
  static std::optional<ObjectId> parse(std::string_view hex);
};

enum class ObjectType { commit, tree, blob, tag };

std::string_view name_of(ObjectType type);
std::optional<ObjectType> object_type(std::string_view name);

// The id of an object whose content comes in pieces.
class ObjectHash {
 public:
  ObjectHash(ObjectType type, std::uint64_t size);
  ~ObjectHash();
  ObjectHash(ObjectHash&&) noexcept;
  ObjectHash& operator=(ObjectHash&&) noexcept;

  void add(std::string_view bytes);
  ObjectId finish();  // the object is spent afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Base64 without blanks; nothing when it is anything else.
std::optional<std::string> from_base64(std::string_view text);

ObjectId id_of(ObjectType type, std::string_view content);

}  // namespace modules::git
