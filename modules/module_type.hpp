// ModuleType: a state type whose name and schema come from a manifest. It reads parameters and knows what to
// tell the module of them; who derives from it talks to the module.
//
// The manifest must outlive it. See states/state.hpp for threads.
#pragma once

#include <string>

#include "modules/manifest.hpp"
#include "states/state.hpp"

namespace modules {

class ModuleType : public states::StateType {
 public:
  const Manifest& manifest() const { return manifest_; }

 protected:
  explicit ModuleType(const Manifest& manifest);
  ~ModuleType() = default;

  // The parameters as a JSON object, with the defaults of those that are not given.
  std::string parameter_json(const states::ParamValues& params) const;

 private:
  states::ParamValues* make_params(base::Arena& arena) const final;
  base::Result<bool> store_param(states::ParamValues& params, std::size_t row, const base::Value& value,
                                 base::Arena& arena) const final;

  const Manifest& manifest_;
};

}  // namespace modules
