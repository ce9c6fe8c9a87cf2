// A JSON text with the memory that its values live in, and the shorthands that answers of programs and
// servers need.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/values/value.hpp"

namespace states::json {

class JsonDocument {
 public:
  static base::Result<JsonDocument> parse(std::string text);
  const base::Value& root() const { return root_; }

 private:
  JsonDocument() = default;
  std::unique_ptr<std::string> text_;
  std::unique_ptr<base::Arena> arena_;
  base::Value root_;
};

// What stands at a path of names, "State", "ExitCode"; empty where there is none, or of another kind.
const base::Value* find_value(const base::Value& value, std::initializer_list<std::string_view> path);
std::string find_text(const base::Value& value, std::initializer_list<std::string_view> path);
std::vector<std::string> find_texts(const base::Value& value, std::initializer_list<std::string_view> path);

}  // namespace states::json
