#include "ctl/fields.hpp"

#include "base/values/json.hpp"

namespace ctl {

namespace {

const base::Value kNull;

}  // namespace

const base::Value& field(const base::Value& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const base::Value* found = object.find(path.substr(0, dot));
  if (!found) return kNull;
  return dot == std::string_view::npos ? *found : field(*found, path.substr(dot + 1));
}

std::string text_of(const base::Value& value) {
  if (value.is_null()) return {};
  if (value.is_text()) return std::string(value.text());
  return base::to_json(value);
}

std::string text_field(const base::Value& object, std::string_view path) {
  return text_of(field(object, path));
}

std::int64_t number_field(const base::Value& object, std::string_view path, std::int64_t missing) {
  return field(object, path).as_integer().value_or(missing);
}

bool flag_field(const base::Value& object, std::string_view path) {
  return field(object, path).as_bool().value_or(false);
}

std::string pairs_text(const base::Value& object, bool skip_zeros) {
  std::string text;
  for (const base::Member& member : object.members()) {
    if (skip_zeros && member.value.as_integer() == 0) continue;
    text.append(text.empty() ? "" : " ").append(member.key).append("=").append(text_of(member.value));
  }
  return text;
}

std::span<const base::Value> items_field(const base::Value& object, std::string_view path) {
  return field(object, path).items();
}

}  // namespace ctl
