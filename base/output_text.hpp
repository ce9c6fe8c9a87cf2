// What programs print, made fit for a report: no progress bars, no colours, valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

// In this order: terminal escape sequences (CSI, OSC and the rest) are removed; of a line that was
// overwritten with carriage returns the last version stays, as a terminal would show it ("\r\n" is a plain
// line end); lines with ten or more dots in a row (progress) are dropped; bytes that are not UTF-8 become
// U+FFFD.
std::string clean_output(std::string_view raw);

// Removes escape sequences from a text that comes in chunks. The beginning of one is held back until its end
// has come; what is still held back at the end of the text is none of it.
class EscapeRemover {
 public:
  std::string add(std::string_view chunk);

 private:
  static constexpr std::size_t kLongestSequence = 4096;  // what goes on for longer is forgotten
  std::string held_;
};

// How many bytes at the beginning end with a whole character: all, unless the last one is a UTF-8 sequence
// whose rest may be yet to come.
std::size_t whole_characters(std::string_view text);

// The last line with anything on it, trimmed: programs say at the end why they gave up. Empty if there is
// none.
std::string_view last_line(std::string_view output);

}  // namespace base
