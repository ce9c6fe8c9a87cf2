// StoreCondition: whether the store takes what it is given. A disk that is full, or does not write, is said
// once in the log and once when it is over, however many agents meet it. Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <string>

#include "backend/domain/model.hpp"
#include "base/result.hpp"
#include "terminal/log.hpp"

namespace backend::fleet {

class StoreCondition {
 public:
  explicit StoreCondition(terminal::Log& log) : log_(log) {}

  // Something was not stored. `what` is for the log, when the disk is not the reason.
  void failed(const std::string& what, const base::Error& error);
  // So many reports were not stored; their agents keep them.
  void refused(std::size_t reports) { refused_ += reports; }
  // As much as a batch of reports was stored. One report that fitted shows nothing: the next may not.
  void works();

  bool is_down() const { return !why_.empty(); }
  // For people: "" while all is well.
  const std::string& why() const { return why_; }

 private:
  terminal::Log& log_;
  std::string why_;
  std::uint64_t refused_ = 0;  // since it went down
};

}  // namespace backend::fleet
