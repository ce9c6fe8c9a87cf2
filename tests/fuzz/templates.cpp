// Templates, parsed and rendered with few steps: whatever the text, the answer is a text in bounds or a
// problem with a place.
#include "templates/templates.hpp"

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

templates::Variables given() {
  base::Arena arena;
  const auto parsed = base::parse_json(
      R"({"name":"web-01","port":8080,"list":[1,2.5,"x",null],"sites":[{"name":"a","port":80}],"d":{"k":{"v":true}}})",
      arena);
  templates::Variables variables;
  for (const base::Member& member : std::get<base::Value>(parsed).members())
    variables.set(member.key, member.value);
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source = fuzz::text_of(data, size);
  const templates::Limits limits{.steps = 20'000, .output = 1 << 20, .memory = 16 << 20, .depth = 100};
  const templates::Options options{.trim_blocks = size % 2 == 0, .lstrip_blocks = size % 3 == 0};
  const auto parsed = templates::Template::parse("t", source, options);
  if (const auto* problem = std::get_if<templates::Problem>(&parsed)) {
    fuzz::require(problem->line > 0 && problem->column > 0 && !problem->message.empty(),
                  "a problem has a place");
    return 0;
  }
  const auto variables = given();
  const auto made = templates::render(*std::get<0>(parsed), variables, nullptr, limits);
  if (const auto* text = std::get_if<std::string>(&made))
    fuzz::require(text->size() <= limits.output && base::is_utf8(*text), "the text is in bounds and UTF-8");
  else
    fuzz::require(std::get<templates::Problem>(made).line > 0, "a problem has a place");
  return 0;
}
