// The chain of the audit, computed anew from what the API shows: opsctl does not take the backend's word for
// it. docs/formats.md has the format. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/values/value.hpp"

namespace ctl {

class AuditChain {
 public:
  // `noted`: a head that was written down earlier, which must be on the way; "": none was.
  explicit AuditChain(std::string noted) : noted_(std::move(noted)), saw_noted_(noted_.empty()) {}

  // The next row, from the oldest on. False: it does not follow, and problem() says how.
  bool take(const base::Value& row);
  // After the last: what the backend says is the newest, and what was noted.
  bool finish(const base::Value& head);

  std::size_t rows() const { return rows_; }
  const std::string& head() const { return chain_; }
  std::int64_t last_id() const { return last_; }
  const std::string& problem() const { return problem_; }
  std::int64_t bad_row() const { return bad_row_; }  // 0: none, or not one row

 private:
  bool fail(std::int64_t row, std::string problem);

  const std::string noted_;
  bool saw_noted_;
  std::string chain_ = std::string(64, '0');
  std::int64_t last_ = 0;
  std::size_t rows_ = 0;
  std::int64_t bad_row_ = 0;
  std::string problem_;
};

}  // namespace ctl
