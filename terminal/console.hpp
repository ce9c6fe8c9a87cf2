// Console: what commands print to, and how.
//
// Output is the only way to standard output and standard error: everything passes the redactor. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/values/redactor.hpp"

namespace terminal {

enum class Style { bold, dim, red, green, yellow, cyan };

// Colours, or none.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(Style style, std::string_view text) const;

 private:
  bool on_;
};

class Output {
 public:
  Output(int fd, const base::Redactor& redactor) : fd_(fd), redactor_(redactor) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Buffered. What is secret must be in one piece of text.
  void write(std::string_view text);
  void line(std::string_view text);
  // A JSON document, and a newline: secrets are taken out of its texts and never out of its structure, see
  // shown_json().
  void json(std::string_view document);
  void flush();
  // False once something could not be written (the disk is full, the reader is gone); all later text is
  // dropped.
  bool ok() const { return ok_; }

 private:
  static constexpr std::size_t kBuffer = 64 * 1024;
  const int fd_;
  const base::Redactor& redactor_;
  std::string buffer_;
  bool ok_ = true;
};

struct ConsoleSettings {
  std::string program;         // stands before complaints
  std::optional<bool> colour;  // absent: on a terminal, unless NO_COLOR is set
  bool live = true;            // the last line may be rewritten, where that can be done
};

struct Console {
  Console(ConsoleSettings settings, std::shared_ptr<base::Redactor> the_redactor);

  // "program: text" on standard error, in red where there are colours; with several lines, a line each. What
  // others have said may be in it: it is made printable().
  void complain(std::string_view text);
  void warn(std::string_view text);

  const std::string program;
  const std::shared_ptr<base::Redactor> redactor;
  Output out;
  Output err;
  const Paint paint;         // for `out`
  const Paint paint_errors;  // for `err`
  const bool live;           // `out` is a terminal whose line can be rewritten
};

// Columns of the terminal behind `fd`; 80 when it does not say.
std::size_t terminal_width(int fd);

// Columns that lines on standard output may have: those of the terminal; 0, which is no limit, when it is
// none.
std::size_t output_width();

}  // namespace terminal
