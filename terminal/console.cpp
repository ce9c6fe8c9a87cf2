#include "terminal/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "terminal/shown_json.hpp"
#include "terminal/wrap.hpp"

namespace terminal {

namespace {

bool is_capable_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && term && *term && std::string_view(term) != "dumb";
}

bool wants_colour(std::optional<bool> asked, int fd) {
  if (asked) return *asked;
  const char* no_color = std::getenv("NO_COLOR");
  return !(no_color && *no_color) && is_capable_terminal(fd);
}

std::string_view code(Style style) {
  switch (style) {
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::red:
      return "\x1b[31m";
    case Style::green:
      return "\x1b[32m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::cyan:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

std::string Paint::operator()(Style style, std::string_view text) const {
  if (!on_ || text.empty()) return std::string(text);
  return std::string(code(style)).append(text).append("\x1b[0m");
}

void Output::write(std::string_view text) {
  if (!ok_) return;
  if (redactor_.is_needed(text))
    buffer_ += redactor_.redact(text);
  else
    buffer_ += text;
  if (buffer_.size() >= kBuffer) flush();
}

void Output::line(std::string_view text) {
  write(text);
  if (ok_) buffer_ += '\n';
}

void Output::json(std::string_view document) {
  if (!ok_) return;
  buffer_.append(shown_json(document, redactor_)).append("\n");
  if (buffer_.size() >= kBuffer) flush();
}

void Output::flush() {
  std::string_view rest = buffer_;
  while (ok_ && !rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written >= 0)
      rest.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      ok_ = false;
  }
  buffer_.clear();
}

Console::Console(ConsoleSettings settings, std::shared_ptr<base::Redactor> the_redactor)
    : program(std::move(settings.program)),
      redactor(std::move(the_redactor)),
      out(STDOUT_FILENO, *redactor),
      err(STDERR_FILENO, *redactor),
      paint(wants_colour(settings.colour, STDOUT_FILENO)),
      paint_errors(wants_colour(settings.colour, STDERR_FILENO)),
      live(settings.live && is_capable_terminal(STDOUT_FILENO)) {}

void Console::complain(std::string_view text) {
  out.flush();
  err.line(paint_errors(Style::red, program + ":") + " " + printable(text, true));
  err.flush();
}

void Console::warn(std::string_view text) {
  out.flush();
  err.line(paint_errors(Style::yellow, "warning:") + " " + printable(text, true));
  err.flush();
}

std::size_t terminal_width(int fd) {
  constexpr std::size_t kUnknown = 80;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUnknown;
}

std::size_t output_width() {
  return ::isatty(STDOUT_FILENO) == 1 ? terminal_width(STDOUT_FILENO) : 0;
}

}  // namespace terminal
