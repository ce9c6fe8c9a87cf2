// Renders one template many times; for bench/templates/run.
//
//   bench_templates TEMPLATE VARIABLES.json COUNT OUT
//
// Prints what parsing took, and rendering once it was parsed, in microseconds each; OUT gets what was
// rendered.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "templates/templates.hpp"

namespace {

using Clock = std::chrono::steady_clock;

std::string read(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double microseconds_each(Clock::time_point since, std::int64_t count) {
  return std::chrono::duration<double, std::micro>(Clock::now() - since).count() / static_cast<double>(count);
}

int fail(const std::string& why) {
  std::cerr << why << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = argc == 5 ? base::parse_integer(argv[3]) : std::nullopt;
  if (!count || *count < 1) return fail("usage: bench_templates TEMPLATE VARIABLES.json COUNT OUT");
  const std::string source = read(argv[1]), json = read(argv[2]);
  base::Arena arena;
  const auto parsed = base::parse_json(json, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  if (!root) return fail("the variables are no JSON");
  templates::Variables variables;
  for (const base::Member& member : root->members())
    variables.set(member.key, member.value);

  auto since = Clock::now();
  std::shared_ptr<const templates::Template> made;
  for (std::int64_t i = 0; i < *count; ++i) {
    auto answer = templates::Template::parse("t", source);
    if (const auto* wrong = std::get_if<templates::Problem>(&answer)) return fail(describe(*wrong));
    made = std::get<0>(std::move(answer));
  }
  const double parsing = microseconds_each(since, *count);
  since = Clock::now();
  std::string text;
  for (std::int64_t i = 0; i < *count; ++i) {
    auto answer = templates::render(*made, variables);
    if (const auto* wrong = std::get_if<templates::Problem>(&answer)) return fail(describe(*wrong));
    text = std::get<std::string>(std::move(answer));
  }
  std::printf("%.3f %.3f\n", parsing, microseconds_each(since, *count));
  std::ofstream(argv[4]) << text;
  return 0;
}
