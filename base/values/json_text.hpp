// JsonText: JSON written piece by piece, compact, with the commas in the right places.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/values/json.hpp"

namespace base {

class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_list() { return open('['); }
  JsonText& end_list() { return close(']'); }
  JsonText& key(std::string_view name) {
    separate();
    append_quoted(name, text_);
    text_ += ':';
    fresh_ = true;
    return *this;
  }
  JsonText& value(std::string_view text) {
    separate();
    append_quoted(text, text_);
    return *this;
  }
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(std::same_as<bool> auto given) { return raw(given ? "true" : "false"); }
  JsonText& value(std::integral auto number) requires(!std::same_as<decltype(number), bool>) {
    return raw(std::to_string(number));
  }
  JsonText& null() { return raw("null"); }
  // JSON that is there already.
  JsonText& json(std::string_view text) { return raw(text.empty() ? "null" : text); }

  template <class T>
  JsonText& member(std::string_view name, const T& given) {
    return key(name).value(given);
  }

  // Only when there is something to say.
  JsonText& optional(std::string_view name, std::string_view text) {
    return text.empty() ? *this : member(name, text);
  }

  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  JsonText& raw(std::string_view text) {
    separate();
    text_ += text;
    return *this;
  }
  JsonText& open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  JsonText& close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }

  std::string text_;
  bool fresh_ = true;  // nothing stands before the next value at this level
};

}  // namespace base
