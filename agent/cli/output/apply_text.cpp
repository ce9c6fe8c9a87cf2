// `opsagent apply` for people: a line per change, and on a terminal a last line that says what is going on.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "agent/cli/output/apply_view.hpp"
#include "agent/cli/output/plan_text.hpp"
#include "base/text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

using Clock = std::chrono::steady_clock;

// Runs that take no longer show no live line, and it is rewritten no more often.
constexpr std::chrono::milliseconds kTick{100};
constexpr std::size_t kOutputLines = 20;  // of a failed state, unless --verbose
constexpr std::size_t kLongestPartialLine = 4096;

struct ResultMark {
  char symbol;
  terminal::Style style;
};

ResultMark mark_of(const engine::StateResult& result) {
  switch (result.outcome) {
    case engine::Outcome::kept:
      return {'=', terminal::Style::dim};
    case engine::Outcome::skipped:
      return {'.', terminal::Style::dim};
    case engine::Outcome::changed:
      break;
    case engine::Outcome::failed:
    case engine::Outcome::cancelled:
    case engine::Outcome::timed_out:
      return {'x', terminal::Style::red};
  }
  const char symbol = change_symbol(result.changes);
  return {symbol, symbol == '+'   ? terminal::Style::green
                  : symbol == '-' ? terminal::Style::red
                                  : terminal::Style::yellow};
}

class TextView final : public ApplyView {
 public:
  TextView(const Options& options, terminal::Console& console) : options_(options), console_(console) {}
  ~TextView() override { erase(); }

  void show(const engine::Event& event) override {
    note(event);
    std::visit([this](const auto& each) { on(each); }, event);
  }

  void settle() override {
    const Clock::time_point now = Clock::now();
    if (console_.live && total_ > 0 && now - drawn_at_ >= kTick) {
      erase();
      draw(now);
      drawn_at_ = now;
    }
    console_.out.flush();
  }

  void stopping(engine::Stop::When when) override {
    if (when == engine::Stop::When::now) return print("Stopping now.\n");
    print("Stopping" +
          (running_ ? " when '" + terminal::printable(running_->id) + "' is done" : std::string()) + ", in " +
          std::to_string(control::kStopGrace.count()) + " s at the latest; once more to stop now.\n");
  }

  std::optional<std::chrono::milliseconds> patience() const override {
    return console_.live && total_ > 0 ? std::optional(kTick) : std::nullopt;
  }

 private:
  void on(const engine::RoundStarted& event) {
    total_ = event.states;
    done_ = event.first;
    drawn_at_ = Clock::now();  // not before the first tick has passed
  }

  void on(const engine::StateStarted& event) {
    running_ = event;
    started_at_ = Clock::now();
    if (options_.verbose)
      print(terminal::wrap_lines(
                terminal::printable(event.message),
                console_.paint(terminal::Style::dim, "> ") + title(event.id, event.module) + ": ", "    ",
                terminal::output_width()) +
            "\n");
  }

  void on(const engine::StateOutput& event) {
    if (!options_.verbose) return;
    streamed_ = true;
    partial_ += event.data;
    std::size_t end = 0;
    while ((end = partial_.find('\n')) != std::string::npos || partial_.size() > kLongestPartialLine) {
      end = std::min(end, partial_.size());
      print("    | " + terminal::printable(std::string_view(partial_).substr(0, end)) + "\n");
      partial_.erase(0, end + 1);
    }
  }

  void on(const engine::StateResult& result) {
    done_ = result.index + 1;
    finish_output();
    const bool streamed = std::exchange(streamed_, false);
    running_.reset();
    const bool success = engine::is_success(result.outcome) && !result.is_blocked;
    if (success && (options_.quiet || (result.outcome != engine::Outcome::changed && !options_.verbose)))
      return;
    const ResultMark mark = mark_of(result);
    std::string text = comment_text(result, console_.paint(mark.style, std::string(1, mark.symbol)) + " " +
                                                title(result.id, result.module) + ": ");
    if (options_.verbose) text += changes_text(result.changes, console_.paint, terminal::output_width());
    if (!success && !streamed) text += output_tail(result.output);
    print(text);
  }

  void on(const engine::RoundEnd& end) {
    total_ = 0;  // no live line any more
    if (!end.problem.empty()) {
      erase();
      return console_.warn(terminal::printable(end.problem));
    }
    if (options_.quiet) return;
    const bool stopped = end.counts[static_cast<std::size_t>(engine::Outcome::failed)] == 0 &&
                         end.counts[static_cast<std::size_t>(engine::Outcome::timed_out)] == 0;
    const std::string title = converged() ? console_.paint(terminal::Style::green, "Done:")
                              : stopped   ? console_.paint(terminal::Style::red, "Stopped:")
                                          : console_.paint(terminal::Style::red, "Failed:");
    print(title + " " + round_summary(end) + ".\n");
  }

  void on(const engine::PlanResult&) {}

  void on(const engine::Notice& notice) {
    erase();
    if (notice.level == engine::Notice::Level::warning)
      return console_.warn(terminal::printable(notice.text));
    if (!options_.quiet) print(terminal::printable(notice.text) + "\n");
  }

  void on(const engine::Stopped&) {
    total_ = 0;
    erase();
    if (!had_round()) console_.complain(kNothingDone);
  }

  std::string title(std::string_view id, std::string_view module) const {
    return console_.paint(terminal::Style::bold, terminal::printable(id)) + "  " +
           console_.paint(terminal::Style::dim, module);
  }

  // Behind `heading`, a line each; on a terminal, lines that are too long are broken between words.
  std::string comment_text(const engine::StateResult& result, const std::string& heading) const {
    std::string text =
        result.comment.empty() ? std::string(engine::outcome_name(result.outcome)) : result.comment;
    if (result.outcome == engine::Outcome::timed_out || result.outcome == engine::Outcome::cancelled)
      text.insert(0, result.outcome == engine::Outcome::timed_out ? "timed out: " : "cancelled: ");
    if (result.resumed) text += " (by an earlier run that was interrupted)";
    return terminal::wrap_lines(terminal::printable(text, true), heading, "    ", terminal::output_width()) +
           "\n";
  }

  // The end of what its programs printed: where the reason usually is.
  std::string output_tail(std::string_view output) const {
    const std::string_view trimmed = base::trim(output);
    const std::vector<std::string_view> lines = base::split(trimmed, '\n');
    const std::size_t first =
        options_.verbose || lines.size() <= kOutputLines ? 0 : lines.size() - kOutputLines;
    std::string text;
    if (first > 0)
      text += "    | … " + std::to_string(first) + " lines before; all of them with --verbose or --json\n";
    for (std::size_t i = first; i < lines.size(); ++i)
      text += "    | " + terminal::printable(lines[i]) + "\n";
    return text;
  }

  void finish_output() {
    if (!partial_.empty()) print("    | " + terminal::printable(partial_) + "\n");
    partial_.clear();
  }

  void print(std::string_view text) {
    erase();
    console_.out.write(text);
  }

  void erase() {
    if (drawn_) console_.out.write("\r\x1b[K");
    drawn_ = false;
  }

  void draw(Clock::time_point now) {
    std::string text = "[" + std::to_string(std::min(done_ + 1, total_)) + "/" + std::to_string(total_) + "]";
    std::string time;
    if (running_) {
      text += " " + running_->id + "  " + running_->module + ": " + running_->message;
      time = "  " +
             std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - started_at_).count()) +
             " s";
    }
    // The time moves, and says that something is going on: what is cut is the text before it. The last column
    // stays free, or some terminals begin another line.
    const std::size_t width = terminal::terminal_width(STDOUT_FILENO);
    const std::size_t room = width > time.size() + 1 ? width - time.size() - 1 : 0;
    console_.out.write(console_.paint(terminal::Style::cyan,
                                      terminal::cut_to_width(terminal::printable(text), room) + time));
    drawn_ = true;
  }

  const Options& options_;
  terminal::Console& console_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::optional<engine::StateStarted> running_;
  Clock::time_point started_at_;
  Clock::time_point drawn_at_;
  bool drawn_ = false;
  bool streamed_ = false;
  std::string partial_;  // output without its newline yet
};

}  // namespace

std::unique_ptr<ApplyView> make_text_view(const Options& options, terminal::Console& console) {
  return std::make_unique<TextView>(options, console);
}

}  // namespace agent::cli
