#include "recipe/format/format.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <doctest/doctest.h>

#include "recipe/recipe.hpp"

namespace recipe::format {

namespace {

using base::Value;

std::string formatted(std::string_view text) {
  auto made = format_recipe(text);
  if (const auto* refusal = std::get_if<Refusal>(&made))
    return "refused: " + refusal->message + " in line " + std::to_string(refusal->position.line);
  return std::get<std::string>(made);
}

// Whether every reader takes two documents for the same. Not the program's own comparison: it goes by the
// values that recipes are read from. `depth` bounds what aliases repeat.
bool same_values(const Value& a, const Value& b, int depth = 0) {
  if (depth > 12) return true;
  if (a.is_text() && b.is_text()) {
    if (a.text() != b.text()) return false;
    if (a.kind() == b.kind()) return true;
    const Value plain = Value::plain(a.text());
    return !plain.as_bool() && !plain.as_number() && !plain.as_integer() && !a.text().empty() &&
           !states::is_absent(plain);
  }
  if (a.kind() != b.kind()) return false;
  if (!std::ranges::equal(a.items(), b.items(), [&](const Value& one, const Value& other) {
        return same_values(one, other, depth + 1);
      }))
    return false;
  if (a.members().size() != b.members().size()) return false;
  return std::ranges::all_of(a.members(), [&](const base::Member& member) {
    const Value* other = b.find(member.key);
    return other && same_values(member.value, *other, depth + 1);
  });
}

bool same_documents(std::string_view a, std::string_view b) {
  Document one, other;
  one.text = a;
  other.text = b;
  if (parse(one) || parse(other)) return false;
  return same_values(one.root, other.root);
}

// A document in a layout that nobody would choose. Every comment has a number of its own.
class RandomText {
 public:
  explicit RandomText(unsigned seed) : dice_(seed) {}

  std::string write() {
    if (one_in(4)) text_ += "---\n";
    own_lines(0);
    if (one_in(8)) return list(0, 0), end();
    std::vector<std::string> keys{"version", "recipe", "vars", "states"};
    std::ranges::shuffle(keys, dice_);
    for (const std::string& key : keys) {
      own_lines(one_in(3) ? static_cast<int>(below(6)) : 0);
      text_ += key + ":";
      if (key == "states")
        states();
      else if (key == "vars")
        object_value(0, 0);
      else
        scalar_value(0);
    }
    return end();
  }
  unsigned comments() const { return comments_; }

 private:
  std::size_t below(std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most - 1)(dice_);
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  std::string spaces(int count) { return std::string(static_cast<std::size_t>(count), ' '); }

  std::string end() {
    own_lines(static_cast<int>(below(5)));
    if (one_in(6) && text_.ends_with('\n')) text_.pop_back();
    return text_;
  }

  std::string comment() {
    static constexpr std::string_view kWords[] = {" plain", "!",   " - a: b", " \"quoted",
                                                  " ä ö",   " [x", "",        " 'y #z"};
    std::string text = "#" + std::to_string(++comments_) + "~" + std::string(kWords[below(8)]);
    if (one_in(5)) text += "  ";
    return text;
  }
  void own_lines(int indent) {
    while (one_in(3)) {
      if (one_in(2))
        text_ += one_in(4) ? "   \n" : "\n";
      else
        text_ += spaces(indent) + comment() + "\n";
    }
  }
  void line_end() {
    if (one_in(4)) text_ += spaces(1 + static_cast<int>(below(4))) + comment();
    text_ += "\n";
  }

  std::string plain() {
    static constexpr std::string_view kTexts[] = {
        "a",   "yes",           "0644",       "~",  "/etc/motd", "a b", "x:y", "null", "12",
        "1.5", "${{ vars.a }}", "http://a/b", "-x", "ä",         "a#b", "nan", "No"};
    return std::string(kTexts[below(std::size(kTexts))]);
  }
  std::string quoted() {
    static constexpr std::string_view kTexts[] = {
        "",   "a",    "yes",  "0644",        "a: b",      "a # b", " x ", "{{ a }}", "ä", "- a",
        "*x", "null", "it s", "two  blanks", "trailing ", "/etc",  "%d",  "inf",     "@x"};
    const std::string text(kTexts[below(std::size(kTexts))]);
    if (one_in(6)) return R"("a\n\tb\\ \"c\"")";
    if (one_in(8)) return "'it''s'";
    return one_in(2) ? "\"" + text + "\"" : "'" + text + "'";
  }
  std::string scalar() { return one_in(2) ? plain() : quoted(); }
  std::string flow_scalar() {
    static constexpr std::string_view kTexts[] = {"a", "yes", "0644", "/etc/x", "a b", "12", "~"};
    return one_in(2) ? std::string(kTexts[below(7)]) : quoted();
  }

  // Behind "key:" or "-", with the newline.
  void scalar_value(int indent) {
    switch (below(8)) {
      case 0:
        return line_end();
      case 1: {  // several lines
        const bool is_plain = one_in(2);
        const std::string quote = is_plain ? "" : one_in(2) ? "\"" : "'";
        text_ += " " + quote + "one  \n";
        if (one_in(3)) text_ += "\n";
        text_ += spaces(indent + 1 + static_cast<int>(below(5))) + "two\n";
        text_ += spaces(indent + 1) + "three" + quote;
        return line_end();
      }
      case 2:
      case 3:
        return block(indent);
      case 4:
        text_ += "\n";
        if (one_in(3)) text_ += spaces(indent + 2) + comment() + "\n";
        text_ += spaces(indent + 1) + scalar();
        return line_end();
      default:
        text_ += spaces(1 + static_cast<int>(below(3))) + scalar();
        return line_end();
    }
  }

  void block(int indent) {
    const int inner = 1 + static_cast<int>(below(5));
    const bool is_numbered = one_in(3);
    text_ += one_in(2) ? " |" : " >";
    if (is_numbered) text_ += std::to_string(inner);
    text_ += std::string(std::string_view(one_in(2) ? "" : one_in(2) ? "-" : "+"));
    line_end();
    const int lines = static_cast<int>(below(5));
    for (int i = 0; i < lines; ++i) {
      if (one_in(4)) {
        text_ += one_in(2) && i > 0 ? spaces(indent + inner + static_cast<int>(below(3))) + "\n" : "\n";
        continue;
      }
      text_ += spaces(indent + inner);
      if (one_in(4) && (is_numbered || i > 0)) text_ += "  ";
      static constexpr std::string_view kLines[] = {"text", "# no comment", "- a",    "a: b",
                                                    "x ",   "{{ a }}",      "ä\ttab", "---x"};
      text_ += std::string(kLines[below(8)]) + "\n";
    }
  }

  void flow(int indent, int depth) {
    const bool is_list = one_in(2);
    text_ += is_list ? "[" : "{";
    const std::size_t count = below(4);
    const bool is_long = one_in(3);
    for (std::size_t i = 0; i < count; ++i) {
      if (is_long) flow_break(indent);
      if (!is_list) text_ += "k" + std::to_string(i) + ": ";
      if (depth < 3 && one_in(4))
        flow(indent, depth + 1);
      else
        text_ += flow_scalar();
      if (is_list && one_in(10)) text_ += ": v";
      if (i + 1 < count || one_in(5)) text_ += ",";
      text_ += one_in(2) ? " " : "";
    }
    if (is_long) flow_break(indent);
    text_ += is_list ? "]" : "}";
  }
  void flow_break(int indent) {
    if (one_in(3)) text_ += " " + comment();
    text_ += "\n";
    if (one_in(4)) text_ += spaces(indent + 3) + comment() + "\n";
    text_ += spaces(indent + 1 + static_cast<int>(below(3)));
  }

  void any_value(int indent, int depth) {
    if (depth < 4 && one_in(3)) return one_in(2) ? object_value(indent, depth) : list_value(indent, depth);
    if (one_in(3)) {
      text_ += " ";
      flow(indent, 0);
      return line_end();
    }
    scalar_value(indent);
  }
  void object_value(int indent, int depth) {
    line_end();
    object(indent + 1 + static_cast<int>(below(4)), depth + 1);
  }
  void object(int indent, int depth) {
    const std::size_t count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      own_lines(one_in(3) ? indent + static_cast<int>(below(3)) : indent);
      text_ += spaces(indent) + "k" + std::to_string(i) + ":";
      any_value(indent, depth);
    }
  }
  void list_value(int indent, int depth) {
    line_end();
    list(indent + (depth > 0 || one_in(2) ? 1 + static_cast<int>(below(3)) : 0), depth + 1);
  }
  void list(int indent, int depth) {
    const std::size_t count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      own_lines(indent);
      text_ += spaces(indent) + "-";
      if (depth < 4 && one_in(3)) {
        const int more = 1 + static_cast<int>(below(3));
        text_ += spaces(more) + "first:";
        any_value(indent + 1 + more, depth + 1);
        text_ += spaces(indent + 1 + more) + "second:";
        any_value(indent + 1 + more, depth + 1);
      } else {
        any_value(indent, depth + 1);
      }
    }
  }
  void states() {
    line_end();
    const int indent = static_cast<int>(below(4));
    const std::size_t count = below(4);
    if (count == 0) text_.insert(text_.size() - 1, "");
    for (std::size_t i = 0; i < count; ++i) {
      own_lines(indent);
      std::vector<std::string> keys{"id", "module", "parameter", "when", "timeout"};
      std::ranges::shuffle(keys, dice_);
      text_ += spaces(indent) + "- ";
      for (std::size_t k = 0; k < keys.size(); ++k) {
        if (k > 0) {
          own_lines(indent + 2 + static_cast<int>(below(3)));
          text_ += spaces(indent + 2);
        }
        text_ += keys[k] + ":";
        any_value(indent + 2, 1);
      }
    }
  }

  std::mt19937 dice_;
  std::string text_;
  unsigned comments_ = 0;
};

unsigned long rounds(unsigned long fallback) {
  const char* given = std::getenv("OPSAGENT_FORMATS");
  return given ? std::strtoul(given, nullptr, 10) : fallback;
}

}  // namespace

TEST_CASE("fmt puts keys in order, and keeps comments, blank lines and the bytes of texts") {
  CHECK(formatted(R"(# The recipe.
states:   # in order
- module: 'linux.file'   # what
  # who
  id: "motd"
  parameter:
      content: |2
          indented
        text
      path: "/etc/motd"
      mode: '0644'
      # end of parameter
  # end of motd


- {linux.dir: {path: [/a,
   /b]}, id: "no"} # trailing
version: 2
)") == R"(# The recipe.
version: 2
states:   # in order
  # who
  - id: motd
    module: linux.file   # what
    parameter:
      content: |2
          indented
        text
      path: /etc/motd
      mode: "0644"
      # end of parameter
    # end of motd

  # trailing
  - id: "no"
    linux.dir:
      path:
        - /a
        - /b
)");
}

TEST_CASE("fmt takes quotes away only where every reader sees the same text") {
  for (const std::string_view text :
       {"yes", "No", "0644", "1.5", "null", "~",  "",     "nan",        "Infinity", "a: b", "#x",
        " a",  "a ", "*a",   "&a",  "- a",  "{a", "true", "2026-01-01", "a\nb",     "ä"})
    CHECK_FALSE(needs_no_quotes(text));
  for (const std::string_view text : {"motd", "/etc/motd", "two words", "a.b-c_d", "x@y", "A=b"})
    CHECK(needs_no_quotes(text));
}

TEST_CASE("fmt refuses what it cannot keep exactly, and says where") {
  CHECK(formatted("a: !!str 0644\n") ==
        "refused: a tag such as !!str cannot be kept; write quotes around a text instead in line 1");
  CHECK(formatted("%YAML 1.1\n---\na: b\n").starts_with("refused: a '%' directive"));
  CHECK(formatted("a: b\n---\nc: d\n").starts_with("refused: more than one YAML document"));
  CHECK(formatted("&x a: b\n").starts_with("refused: an anchor"));
  CHECK(formatted("a: 1\n\tb: 2\n").starts_with("refused: "));
  CHECK(formatted("a: 1\nb: [\n").starts_with("refused: "));
  CHECK(formatted("a: 1\na: 2\n").starts_with("refused: "));
  CHECK(formatted("a: b\rc: d\n").starts_with("refused: a line ends with"));
  CHECK(formatted("a: \"b\xE2\x80\xA8 c\"\n").starts_with("refused: a line ends with"));
  CHECK(formatted("\xEF\xBB\xBF"
                  "a: b\n")
            .starts_with("refused: there is a byte order mark"));
  CHECK(formatted("just text\n").starts_with("refused: this is no recipe"));
  CHECK(formatted("").starts_with("refused: "));
  CHECK(formatted("a: \xff\n").starts_with("refused: "));
  CHECK(formatted("? [a]\n: b\n").starts_with("refused: "));
  CHECK(formatted("? |\n  a\n: b\n").starts_with("refused: "));
  CHECK(formatted(std::string(kLargest + 1, '#')).starts_with("refused: it is larger"));
  CHECK(formatted("a: " + std::string(70, '[') + std::string(70, ']') + "\n")
            .starts_with("refused: nested deeper"));
  std::string many = "a: [";
  for (std::size_t i = 0; i < kMostValues; ++i)
    many += "1,";
  CHECK(formatted(many + "1]\n").starts_with("refused: "));
}

TEST_CASE("fmt leaves anchors where they are, and takes line ends of Windows away") {
  CHECK(formatted("states:\n- &a\n  module: linux.file\n  id: x\n- <<: *a\n  id: y\n") ==
        "states:\n  - &a\n    module: linux.file\n    id: x\n  - <<: *a\n    id: y\n");
  CHECK(formatted("version: 2\r\nstates:\r\n- {id: a}\r\n") == "version: 2\nstates:\n  - { id: a }\n");
  CHECK(formatted("a: |\n  no newline at the end") == "a: |-\n  no newline at the end\n");
}

TEST_CASE("attack: a bomb of aliases, long lines and deep nesting take no time") {
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 60; ++i)
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + ", *a" +
            std::to_string(i - 1) + "]\n";
  CHECK(formatted(bomb).starts_with("refused: the aliases stand for more than 64 MiB together"));
  const std::string line = "a: " + std::string(2'000'000, 'x') + "\n";
  CHECK(formatted(line) == line);
  std::string deep = "a: ";
  for (int i = 0; i < 60; ++i)
    deep += "{ a: ";
  deep += "[";
  for (int i = 0; i < 50'000; ++i)
    deep += "b, ";
  deep += "b]" + std::string(60, '}') + "\n";
  CHECK(formatted(deep).size() > 50'000 * 100);
}

TEST_CASE("random layouts: the same meaning, every comment once, and formatted twice the same") {
  const unsigned long count = rounds(6000);
  unsigned long refused = 0;
  for (unsigned seed = 1; seed <= count; ++seed) {
    CAPTURE(seed);
    RandomText random(seed);
    const std::string text = random.write();
    CAPTURE(text);
    const auto made = format_recipe(text);
    if (const auto* refusal = std::get_if<Refusal>(&made)) {
      Document document;
      document.text = text;
      const bool is_readable = !parse(document);
      // What is YAML and has nothing unusual in it is kept; a layout that cannot be is rare.
      if (is_readable) ++refused;
      if (std::getenv("OPSAGENT_FORMATS") && is_readable)
        MESSAGE(seed << ": " << refusal->message << "\n" << text);
      continue;
    }
    const std::string& out = std::get<std::string>(made);
    CAPTURE(out);
    REQUIRE(same_documents(text, out));
    for (unsigned i = 1; i <= random.comments(); ++i) {
      const std::string mark = "#" + std::to_string(i) + "~";
      REQUIRE(out.find(mark) != std::string::npos);
      REQUIRE(out.find(mark, out.find(mark) + 1) == std::string::npos);
    }
    REQUIRE(formatted(out) == out);
  }
  MESSAGE("refused: " << refused << " of " << count);
  CHECK(refused * 50 < count);
}

TEST_CASE("random damage: what comes out means what went in, or there is a refusal") {
  const unsigned long count = rounds(6000);
  static constexpr std::string_view kPieces[] = {
      "\t",    "\r\n",  "#",  "- ", ": ", "&a ",          "*a", "!!str ", "|",
      ">",     "[",     "]",  "{",  "}",  "\"",           "'",  "\n",     "  ",
      "---\n", "...\n", "? ", ",",  "%",  "\xEF\xBB\xBF", "\\", "<<: ",   " #c\n"};
  for (unsigned seed = 1; seed <= count; ++seed) {
    CAPTURE(seed);
    std::string text = RandomText(seed).write();
    std::mt19937 dice(seed);
    const auto below = [&](std::size_t most) {
      return std::uniform_int_distribution<std::size_t>(0, most - 1)(dice);
    };
    for (std::size_t i = 0; i <= below(3); ++i) {
      const std::size_t at = below(text.size() + 1);
      if (below(3) == 0)
        text.erase(at, below(4));
      else
        text.insert(at, kPieces[below(std::size(kPieces))]);
    }
    CAPTURE(text);
    const auto made = format_recipe(text);
    if (const auto* refusal = std::get_if<Refusal>(&made)) {
      REQUIRE(!refusal->message.empty());
      continue;
    }
    REQUIRE(same_documents(text, std::get<std::string>(made)));
    REQUIRE(formatted(std::get<std::string>(made)) == std::get<std::string>(made));
  }
}

}  // namespace recipe::format
