#include "protocol/report_window.hpp"

#include <algorithm>

namespace protocol {

void ReportWindow::start(std::uint64_t acknowledged) {
  started_ = true;
  stale_ = reading_up_to_.has_value();
  taken_ = out_ = written_ = acknowledged_ = acknowledged;
  last_ = std::max(last_, acknowledged);
  in_flight_.clear();
}

void ReportWindow::available(std::uint64_t last) {
  last_ = std::max(last_, last);
}

std::optional<ReportWindow::Reading> ReportWindow::next_reading() {
  const bool wanted = started_ && !reading_up_to_ && taken_ < last_ && written_ >= out_ &&
                      in_flight_.size() < kUnacknowledged;
  if (!wanted) return std::nullopt;
  reading_up_to_ = last_;
  return Reading{taken_, std::min(kAtOnce, kUnacknowledged - in_flight_.size())};
}

bool ReportWindow::reading_arrives() {
  if (!stale_) return reading_up_to_.has_value();
  stale_ = false;
  reading_up_to_.reset();
  return false;
}

bool ReportWindow::take(std::uint64_t seq) {
  if (seq <= taken_) return false;
  taken_ = seq;
  last_ = std::max(last_, seq);
  return true;
}

void ReportWindow::goes_out() {
  out_ = taken_;
  in_flight_.push_back(taken_);
}

void ReportWindow::reading_ends(std::uint64_t through) {
  if (reading_up_to_) taken_ = std::max(taken_, through > 0 ? through : *reading_up_to_);
  reading_up_to_.reset();
}

void ReportWindow::written(std::uint64_t up_to) {
  written_ = std::max(written_, std::min(up_to, out_));
}

bool ReportWindow::acknowledge(std::uint64_t up_to) {
  if (up_to > taken_) return false;
  acknowledged_ = std::max(acknowledged_, up_to);
  while (!in_flight_.empty() && in_flight_.front() <= up_to)
    in_flight_.pop_front();
  return true;
}

}  // namespace protocol
