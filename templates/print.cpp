#include "templates/print.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "templates/text.hpp"

namespace templates {

void too_large_integer() {
  throw Failure("an integer would be larger than 64 bits, which this language does not have");
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  char* const begin = buffer.data();
  char* const end = begin + buffer.size();
  const auto scientific = std::to_chars(begin, end, value, std::chars_format::scientific);
  const std::string text(begin, scientific.ptr);
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed = std::to_chars(begin, end, value, std::chars_format::fixed);
  std::string plain(begin, fixed.ptr);
  if (plain.find('.') == std::string::npos) plain += ".0";
  return plain;
}

namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_hex(std::uint32_t code, int digits, std::string& out) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
    out += kHex[code >> shift & 0xFU];
}

void append_text_repr(std::string_view text, std::string& out) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (c == static_cast<char32_t>(quote) || c == '\\')
      out.append("\\").append(bytes);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (is_printable(c))
      out += bytes;
    else {
      const auto code = static_cast<std::uint32_t>(c);
      out += code < 0x100 ? "\\x" : code < 0x10000 ? "\\u" : "\\U";
      append_hex(code, code < 0x100 ? 2 : code < 0x10000 ? 4 : 8, out);
    }
  });
  out += quote;
}

void append_integer(std::int64_t value, std::string& out) {
  std::array<char, 24> buffer;
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), done.ptr);
}

class Printer {
 public:
  Printer(std::string& out, Memory& memory) : out_(out), memory_(memory) {}

  void repr(const Value& value) {
    memory_.step();
    memory_.check_text(out_.size());
    switch (defined(value).kind()) {
      case Kind::none:
        out_ += "None";
        return;
      case Kind::boolean:
        out_ += value.integer() != 0 ? "True" : "False";
        return;
      case Kind::integer:
        return append_integer(value.integer(), out_);
      case Kind::real:
        out_ += real_text(value.real());
        return;
      case Kind::text:
        if (value.is_markup()) out_ += "Markup(";
        append_text_repr(value.text(), out_);
        if (value.is_markup()) out_ += ")";
        return;
      case Kind::list:
        return items("[", value.list(), "]");
      case Kind::tuple:
        return items("(", value.list(), value.list().size == 1 ? ",)" : ")");
      case Kind::dict:
        return dict(value.dict());
      case Kind::view:
        return view(value);
      case Kind::range:
        return range(value.as<Range>());
      case Kind::space:
        out_ += "<Namespace ";
        dict(value.dict());
        out_ += ">";
        return;
      default:
        throw Failure("a " + std::string(type_name(value)) + " cannot be shown as text" +
                      (value.is(Kind::iterator)   ? "; '| list' makes a list of it"
                       : value.is(Kind::function) ? "; it is called with '()'"
                                                  : ""));
    }
  }

 private:
  void enter() {
    if (++depth_ > kDeepest)
      throw Failure("values are nested deeper than " + std::to_string(kDeepest) + " levels", true);
  }

  void items(std::string_view open, const List& list, std::string_view close) {
    enter();
    out_ += open;
    for (std::size_t i = 0; i < list.size; ++i) {
      if (i > 0) out_ += ", ";
      repr(list.items[i]);
    }
    out_ += close;
    --depth_;
  }

  void dict(const Dict& dict) {
    enter();
    out_ += "{";
    bool first = true;
    for (const Dict::Entry& entry : dict) {
      if (!entry.is_live) continue;
      if (!first) out_ += ", ";
      first = false;
      repr(entry.key);
      out_ += ": ";
      repr(entry.value);
    }
    out_ += "}";
    --depth_;
  }

  void view(const Value& value) {
    const View::What what = value.as<View>().what;
    out_ += what == View::What::items  ? "dict_items("
            : what == View::What::keys ? "dict_keys("
                                       : "dict_values(";
    items("[", *to_list(value, memory_), "]");
    out_ += ")";
  }

  void range(const Range& range) {
    out_ += "range(";
    append_integer(range.start, out_);
    out_ += ", ";
    append_integer(range.stop, out_);
    if (range.step != 1) {
      out_ += ", ";
      append_integer(range.step, out_);
    }
    out_ += ")";
  }

  static constexpr int kDeepest = 200;
  std::string& out_;
  Memory& memory_;
  int depth_ = 0;
};

}  // namespace

void append_repr(const Value& value, std::string& out, Memory& memory) {
  Printer(out, memory).repr(value);
}

void append_text(const Value& value, std::string& out, Memory& memory) {
  if (is_left_out(value)) return;
  if (value.is_text())
    out += value.text();
  else
    Printer(out, memory).repr(value);
}

std::string to_text(const Value& value, Memory& memory) {
  std::string text;
  append_text(value, text, memory);
  return text;
}

std::string_view text_view(const Value& value, Memory& memory) {
  return value.is_text() ? value.text() : memory.copy(to_text(value, memory));
}

namespace {

class JsonPrinter {
 public:
  JsonPrinter(const JsonStyle& style, std::string& out, Memory& memory)
      : style_(style), out_(out), memory_(memory) {}

  void print(const Value& value) {
    memory_.step();
    memory_.check_text(out_.size());
    switch (defined(value).kind()) {
      case Kind::none:
        out_ += "null";
        return;
      case Kind::boolean:
        out_ += value.integer() != 0 ? "true" : "false";
        return;
      case Kind::integer:
        return append_integer(value.integer(), out_);
      case Kind::real:
        out_ += number(value.real());
        return;
      case Kind::text:
        return quote(value.text());
      case Kind::list:
      case Kind::tuple:
        return list(value.list());
      case Kind::dict:
        return dict(value.dict());
      default:
        throw Failure("Object of type " + std::string(type_name(value)) + " is not JSON serializable");
    }
  }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return real_text(value);
  }

  void quote(std::string_view text) {
    out_ += '"';
    for_each_character(text, [&](char32_t c, std::string_view bytes) {
      if (c == '"' || c == '\\')
        out_.append("\\").append(bytes);
      else if (c == '\n')
        out_ += "\\n";
      else if (c == '\r')
        out_ += "\\r";
      else if (c == '\t')
        out_ += "\\t";
      else if (c == '\f')
        out_ += "\\f";
      else if (c == '\b')
        out_ += "\\b";
      else if (c < 0x20 || (style_.ascii && c >= 0x7f && c != 0x7f))
        unicode(c);
      else
        out_ += bytes;
    });
    out_ += '"';
  }

  void unicode(char32_t c) {
    const auto unit = [this](std::uint32_t code) {
      out_ += "\\u";
      append_hex(code, 4, out_);
    };
    if (c < 0x10000) return unit(c);
    unit(0xD800U + ((c - 0x10000U) >> 10));
    unit(0xDC00U + ((c - 0x10000U) & 0x3FFU));
  }

  void new_line() {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(style_.indent) * depth_, ' ');
  }

  void open(char bracket) {
    if (++depth_ > kDeepest)
      throw Failure("values are nested deeper than " + std::to_string(kDeepest) + " levels", true);
    out_ += bracket;
    new_line();
  }

  void close(char bracket) {
    --depth_;
    new_line();
    out_ += bracket;
  }

  void list(const List& list) {
    if (list.size == 0) {
      out_ += "[]";
      return;
    }
    open('[');
    for (std::size_t i = 0; i < list.size; ++i) {
      if (i > 0) {
        out_ += style_.between;
        new_line();
      }
      print(list.items[i]);
    }
    close(']');
  }

  std::string key_text(const Value& key) {
    switch (defined(key).kind()) {
      case Kind::text:
        return std::string(key.text());
      case Kind::none:
        return "null";
      case Kind::boolean:
        return key.integer() != 0 ? "true" : "false";
      case Kind::integer:
        return std::to_string(key.integer());
      case Kind::real:
        return number(key.real());
      default:
        throw Failure("keys must be str, int, float, bool or None, not " + std::string(type_name(key)));
    }
  }

  void dict(const Dict& dict) {
    if (dict.size == 0) {
      out_ += "{}";
      return;
    }
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict)
      if (entry.is_live) entries.push_back(&entry);
    if (style_.sorted)
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto* a, const auto* b) { return less(a->key, b->key); });
    open('{');
    bool first = true;
    for (const Dict::Entry* entry : entries) {
      if (!first) {
        out_ += style_.between;
        new_line();
      }
      first = false;
      quote(key_text(entry->key));
      out_ += style_.after_key;
      print(entry->value);
    }
    close('}');
  }

  static constexpr std::size_t kDeepest = 200;
  const JsonStyle& style_;
  std::string& out_;
  Memory& memory_;
  std::size_t depth_ = 0;
};

// Digits with single underscores between them, as Python's numbers may have; without them.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
      continue;
    }
    const auto is_part = [&](std::size_t at) {
      return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    };
    if (i == 0 || !is_part(i - 1) || !is_part(i + 1)) return std::nullopt;
  }
  return plain;
}

}  // namespace

void append_json(const Value& value, const JsonStyle& style, std::string& out, Memory& memory) {
  JsonPrinter(style, out, memory).print(value);
}

std::optional<std::int64_t> parse_int(std::string_view text, int base) {
  if (base != 0 && (base < 2 || base > 36)) throw Failure("int() base must be >= 2 and <= 36, or 0");
  text = stripped(text, true, true);
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const auto prefix = [&](char letter, int meant) {
    if (text.size() < 2 || text[0] != '0' || (text[1] | 0x20) != letter || (base != 0 && base != meant))
      return false;
    text.remove_prefix(2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
    base = meant;
    return true;
  };
  const bool from_text = base == 0;
  const bool prefixed = prefix('x', 16) || prefix('o', 8) || prefix('b', 2);
  if (base == 0) base = 10;
  const auto plain = without_underscores(text);
  if (!plain || plain->empty()) return std::nullopt;
  if (from_text && !prefixed && plain->size() > 1 && (*plain)[0] == '0' &&
      plain->find_first_not_of('0') != std::string::npos)
    return std::nullopt;
  if (!std::isalnum(static_cast<unsigned char>((*plain)[0]))) return std::nullopt;
  const std::string signed_text = (negative ? "-" : "") + *plain;
  std::int64_t number = 0;
  const char* end = signed_text.data() + signed_text.size();
  const auto [stop, error] = std::from_chars(signed_text.data(), end, number, base);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) too_large_integer();
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<double> parse_real(std::string_view text) {
  text = stripped(text, true, true);
  const auto plain = without_underscores(text);
  if (!plain || plain->empty()) return std::nullopt;
  std::string_view body = *plain;
  const bool negative = body[0] == '-';
  if (body[0] == '+' || body[0] == '-') body.remove_prefix(1);
  const std::string word = to_lower(body);
  if (word == "inf" || word == "infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (word == "nan") return std::nan("");
  if (body.empty() || (body[0] != '.' && !std::isdigit(static_cast<unsigned char>(body[0]))))
    return std::nullopt;
  double number = 0;
  const auto [stop, error] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (stop != body.data() + body.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) number = std::strtod(std::string(body).c_str(), nullptr);
  return negative ? -number : number;
}

std::optional<std::int64_t> whole_of(double value) {
  if (std::isnan(value)) return std::nullopt;
  if (std::isinf(value)) throw Failure("cannot convert float infinity to integer");
  if (value >= 9223372036854775808.0 || value < -9223372036854775808.0) too_large_integer();
  return static_cast<std::int64_t>(value);
}

}  // namespace templates
