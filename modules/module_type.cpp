#include "modules/module_type.hpp"

#include <cstdint>

#include "base/values/json.hpp"

namespace modules {

namespace {

struct Given {
  std::size_t row = 0;
  std::string_view json;
  const Given* next = nullptr;
};

struct Values : states::ParamValues {
  const Given* first = nullptr;
};

}  // namespace

ModuleType::ModuleType(const Manifest& manifest)
    : StateType({.name = manifest.name,
                 .summary = manifest.summary,
                 .rereadable = manifest.supports_plan,
                 .can_plan = manifest.supports_plan,
                 .timeout = manifest.timeout},
                manifest.schema()),
      manifest_(manifest) {}

states::ParamValues* ModuleType::make_params(base::Arena& arena) const {
  return arena.make<Values>();
}

base::Result<bool> ModuleType::store_param(states::ParamValues& params, std::size_t row,
                                           const base::Value& value, base::Arena& arena) const {
  auto json = as_json(schema()[row], value, arena);
  if (!json) return std::move(json).error();
  if (json->empty()) return false;
  auto& values = static_cast<Values&>(params);
  values.first = arena.make<Given>(row, *json, values.first);
  return true;
}

std::string ModuleType::parameter_json(const states::ParamValues& params) const {
  std::string text = "{";
  std::uint64_t given = 0;  // a bit per row
  const auto add = [&](std::size_t row, std::string_view json) {
    if (text.size() > 1) text += ',';
    base::append_quoted(schema()[row].name, text);
    text.append(":").append(json);
  };
  for (const Given* each = static_cast<const Values&>(params).first; each; each = each->next) {
    given |= std::uint64_t{1} << each->row;
    add(each->row, each->json);
  }
  for (std::size_t row = 0; row < schema().size(); ++row)
    if ((given & (std::uint64_t{1} << row)) == 0 && !manifest_.default_of(row).empty())
      add(row, manifest_.default_of(row));
  return text + "}";
}

}  // namespace modules
