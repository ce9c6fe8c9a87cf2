// Part: a state of another type inside a state, with parameters of its own: a file here, a service there. It
// is planned and applied by its own rules.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/values/arena.hpp"
#include "states/state.hpp"

namespace states::mesos {

class Part {
 public:
  // `parameter`: as JSON, and right: anything else is a defect of ours.
  Part(std::string_view type, std::string parameter);
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // Adds to `all` what this part would do. False: `all` says why it cannot, or on what it depends.
  bool add_to(Plan& all, Context& context) const;

  // Makes it true, if it is not. Adds to `comment` and `output`; an error is the part's own comment.
  base::Result<void> make_true(ApplyContext& context, std::string& comment, std::string& output) const;

 private:
  base::Arena arena_;
  const StateType* type_ = nullptr;
  const ParamValues* params_ = nullptr;  // null: the defect
};

}  // namespace states::mesos
