#include "agent/cli/output/markdown.hpp"

#include "base/text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

// Words between two marks, painted; a mark without its partner is text.
std::string painted_spans(std::string_view text, std::string_view mark, terminal::Style style,
                          const terminal::Paint& paint) {
  std::string out;
  while (true) {
    const std::size_t first = text.find(mark);
    const std::size_t last = first == std::string_view::npos ? first : text.find(mark, first + mark.size());
    if (last == std::string_view::npos) return out.append(text);
    out += text.substr(0, first);
    const std::string_view inner = text.substr(first + mark.size(), last - first - mark.size());
    const std::string shown = paint(style, inner);
    out += shown == inner ? std::string(mark).append(inner).append(mark) : shown;
    text.remove_prefix(last + mark.size());
  }
}

bool is_item(std::string_view line) {
  return line.starts_with("- ") || line.starts_with("* ");
}

class Renderer {
 public:
  Renderer(const terminal::Paint& paint, std::size_t width) : paint_(paint), width_(width) {}

  void line(std::string_view line) {
    const std::string_view text = base::trim(line);
    if (text.starts_with("```")) {
      flush();
      in_code_ = !in_code_;
    } else if (in_code_) {
      out_ += "    " + paint_(terminal::Style::dim, line) + "\n";
    } else if (text.empty()) {
      flush();
      out_ += "\n";
    } else if (text.starts_with('#')) {
      flush();
      out_ += paint_(terminal::Style::bold, base::trim(text.substr(text.find_first_not_of('#')))) + "\n";
    } else if (text.starts_with('|')) {
      flush();
      out_ += std::string(text) + "\n";
    } else {
      if (is_item(text)) flush();
      paragraph_.append(paragraph_.empty() ? "" : " ").append(text);
    }
  }

  std::string finish() {
    flush();
    return std::move(out_);
  }

 private:
  void flush() {
    if (paragraph_.empty()) return;
    const std::string text = painted_spans(painted_spans(paragraph_, "`", terminal::Style::cyan, paint_),
                                           "**", terminal::Style::bold, paint_);
    out_ += terminal::wrap(text, "", is_item(paragraph_) ? "  " : "", width_) + "\n";
    paragraph_.clear();
  }

  const terminal::Paint& paint_;
  const std::size_t width_;
  std::string out_;
  std::string paragraph_;
  bool in_code_ = false;
};

}  // namespace

std::string render_markdown(std::string_view text, const terminal::Paint& paint, std::size_t width) {
  Renderer renderer(paint, width);
  for (const std::string_view line : base::split(base::trim(text), '\n'))
    renderer.line(line);
  return renderer.finish();
}

}  // namespace agent::cli
