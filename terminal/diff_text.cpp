#include "terminal/diff_text.hpp"

#include "base/text.hpp"
#include "terminal/wrap.hpp"

namespace terminal {

std::string diff_text(std::string_view diff, std::string_view indent, const Paint& paint) {
  if (diff.ends_with('\n')) diff.remove_suffix(1);
  std::string text;
  for (const std::string_view line : base::split(diff, '\n')) {
    const std::string shown = printable(line);
    text += indent;
    if (line.starts_with('+'))
      text += paint(Style::green, shown);
    else if (line.starts_with('-'))
      text += paint(Style::red, shown);
    else if (line.starts_with("@@"))
      text += paint(Style::cyan, shown);
    else
      text += shown;
    text += '\n';
  }
  return text;
}

}  // namespace terminal
