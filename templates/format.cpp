// Python's two ways to put values into a text: "%05.1f" % value and "{:>8}".format(value).
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "templates/operators.hpp"
#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

constexpr std::size_t kWidest = 1'000'000;

struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false;
  char grouping = 0;  // , or _
  std::size_t width = 0;
  std::optional<int> precision{};
  char type = 0;
};

// With the sign apart.
struct Digits {
  std::string sign;
  std::string prefix{};
  std::string text;
};

std::string sign_of(bool negative, char wanted) {
  return negative ? "-" : wanted == '+' ? "+" : wanted == ' ' ? " " : "";
}

std::string c_format(double value, char type, int precision, bool alternate) {
  const std::string format = std::string("%") + (alternate ? "#" : "") + ".*" + type;
  std::string text(static_cast<std::size_t>(precision) + 400, '\0');
  // The format is one of %.*e, %.*f, %.*g, with or without '#'.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int size = std::snprintf(text.data(), text.size(), format.c_str(), precision, value);
#pragma GCC diagnostic pop
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Digits real_digits(double value, char type, int precision, char sign, bool alternate) {
  Digits digits{sign_of(std::signbit(value) && !std::isnan(value), sign), {}, {}};
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  if (std::isnan(value))
    digits.text = upper ? "NAN" : "nan";
  else if (std::isinf(value))
    digits.text = upper ? "INF" : "inf";
  else
    digits.text = c_format(std::fabs(value), type, precision, alternate);
  return digits;
}

Digits integer_digits(std::int64_t value, char type, char sign, bool alternate) {
  const bool negative = value < 0;
  std::uint64_t left = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  Digits digits{sign_of(negative, sign), {}, {}};
  do {
    const unsigned digit = static_cast<unsigned>(left % base);
    digits.text.insert(0, 1, (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[digit]);
    left /= base;
  } while (left > 0);
  if (alternate && base != 10) digits.prefix = std::string("0") + type;
  return digits;
}

std::string grouped(const std::string& digits, char separator, std::size_t every) {
  const std::size_t whole = digits.find_first_not_of("0123456789abcdefABCDEF");
  const std::size_t size = whole == std::string::npos ? digits.size() : whole;
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0 && (size - i) % every == 0) text += separator;
    text += digits[i];
  }
  return text + digits.substr(size);
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

std::string padded(const Digits& digits, const Spec& spec, char natural) {
  const char align = spec.align != 0 ? spec.align : natural;
  const std::size_t size = count_characters(digits.sign + digits.prefix + digits.text);
  const std::size_t missing = spec.width > size ? spec.width - size : 0;
  const std::size_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  if (align == '=') return digits.sign + digits.prefix + repeated(spec.fill, missing) + digits.text;
  return repeated(spec.fill, left) + digits.sign + digits.prefix + digits.text +
         repeated(spec.fill, missing - left);
}

std::size_t read_number(std::string_view text, std::size_t& at) {
  std::size_t number = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    number = number * 10 + static_cast<std::size_t>(text[at++] - '0');
    if (number > kWidest) throw Failure("a width or precision in a format is too large");
  }
  return number;
}

// The "%" formats.
class Percent {
 public:
  Percent(std::string_view format, const Value& values, Memory& memory)
      : format_(format), values_(values), memory_(memory) {}

  std::string run() {
    while (at_ < format_.size()) {
      const std::size_t sign = format_.find('%', at_);
      out_ += format_.substr(at_, sign == std::string_view::npos ? sign : sign - at_);
      if (sign == std::string_view::npos) break;
      at_ = sign + 1;
      one();
      memory_.check_text(out_.size());
    }
    check_all_used();
    return std::move(out_);
  }

 private:
  bool is_tuple() const { return values_.is(Kind::tuple); }

  void check_all_used() const {
    const bool open = is_tuple() ? used_ < values_.list().size : used_ == 0 && !by_name_;
    const bool may_be_unused =
        values_.is(Kind::dict) || values_.is(Kind::list) || values_.is(Kind::range) || values_.is(Kind::view);
    if (open && !(may_be_unused && !is_tuple()))
      throw Failure("not all arguments converted during string formatting");
  }

  Value next() {
    if (is_tuple()) {
      if (used_ >= values_.list().size) throw Failure("not enough arguments for format string");
      return values_.list().items[used_++];
    }
    if (used_++ > 0) throw Failure("not enough arguments for format string");
    return values_;
  }

  Value named() {
    int depth = 1;
    const std::size_t begin = ++at_;
    for (; at_ < format_.size(); ++at_) {
      depth += format_[at_] == '(' ? 1 : format_[at_] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    if (at_ >= format_.size()) throw Failure("incomplete format key");
    const std::string_view key = format_.substr(begin, at_++ - begin);
    if (!values_.is(Kind::dict)) throw Failure("format requires a mapping");
    const Dict::Entry* entry = values_.dict().find(key);
    if (!entry) throw Failure("the format's key '" + std::string(key) + "' is not there");
    by_name_ = true;
    return entry->value;
  }

  void one() {
    std::optional<Value> value;
    if (at_ < format_.size() && format_[at_] == '(') value = named();
    Spec spec;
    bool left = false, zero = false;
    for (; at_ < format_.size(); ++at_) {
      const char flag = format_[at_];
      if (flag == '-')
        left = true;
      else if (flag == '0')
        zero = true;
      else if (flag == '#')
        spec.alternate = true;
      else if (flag == '+' || (flag == ' ' && spec.sign != '+'))
        spec.sign = flag;
      else if (flag != ' ')
        break;
    }
    spec.width = number_or_star(left);
    if (at_ < format_.size() && format_[at_] == '.') {
      ++at_;
      bool ignored = false;
      spec.precision = static_cast<int>(number_or_star(ignored));
      if (ignored) spec.precision = 0;
    }
    while (at_ < format_.size() && (format_[at_] == 'l' || format_[at_] == 'h' || format_[at_] == 'L'))
      ++at_;
    if (at_ >= format_.size()) throw Failure("incomplete format");
    spec.type = format_[at_++];
    if (spec.type == '%') {
      out_ += '%';
      return;
    }
    spec.align = left ? '<' : '>';
    convert(value ? *value : next(), spec, zero && !left);
  }

  std::size_t number_or_star(bool& negative) {
    if (at_ >= format_.size() || format_[at_] != '*') return read_number(format_, at_);
    ++at_;
    const Value value = next();
    if (!defined(value).is_integral()) throw Failure("* wants int");
    if (std::abs(value.integer()) > static_cast<std::int64_t>(kWidest))
      throw Failure("a width or precision in a format is too large");
    negative = negative || value.integer() < 0;
    return static_cast<std::size_t>(std::abs(value.integer()));
  }

  void convert(const Value& value, Spec spec, bool zero) {
    const char type = spec.type;
    if (type == 's' || type == 'r' || type == 'c') return text(value, spec);
    if (!defined(value).is_number())
      throw Failure(std::string("%") + type + " format: a number is required, not " +
                    std::string(type_name(value)));
    Digits digits;
    if (type == 'd' || type == 'i' || type == 'u' || type == 'x' || type == 'X' || type == 'o')
      digits = integer(value, spec);
    else if (std::string_view("eEfFgG").find(type) != std::string_view::npos)
      digits = real_digits(value.number(), type, spec.precision.value_or(6), spec.sign, spec.alternate);
    else
      throw Failure(std::string("unsupported format character '") + type + "'");
    if (zero) {
      spec.align = '=';
      spec.fill = "0";
    }
    out_ += padded(digits, spec, '>');
  }

  Digits integer(const Value& value, const Spec& spec) const {
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (!decimal && !value.is_integral())
      throw Failure(std::string("%") + spec.type + " format: an integer is required, not float");
    const auto whole = value.is_integral() ? value.integer() : whole_of(value.real());
    if (!whole) throw Failure("cannot convert float NaN to integer");
    Digits digits = integer_digits(*whole, decimal ? 'd' : spec.type, spec.sign, spec.alternate);
    const auto wanted = static_cast<std::size_t>(spec.precision.value_or(0));
    if (digits.text.size() < wanted) digits.text.insert(0, wanted - digits.text.size(), '0');
    return digits;
  }

  void text(const Value& value, const Spec& spec) {
    Digits digits{{}, {}, {}};
    if (spec.type == 's')
      append_text(value, digits.text, memory_);
    else if (spec.type == 'r')
      append_repr(value, digits.text, memory_);
    else
      digits.text = character(value);
    if (spec.precision && spec.type != 'c')
      digits.text.resize(byte_of(digits.text, static_cast<std::size_t>(*spec.precision)));
    out_ += padded(digits, spec, '>');
  }

  static std::string character(const Value& value) {
    if (defined(value).is_text() && count_characters(value.text()) == 1) return std::string(value.text());
    if (!value.is_integral()) throw Failure("%c requires int or char");
    const std::int64_t code = value.integer();
    if (code < 0 || code >= 0x110000 || (code >= 0xD800 && code < 0xE000))
      throw Failure("%c arg is no character");
    std::string text;
    append_character(static_cast<char32_t>(code), text);
    return text;
  }

  std::string_view format_;
  const Value& values_;
  Memory& memory_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  bool by_name_ = false;
};

// The "{}" formats.
class Braces {
 public:
  Braces(const List& values, const Dict* names, Memory& memory)
      : values_(values), names_(names), memory_(memory) {}

  std::string run(std::string_view format, int depth = 0) {
    if (depth > 1) throw Failure("Max string recursion exceeded");
    std::string out;
    for (std::size_t at = 0; at < format.size();) {
      const char c = format[at++];
      if (c != '{' && c != '}') {
        out += c;
        continue;
      }
      if (at < format.size() && format[at] == c) {
        out += c;
        ++at;
        continue;
      }
      if (c == '}') throw Failure("Single '}' encountered in format string");
      std::size_t open = 1;
      const std::size_t begin = at;
      for (; at < format.size() && open > 0; ++at)
        open = format[at] == '{' ? open + 1 : format[at] == '}' ? open - 1 : open;
      if (open > 0) throw Failure("expected '}' before end of string");
      out += field(format.substr(begin, at - 1 - begin), depth);
      memory_.check_text(out.size());
    }
    return out;
  }

 private:
  std::string field(std::string_view text, int depth) {
    std::size_t end = 0;
    for (int open = 0; end < text.size(); ++end) {
      open += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      if (open <= 0 && (text[end] == '!' || text[end] == ':')) break;
    }
    Value value = find(text.substr(0, end));
    std::string_view rest = text.substr(end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest[1] != 's' && rest[1] != 'r'))
        throw Failure("a conversion in a format must be !s or !r");
      std::string shown;
      rest[1] == 's' ? append_text(value, shown, memory_) : append_repr(value, shown, memory_);
      value = new_text(memory_, shown);
      rest.remove_prefix(2);
    }
    if (rest.empty()) return to_text(value, memory_);
    if (rest[0] != ':') throw Failure("expected ':' after conversion specifier");
    return formatted(value, run(rest.substr(1), depth + 1));
  }

  Value find(std::string_view path) {
    std::size_t end = path.find_first_of(".[");
    const std::string_view first = path.substr(0, end);
    Value value;
    if (first.empty() || first.find_first_not_of("0123456789") == std::string_view::npos) {
      const bool automatic = first.empty();
      if (numbering_ != 0 && (numbering_ == 1) != automatic)
        throw Failure("cannot mix automatic and manual field numbering in a format");
      numbering_ = automatic ? 1 : 2;
      std::size_t at = 0;
      const std::size_t index = automatic ? next_++ : read_number(first, at);
      if (index >= values_.size) throw Failure("Replacement index out of range for positional args tuple");
      value = values_.items[index];
    } else {
      const Dict::Entry* entry = names_ ? names_->find(first) : nullptr;
      if (!entry) throw Failure("the format's name '" + std::string(first) + "' was not given");
      value = entry->value;
    }
    for (; end < path.size();) {
      if (path[end] != '[') throw Failure("values in a format have no attributes; use [...]");
      const std::size_t close = path.find(']', end);
      if (close == std::string_view::npos) throw Failure("Missing ']' in format string");
      value = item(value, path.substr(end + 1, close - end - 1));
      end = close + 1;
    }
    return value;
  }

  static Value item(const Value& value, std::string_view key) {
    const bool is_number = !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
    if (defined(value).is(Kind::dict)) {
      std::size_t at = 0;
      const Value wanted =
          is_number ? Value::integer(static_cast<std::int64_t>(read_number(key, at))) : Value::text(key);
      if (const Dict::Entry* entry = value.dict().find(wanted)) return entry->value;
    } else if (value.is_sequence() && is_number) {
      std::size_t at = 0;
      const std::size_t index = read_number(key, at);
      if (index < value.list().size) return value.list().items[index];
    }
    throw Failure("the format's item '" + std::string(key) + "' is not there");
  }

  static Spec parse(std::string_view text) {
    Spec spec;
    std::size_t at = 0;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    const std::size_t first = text.empty() ? 0 : character_size(text, 0);
    if (text.size() > first && is_align(text[first])) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      at = first + 1;
    } else if (!text.empty() && is_align(text[0])) {
      spec.align = text[at++];
    }
    const auto take = [&](std::string_view set) {
      return at < text.size() && set.find(text[at]) != std::string_view::npos ? text[at++] : '\0';
    };
    if (const char sign = take("+- ")) spec.sign = sign;
    spec.alternate = take("#") != 0;
    if (at < text.size() && text[at] == '0') {
      ++at;
      if (spec.align == 0) {
        spec.fill = "0";
        spec.align = '=';
      } else if (spec.fill == " ") {
        spec.fill = "0";
      }
    }
    spec.width = read_number(text, at);
    spec.grouping = take(",_");
    if (take(".") != 0) {
      const std::size_t digits = at;
      spec.precision = static_cast<int>(read_number(text, at));
      if (at == digits) throw Failure("Format specifier missing precision");
    }
    if (at < text.size()) spec.type = text[at++];
    if (at < text.size()) throw Failure("Invalid format specifier");
    return spec;
  }

  std::string formatted(const Value& value, const std::string& spec_text) {
    if (spec_text.empty()) return to_text(value, memory_);
    const Spec spec = parse(spec_text);
    if (defined(value).is_text()) return text(value, spec);
    if (!value.is_number())
      throw Failure("unsupported format string passed to " + std::string(type_name(value)) + ".__format__");
    if (value.is(Kind::boolean) && spec.type == 0)
      return text(new_text(memory_, to_text(value, memory_)), spec);
    const bool wants_integer = spec.type == 0
                                   ? value.is_integral()
                                   : std::string_view("dboxXcn").find(spec.type) != std::string_view::npos;
    return wants_integer ? integer(value, spec) : real(value, spec);
  }

  std::string text(const Value& value, const Spec& spec) const {
    if (spec.type != 0 && spec.type != 's')
      throw Failure(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
    if (spec.align == '=' || spec.sign != '-' || spec.alternate || spec.grouping != 0)
      throw Failure("this format is for numbers, not for text");
    std::string_view shown = value.text();
    if (spec.precision) shown = shown.substr(0, byte_of(shown, static_cast<std::size_t>(*spec.precision)));
    return padded({{}, {}, std::string(shown)}, spec, '<');
  }

  std::string integer(const Value& value, const Spec& spec) const {
    if (!value.is_integral())
      throw Failure(std::string("Unknown format code '") + spec.type + "' for object of type 'float'");
    if (spec.precision) throw Failure("Precision not allowed in integer format specifier");
    if (spec.type == 'c' || spec.type == 'n') throw Failure("the format types 'c' and 'n' are not supported");
    Digits digits =
        integer_digits(value.integer(), spec.type == 0 ? 'd' : spec.type, spec.sign, spec.alternate);
    return finish(std::move(digits), spec, spec.type == 0 || spec.type == 'd' ? 3 : 4);
  }

  std::string real(const Value& value, const Spec& spec) const {
    const double number = value.number();
    if (std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos && spec.type != 0)
      throw Failure(std::string("Unknown format code '") + spec.type + "' for a number");
    if (spec.type == 0 && !spec.precision) {
      Digits digits{sign_of(std::signbit(number), spec.sign), {}, real_text(std::fabs(number))};
      return finish(std::move(digits), spec, 3);
    }
    if (spec.type == 0) {
      Digits digits = real_digits(number, 'g', std::max(*spec.precision, 1), spec.sign, spec.alternate);
      if (digits.text.find_first_of(".en") == std::string::npos) {
        // Python shows one digit behind the point, or an exponent, if that is not more digits than asked for.
        if (digits.text.size() >= static_cast<std::size_t>(*spec.precision))
          throw Failure("a format with a precision needs a type, such as 'f' or 'g'");
        digits.text += ".0";
      }
      return finish(std::move(digits), spec, 3);
    }
    const bool percent = spec.type == '%';
    Digits digits = real_digits(percent ? number * 100 : number, percent ? 'f' : spec.type,
                                spec.precision.value_or(6), spec.sign, spec.alternate);
    if (percent) digits.text += '%';
    return finish(std::move(digits), spec, 3);
  }

  std::string finish(Digits digits, const Spec& spec, std::size_t every) const {
    if (spec.grouping == ',' && every != 3) throw Failure("Cannot specify ',' with this format type");
    if (spec.grouping != 0) {
      if (spec.fill == "0" && spec.align == '=' && spec.width > digits.text.size())
        throw Failure("zeros in front of groups of digits are not supported");
      digits.text = grouped(digits.text, spec.grouping, every);
    }
    return padded(digits, spec, '>');
  }

  const List& values_;
  const Dict* names_;
  Memory& memory_;
  std::size_t next_ = 0;
  int numbering_ = 0;  // 1: by themselves; 2: with numbers
};

}  // namespace

std::string format_percent(std::string_view format, const Value& values, Memory& memory) {
  return Percent(format, defined(values), memory).run();
}

std::string format_braces(std::string_view format, const List& values, const Dict* names, Memory& memory) {
  return Braces(values, names, memory).run(format);
}

}  // namespace templates
