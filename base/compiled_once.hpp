// Types that many files copy and few look into, such as a variant with twenty messages: what copies, moves,
// compares and ends one is compiled in one file, not in each that uses it.
//
//   struct Body : std::variant<A, B> {        // in the header
//     using variant::variant;
//     BASE_COMPILED_ONCE(Body);
//   };
//   BASE_COMPILED_HERE(Body)                  // in one source
#pragma once

// A name of a type, where it is declared or defined, cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define BASE_COMPILED_ONCE(Type)          \
  Type();                                 \
  Type(const Type& other);                \
  Type(Type&& other) noexcept;            \
  Type& operator=(const Type& other);     \
  Type& operator=(Type&& other) noexcept; \
  ~Type()

#define BASE_COMPILED_HERE(Type)                          \
  Type::Type() = default;                                 \
  Type::Type(const Type& other) = default;                \
  Type::Type(Type&& other) noexcept = default;            \
  Type& Type::operator=(const Type& other) = default;     \
  Type& Type::operator=(Type&& other) noexcept = default; \
  Type::~Type() = default;
// NOLINTEND(bugprone-macro-parentheses)
