#include "agent/reports/spool_marks.hpp"

#include "base/values/json.hpp"

namespace agent::reports {

namespace {

std::uint64_t number_at(const base::Value& object, std::string_view key) {
  const base::Value* value = object.find(key);
  return value ? static_cast<std::uint64_t>(value->as_integer().value_or(0)) : 0;
}

}  // namespace

bool SpoolMarks::hides(const SpoolSegment::Item& item) const {
  return item.seq <= acknowledged || item.seq <= all_dropped_through ||
         (item.importance == Importance::kept && item.seq <= kept_dropped_through);
}

std::string to_text(const SpoolMarks& marks) {
  const auto field = [](std::string_view name, std::uint64_t number) {
    return base::json_quote(name) + ":" + std::to_string(number);
  };
  return "{" + field("acknowledged", marks.acknowledged) + "," +
         field("kept_dropped_through", marks.kept_dropped_through) + "," +
         field("all_dropped_through", marks.all_dropped_through) + "," +
         field("dropped_kept", marks.dropped.kept) + "," + field("dropped_others", marks.dropped.others) +
         "," + field("damaged", marks.dropped.damaged) + "}\n";
}

std::optional<SpoolMarks> parse_marks(std::string_view text) {
  base::Arena arena;
  const auto parsed = base::parse_json(text, arena);
  const auto* object = std::get_if<base::Value>(&parsed);
  if (!object) return std::nullopt;
  return SpoolMarks{.acknowledged = number_at(*object, "acknowledged"),
                    .kept_dropped_through = number_at(*object, "kept_dropped_through"),
                    .all_dropped_through = number_at(*object, "all_dropped_through"),
                    .dropped = {.kept = number_at(*object, "dropped_kept"),
                                .others = number_at(*object, "dropped_others"),
                                .damaged = number_at(*object, "damaged")}};
}

}  // namespace agent::reports
