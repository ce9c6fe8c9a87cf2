#include "backend/domain/placement/foreign_states.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "modules/manifest.hpp"

namespace backend::domain {

namespace {

using base::Value;

// Of each foreign module the names of its parameters.
struct Foreign {
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> modules;
  std::size_t states = 0;
};

Foreign find_foreign(std::string_view content, const states::Registry& registry) {
  Foreign found;
  recipe::Document document;
  document.syntax = recipe::guess_syntax("", content);
  document.text = std::string(content);
  if (content.size() > recipe::kLargestRecipe || recipe::parse(document)) return found;
  const Value* states = document.root.is_list() ? &document.root : recipe::find_states(document.root);
  if (!states) return found;
  for (const Value& state : states->items()) {
    const Value* given = state.find("module");
    const auto name = given ? given->as_line(document.arena) : std::nullopt;
    if (!name || registry.find(*name) || !::modules::is_module_name(*name)) continue;
    auto& parameters = found.modules[std::string(*name)];
    ++found.states;
    if (const Value* parameter = state.find("parameter"))
      for (const base::Member& member : parameter->members())
        parameters.emplace(member.key);
  }
  return found;
}

}  // namespace

std::vector<std::string> foreign_modules(std::string_view content, const states::Registry& registry) {
  std::vector<std::string> names;
  for (const auto& [name, parameters] : find_foreign(content, registry).modules)
    names.push_back(name);
  return names;
}

// Never planned or applied: recipes are only checked with it.
class UncheckedTypes::Type final : public states::StateType {
 public:
  Type(std::string_view name, states::Schema schema) : StateType({.name = name}, schema) {}

  states::Plan make_plan(const states::ParamValues&, states::Context&) const override {
    return states::Plan::fail("Internal error: its module is not known");
  }
  states::Applied apply_plan(const states::ParamValues&, const states::Plan&,
                             states::ApplyContext&) const override {
    return states::Applied::failed("Internal error: its module is not known");
  }

 private:
  states::ParamValues* make_params(base::Arena& arena) const override {
    return arena.make<states::ParamValues>();
  }
  base::Result<bool> store_param(states::ParamValues&, std::size_t, const Value&,
                                 base::Arena&) const override {
    return true;
  }
};

struct UncheckedTypes::Module {
  std::string name;
  std::set<std::string, std::less<>> parameters;
  std::vector<states::Param> rows;
  std::unique_ptr<Type> type;
};

UncheckedTypes::UncheckedTypes(std::string_view content, const states::Registry& registry) {
  Foreign found = find_foreign(content, registry);
  states_ = found.states;
  for (auto& [name, parameters] : found.modules) {
    Module& module = *modules_.emplace_back(std::make_unique<Module>());
    module.name = name;
    module.parameters = std::move(parameters);
    for (const std::string& parameter : module.parameters)
      if (module.rows.size() < states::Schema::kMostParams) module.rows.push_back({.name = parameter});
    module.type = std::make_unique<Type>(module.name, states::Schema(module.rows));
    entries_.push_back({.type = module.type.get(), .page = {}});
  }
}

UncheckedTypes::~UncheckedTypes() = default;

}  // namespace backend::domain
