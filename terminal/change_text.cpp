#include "terminal/change_text.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "terminal/diff_text.hpp"
#include "terminal/wrap.hpp"

namespace terminal {

namespace {

constexpr std::string_view kHanging = "  ";
constexpr std::string_view kDiffIndent = "    ";

}  // namespace

std::string message_text(std::string_view message, std::string_view indent, std::optional<Style> style,
                         const Paint& paint, std::size_t width) {
  const std::size_t room = width == 0 ? 0 : std::max(width, indent.size() + 1) - indent.size();
  const std::string shown = printable(message, true);
  std::string text;
  for (const std::string_view given : base::split(shown, '\n')) {
    const std::string wrapped = wrap_lines(given, "", kHanging, room);
    for (const std::string_view line : base::split(wrapped, '\n'))
      text.append(indent).append(style ? paint(*style, line) : std::string(line)).append("\n");
  }
  return text;
}

std::string change_text(const ShownChange& change, std::string_view indent, const Paint& paint,
                        std::size_t width) {
  std::vector<std::string> parts{printable(change.what)};
  if (!change.before.empty() || !change.after.empty()) {
    parts.back() += ":";
    if (!change.before.empty()) parts.push_back(paint(Style::red, printable(change.before)) + " ->");
    parts.push_back(paint(Style::green, change.after.empty() ? "absent" : printable(change.after)));
  }
  std::string text = wrap_parts(parts, indent, std::string(indent).append(kHanging), width) + "\n";
  if (!change.diff.empty()) text += diff_text(change.diff, std::string(indent).append(kDiffIndent), paint);
  return text;
}

}  // namespace terminal
