#include "terminal/wrap.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace terminal {

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {  // our own colour sequences only: ESC [ … m
      i = std::min(text.find('m', i), text.size() - 1);
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) ++width;
  }
  return width;
}

namespace {

// `limit`: in columns.
template <class Parts>
std::string fill_lines(const Parts& parts, std::string_view first, std::string_view rest, std::size_t limit) {
  std::string out(first);
  std::size_t column = display_width(first);
  bool at_start = true;
  for (const std::string_view part : parts) {
    const std::size_t size = display_width(part);
    if (!at_start && column + 1 + size > limit) {
      out.append("\n").append(rest);
      column = display_width(rest);
      at_start = true;
    }
    if (!at_start) out += ' ';
    out += part;
    column += size + (at_start ? 0 : 1);
    at_start = false;
  }
  return out;
}

}  // namespace

std::string wrap(std::string_view text, std::string_view first, std::string_view rest, std::size_t width) {
  return fill_lines(base::split_words(text), first, rest, width);
}

std::string wrap_parts(std::span<const std::string> parts, std::string_view first, std::string_view rest,
                       std::size_t width) {
  return fill_lines(parts, first, rest, width > 0 ? width : std::string::npos);
}

std::string wrap_lines(std::string_view text, std::string_view first, std::string_view rest,
                       std::size_t width) {
  std::string out;
  for (const std::string_view line : base::split(text, '\n')) {
    if (base::trim(line).empty()) continue;
    const std::string_view start = out.empty() ? first : rest;
    if (!out.empty()) out += '\n';
    if (width > 0 && display_width(start) + display_width(line) > width)
      out += wrap(line, start, rest, width);
    else
      out.append(start).append(line);
  }
  return out.empty() ? std::string(first) : out;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size() && columns + 1 < width; ++columns)
    end += std::max<std::size_t>(base::utf8_length(text, end), 1);
  return std::string(text.substr(0, end)) + "…";
}

std::string join_lines(std::string_view text, std::string_view separator) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n'))
    if (!base::trim(line).empty()) lines.emplace_back(line);
  return base::join(lines, separator);
}

std::string printable(std::string_view text, bool keep_newlines) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto is_fine = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\t' || (keep_newlines && c == '\n');
  };
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters too; in UTF-8 they are C2 80 to C2 9F.
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte >= 0x80 && base::utf8_length(text, i) == 0) {
      out += "\uFFFD";
    } else if (is_fine(text[i]) && !is_c1) {
      const std::size_t length = std::max<std::size_t>(base::utf8_length(text, i), 1);
      const char32_t character = base::utf8_character(text.substr(i, length));
      if (base::changes_reading(character))
        out.append("\\u").append({kDigits[character >> 12], kDigits[character >> 8 & 15],
                                  kDigits[character >> 4 & 15], kDigits[character & 15]});
      else
        out += text.substr(i, length);
      i += length - 1;
    } else if (text[i] == '\n') {
      out += "\\n";
    } else {
      const unsigned char shown = is_c1 ? static_cast<unsigned char>(text[++i]) : byte;
      out.append("\\x").append({kDigits[shown >> 4], kDigits[shown & 15]});
    }
  }
  return out;
}

}  // namespace terminal
