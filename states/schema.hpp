// Schema: the parameters of a state type, as a value. It has no tie to C++ fields, so it can be printed, sent
// to a backend, or read from a file; states/param.hpp binds a native module's schema to the fields of its
// struct.
//
// Rows and texts are views: a native module has them as constants, whoever reads a schema from a file keeps
// what it was read from. Any thread may read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace states {

// What stands on the wire, as in the documentation.
enum class Wire : std::uint8_t {
  line,
  text,
  boolean,
  integer,
  list,
  pairs,
  mode,
  seconds,
  watch,
  references
};
std::string_view wire_name(Wire wire);

// The largest value of Wire::seconds, a month: anything longer is a mistake in units.
inline constexpr std::int64_t kLongestSeconds = 30LL * 24 * 3600;

// The texts of Wire::integer have no more digits than always fit.
inline constexpr std::size_t kMostDigits = 18;

// One parameter.
struct Param {
  std::string_view name;
  std::string_view doc;
  Wire wire = Wire::line;
  bool is_required = false;
  bool is_secret = false;     // registered with the redactor; never shown
  bool keeps_empty = false;   // "" is a value, not an absence
  bool joins_lists = false;   // a list of texts is accepted and joined by newlines
  bool splits_words = false;  // pairs: "A=1 B=2" is accepted
  bool names_things =
      false;  // its texts say what it is about (paths, packages): shown though the state is sensitive
  std::string_view fallback_text;  // what holds when it is absent, for people
  std::array<std::string_view, 2> aliases{};
  std::span<const std::string_view> choices{};                    // of a line: the accepted ones; empty: any
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  // of an integer
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  constexpr bool is_called(std::string_view other) const {
    return other == name || (!other.empty() && (other == aliases[0] || other == aliases[1]));
  }
};

class Schema {
 public:
  // A bit per parameter says which were given (see StateType::read_values).
  static constexpr std::size_t kMostParams = 64;

  constexpr Schema() = default;
  constexpr Schema(std::span<const Param> params) : params_(params) {}  // not copied

  constexpr auto begin() const { return params_.begin(); }
  constexpr auto end() const { return params_.end(); }
  constexpr std::size_t size() const { return params_.size(); }
  constexpr bool empty() const { return params_.empty(); }
  constexpr const Param& operator[](std::size_t row) const { return params_[row]; }

 private:
  std::span<const Param> params_;
};

// The schema as JSON Schema (draft 2020-12) of a state's `parameter` object, on one line. It says what is
// accepted from JSON: other encodings of a value (a number for a text, one text for a list) are in it, and
// null, which counts as not given. Rules between parameters are not in it, nor the limits of a number that
// stands in a text.
std::string json_schema(std::string_view title, std::string_view description, Schema schema);

}  // namespace states
