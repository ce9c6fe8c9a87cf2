#include "states/commands.hpp"

#include <algorithm>

namespace states {

std::chrono::milliseconds Commands::time_left() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

void Commands::tell(std::string_view line) const {
  if (live_) live_(base::Stream::out, std::string(line) + "\n");
}

ShownOutput Commands::shown_output(std::size_t keep_head, std::size_t keep_tail) const {
  static const base::Redactor kNoSecrets;
  return {redactor_ ? *redactor_ : kNoSecrets, keep_head, keep_tail, live_};
}

void Commands::begin_other_program() {
  if (before_run_) before_run_();
  ++usage_.programs;
}

void Commands::end_other_program(std::chrono::microseconds cpu, std::uint64_t max_rss_kb, bool truncated) {
  usage_.cpu += cpu;
  usage_.max_rss_kb = std::max(usage_.max_rss_kb, max_rss_kb);
  usage_.truncated = usage_.truncated || truncated;
}

base::Result<base::Completed> Commands::run(std::vector<std::string> argv) {
  base::Command command;
  command.argv = std::move(argv);
  return run(std::move(command));
}

base::Result<base::Completed> Commands::run_undisturbed(base::Command command) {
  if (interrupt_.requested()) return run(std::move(command));  // which does not begin
  interrupt_.defer(true);
  auto completed = run(std::move(command));
  interrupt_.defer(false);
  return completed;
}

base::Result<base::Completed> Commands::run(base::Command command) {
  const std::string program = command.argv.empty() ? std::string() : command.argv.front();
  if (command.env.empty()) command.env = base::clean_environment();
  command.timeout = std::min(command.timeout, time_left());
  command.interrupt = &interrupt_;
  ShownOutput shown = shown_output(command.keep_head, command.keep_tail);
  const bool is_shown = !command.on_output;
  if (is_shown)
    command.on_output = [&](base::Stream stream, std::string_view data) { shown.add(stream, data); };
  if (before_run_) before_run_();
  ++usage_.programs;
  auto completed = base::run(command);
  shown.finish();
  if (!completed) return completed;
  if (is_shown && completed->dropped_bytes > 0) {
    completed->output = shown.kept().text();
    completed->dropped_bytes = shown.kept().dropped();
  }
  usage_.cpu += completed->cpu;
  usage_.max_rss_kb = std::max(usage_.max_rss_kb, completed->max_rss_kb);
  usage_.truncated = usage_.truncated || completed->dropped_bytes > 0;
  if (completed->ending == base::Ending::exited) usage_.last_exit_code = completed->exit_code;
  if (completed->ending == base::Ending::cancelled || completed->ending == base::Ending::timed_out)
    interrupted_output_ = std::move(completed->output);
  if (completed->ending == base::Ending::cancelled)
    return base::Error(base::ErrorCode::cancelled, "Cancelled: " + program);
  if (completed->ending == base::Ending::timed_out) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(command.timeout).count();
    return base::Error(base::ErrorCode::timed_out,
                       "Timed out after " + std::to_string(seconds) + " s: " + program);
  }
  return completed;
}

}  // namespace states
