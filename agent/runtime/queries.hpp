// Queries: what the backend may ask about this machine besides its recipe.
//
// Reads only. May block for seconds (systemctl, journalctl, a large file), so it runs neither on the loop nor
// on the worker's thread. What comes out is bounded and passes the redactor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/values/redactor.hpp"

namespace agent::runtime {

struct QueryRequest {
  std::string kind;         // unit, journal, file_hash, processes
  std::string args;         // JSON object, or empty
  std::uint64_t limit = 0;  // rows or lines; 0: the usual
};
struct QueryAnswer {
  std::string data;  // JSON
  bool more = false;
};

// Whether the local configuration (the values of `allow`) permits this kind. Facts are sent anyway and need
// no permission.
bool is_query_allowed(std::string_view kind, const std::vector<std::string>& allow);

// ErrorCode::invalid for an unknown kind or wrong arguments.
base::Result<QueryAnswer> answer_query(const QueryRequest& request, const base::Redactor& redactor,
                                       base::Interrupt& interrupt);

}  // namespace agent::runtime
