#include "states/state.hpp"

#include "base/text.hpp"

namespace states {

namespace {

using base::Member;
using base::Value;

std::string unknown_parameter(const StateType& type, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Param& param : type.schema())
    known.push_back(param.name);
  return "Unknown parameter '" + std::string(name) + "' of " + std::string(type.name()) +
         base::did_you_mean(name, known);
}

ParamProblem missing(const Param& param, std::uint32_t offset) {
  return {"Missing parameter '" + std::string(param.name) + "'", offset};
}

}  // namespace

const ParamValues* StateType::read_values(const Value& parameter, base::Arena& arena,
                                          std::vector<ParamProblem>& problems,
                                          std::vector<ParamProblem>* warnings) const {
  const std::size_t problems_before = problems.size();
  if (!is_absent(parameter) && !parameter.is_object()) {
    problems.push_back({"'parameter' must be an object", parameter.offset()});
    return nullptr;
  }
  ParamValues* const params = make_params(arena);
  std::uint64_t given = 0;  // a bit per row
  const auto read = [&](const Member& member, bool by_alias) {
    for (std::size_t i = 0; i < schema_.size(); ++i) {
      const Param& param = schema_[i];
      if (by_alias ? param.name == member.key || !param.is_called(member.key) : param.name != member.key)
        continue;
      const std::uint64_t bit = std::uint64_t{1} << i;
      if ((given & bit) != 0 || is_absent(member.value)) return true;  // the first name that is given wins
      given |= bit;
      const auto counts = store_param(*params, i, member.value, arena);
      if (!counts)
        problems.push_back({counts.error().message(), member.value.offset()});
      else if (!*counts && param.is_required)
        problems.push_back(missing(param, member.value.offset()));
      return true;
    }
    return false;
  };
  std::vector<const Member*> others;
  for (const Member& member : parameter.members())
    if (!read(member, false)) others.push_back(&member);
  for (const Member* member : others) {
    if (read(*member, true)) continue;
    (warnings ? *warnings : problems).push_back({unknown_parameter(*this, member->key), member->offset});
  }
  for (std::size_t i = 0; i < schema_.size(); ++i)
    if (schema_[i].is_required && (given & (std::uint64_t{1} << i)) == 0) {
      const Value* null = parameter.find(schema_[i].name);
      problems.push_back(missing(schema_[i], null ? null->offset() : parameter.offset()));
    }
  return problems.size() == problems_before ? params : nullptr;
}

const ParamValues* StateType::read_params(const Value& parameter, base::Arena& arena,
                                          std::vector<ParamProblem>& problems,
                                          std::vector<ParamProblem>* warnings) const {
  const ParamValues* params = read_values(parameter, arena, problems, warnings);
  if (!params) return nullptr;
  auto checked = check_params(*params);
  if (checked) return params;
  problems.push_back({checked.error().message(), parameter.offset()});
  return nullptr;
}

}  // namespace states
