// in_transaction(): Store::transact() for work that answers something. For the writer thread.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "backend/store/store.hpp"

namespace backend::store {

// `work` answers a Result; its error undoes what it wrote.
template <class Work>
auto in_transaction(Store& store, const Work& work) -> std::invoke_result_t<const Work&> {
  std::optional<std::invoke_result_t<const Work&>> answer;
  auto done = store.transact([&]() -> base::Result<void> {
    answer.emplace(work());
    if (!*answer) return answer->error();
    return {};
  });
  if (!done) return std::move(done).error();
  return std::move(*answer);
}

// `exists` when somebody has edited it since `expected` was seen. `present` 0: it is not there.
inline base::Result<void> check_edit(std::optional<domain::Edit> expected, domain::Edit present,
                                     const std::string& what) {
  if (!expected || *expected == present) return {};
  if (*expected == domain::kAnyEdit) {
    if (present > 0) return {};
    return base::Error(base::ErrorCode::exists, what + " is not there, and was to be edited");
  }
  if (*expected == 0) return base::Error(base::ErrorCode::exists, what + " is there already");
  return base::Error(base::ErrorCode::exists, what + " was edited meanwhile: read it again");
}

}  // namespace backend::store
