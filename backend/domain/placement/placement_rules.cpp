#include "backend/domain/placement/placement_rules.hpp"

#include <algorithm>

namespace backend::domain {

using base::ErrorCode;
using base::Result;

std::optional<std::size_t> refusing_case(std::span<const PlacementCase> cases) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].is_touched) continue;
    if (cases[i].problem.empty()) return std::nullopt;
    if (!first && !cases[i].was_rejected) first = i;
  }
  return first;
}

std::optional<std::size_t> spoiled_case(std::span<const PlacementCase> cases) {
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (cases[i].is_touched && !cases[i].was_rejected && !cases[i].problem.empty()) return i;
  return std::nullopt;
}

namespace {

// Adds suspects to those who are kept, as many as possible.
class WaitIsolation {
 public:
  WaitIsolation(std::string_view app_id, std::span<const PlacedInstance> instances,
                std::span<const std::shared_ptr<const StateList>> assigned)
      : app_id_(app_id), instances_(instances), assigned_(assigned), problems_(instances.size()) {}

  void keep(std::size_t instance) { kept_.push_back(instances_[instance]); }
  Result<void> check() { return check_waits(app_id_, kept_, assigned_); }

  // Halves them until those are found with which it fails.
  Result<void> add(std::span<const std::size_t> suspects) {
    if (suspects.empty()) return {};
    if (checks_++ >= kMostIsolationChecks) {
      for (const std::size_t i : suspects)
        problems_[i] = "too many machines of the app are in doubt to look at the waits of each";
      return {};
    }
    const std::size_t before = kept_.size();
    for (const std::size_t i : suspects)
      keep(i);
    auto fine = check();
    if (fine) return {};
    if (fine.error().code() != ErrorCode::exists) return fine;
    kept_.resize(before);
    if (suspects.size() == 1) {
      problems_[suspects.front()] = fine.error().message();
      return {};
    }
    if (auto first = add(suspects.first(suspects.size() / 2)); !first) return first;
    return add(suspects.subspan(suspects.size() / 2));
  }

  std::vector<std::string> take_problems() { return std::move(problems_); }

 private:
  const std::string_view app_id_;
  const std::span<const PlacedInstance> instances_;
  const std::span<const std::shared_ptr<const StateList>> assigned_;
  std::vector<PlacedInstance> kept_;
  std::vector<std::string> problems_;
  std::size_t checks_ = 0;
};

}  // namespace

Result<std::vector<std::string>> isolate_waits(std::string_view app_id,
                                               std::span<const PlacedInstance> instances,
                                               const std::vector<bool>& suspects,
                                               std::span<const std::shared_ptr<const StateList>> assigned) {
  auto all = check_waits(app_id, instances, assigned);
  if (all) return std::vector<std::string>(instances.size());
  if (all.error().code() != ErrorCode::exists) return std::move(all).error();

  WaitIsolation isolation(app_id, instances, assigned);
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (suspects[i])
      doubtful.push_back(i);
    else
      isolation.keep(i);
  }
  if (doubtful.empty()) return std::move(all).error();
  if (auto fine = isolation.check(); !fine) return std::move(fine).error();
  if (auto added = isolation.add(doubtful); !added) return std::move(added).error();
  return isolation.take_problems();
}

}  // namespace backend::domain
