#include "modules/compat.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstdint>
#include <utility>

#include "base/text.hpp"
#include "modules/text_position.hpp"

namespace modules {

namespace {

constexpr std::size_t kMostNumbers = 8;  // of a version; four are common

using Numbers = std::array<std::uint64_t, kMostNumbers>;

// Nothing when it is no version. Numbers that are not there are 0.
std::optional<Numbers> numbers_of(std::string_view text) {
  text = text.substr(0, text.find_first_of("-+~"));
  const std::vector<std::string_view> parts = base::split(text, '.');
  if (parts.empty() || parts.size() > kMostNumbers) return std::nullopt;
  Numbers numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const char* const end = parts[i].data() + parts[i].size();
    const auto read = std::from_chars(parts[i].data(), end, numbers[i]);
    if (parts[i].empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  }
  return numbers;
}

// The longer ones first: "<=" begins like "<".
constexpr std::array<std::pair<std::string_view, Condition::Is>, 6> kOperators{
    {{"<=", Condition::Is::at_most},
     {">=", Condition::Is::at_least},
     {"==", Condition::Is::equal},
     {"!=", Condition::Is::other},
     {"<", Condition::Is::less},
     {">", Condition::Is::more}}};

std::string_view sign_of(Condition::Is is) {
  return std::ranges::find(kOperators, is, &std::pair<std::string_view, Condition::Is>::second)->first;
}

bool holds(const Condition& condition, std::string_view version) {
  const auto order = compare_versions(version, condition.version);
  switch (condition.is) {
    case Condition::Is::less:
      return std::is_lt(order);
    case Condition::Is::at_most:
      return std::is_lteq(order);
    case Condition::Is::more:
      return std::is_gt(order);
    case Condition::Is::at_least:
      return std::is_gteq(order);
    case Condition::Is::equal:
      return std::is_eq(order);
    case Condition::Is::other:
      return std::is_neq(order);
  }
  return false;
}

std::optional<Condition> read_line(std::string_view line) {
  const auto* const found =
      std::ranges::find_if(kOperators, [&](const auto& each) { return line.starts_with(each.first); });
  if (found == kOperators.end()) return std::nullopt;
  const std::string_view version = base::trim(line.substr(found->first.size()));
  if (!is_version(version)) return std::nullopt;
  return Condition{found->second, std::string(version)};
}

}  // namespace

bool is_version(std::string_view text) {
  return numbers_of(text).has_value();
}

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  const Numbers first = numbers_of(a).value_or(Numbers{});
  const Numbers second = numbers_of(b).value_or(Numbers{});
  return std::lexicographical_compare_three_way(first.begin(), first.end(), second.begin(), second.end());
}

base::Result<Compat> Compat::read(std::string_view text, std::string_view file) {
  if (text.size() > kLargestCompat)
    return base::Error(base::ErrorCode::limit,
                       std::string(file) + " is larger than " + std::to_string(kLargestCompat) + " bytes");
  Compat compat;
  for (const std::string_view whole : base::split(text, '\n')) {
    const std::string_view line = base::trim(whole);
    if (line.empty() || line.starts_with('#')) continue;
    auto condition = read_line(line);
    if (!condition)
      return base::Error(base::ErrorCode::invalid,
                         at(file, text, static_cast<std::uint32_t>(line.data() - text.data()),
                            "'" + base::quote_of(line) +
                                "' is not an operator (<, <=, >, >=, ==, !=) with a version such as 1.2.0"));
    compat.conditions_.push_back(std::move(*condition));
  }
  return compat;
}

std::optional<std::string> Compat::refusal(std::string_view agent_version) const {
  const auto fits = [&](const Condition& condition) { return holds(condition, agent_version); };
  if (std::ranges::all_of(conditions_, fits)) return std::nullopt;
  std::string needs;
  for (const Condition& condition : conditions_)
    needs.append(needs.empty() ? "" : ", ")
        .append(sign_of(condition.is))
        .append(" ")
        .append(condition.version);
  return "modules are not compatible with agent " + std::string(agent_version) + ": needs " + needs;
}

}  // namespace modules
