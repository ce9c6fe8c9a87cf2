// Failure: how the rooms of templates/ end an evaluation. It is an exception, because an expression is a tree
// and nearly every step of it can fail; it never leaves the library. Template::parse() and render() catch it
// and answer with a Problem, which has the position.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace templates {

struct Failure {
  explicit Failure(std::string text, bool of_limit = false) : message(std::move(text)), limit(of_limit) {}

  std::string message;
  bool limit = false;  // a bound was passed: nothing in the template may go on after it
};

// The evaluation has used a value that is marked as unknown.
struct UsesUnknown {};

}  // namespace templates
