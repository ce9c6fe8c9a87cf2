// A relation to a version, as ">=" and its like write it.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace states::versions {

enum class Relation { equal, unequal, less, less_equal, greater, greater_equal };

inline bool holds(Relation relation, int order) {
  switch (relation) {
    case Relation::equal:
      return order == 0;
    case Relation::unequal:
      return order != 0;
    case Relation::less:
      return order < 0;
    case Relation::less_equal:
      return order <= 0;
    case Relation::greater:
      return order > 0;
    case Relation::greater_equal:
      return order >= 0;
  }
  return false;
}

// Takes an operator from the beginning of `rest`; nothing, and `rest` as it was, if there is none.
inline std::optional<Relation> take_relation(std::string_view& rest) {
  constexpr std::array<std::pair<std::string_view, Relation>, 7> kOperators{{{"<=", Relation::less_equal},
                                                                             {">=", Relation::greater_equal},
                                                                             {"!=", Relation::unequal},
                                                                             {"==", Relation::equal},
                                                                             {"<", Relation::less},
                                                                             {">", Relation::greater},
                                                                             {"=", Relation::equal}}};
  for (const auto& [text, relation] : kOperators)
    if (rest.starts_with(text)) {
      rest.remove_prefix(text.size());
      return relation;
    }
  return std::nullopt;
}

}  // namespace states::versions
