// A line that a module writes to the agent, read as each of the three answers. Either it is one, within the
// limits, or something is said against it.
#include "agent/modules/host/lines.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agent::modules;
  static const auto manifest =
      ::modules::Manifest::read(
          R"({"name":"acme.x","version":"1.0","command":["x"],"schema":{"type":"object"}})", "module.json")
          .manifest;
  const std::string_view line = fuzz::text_of(data, size);
  constexpr std::size_t kMark = 64;  // what says that a text was cut
  if (auto hello = read_hello(line, *manifest); !hello)
    fuzz::require(!hello.error().message().empty(), "a hello is refused with words");
  if (auto planned = read_planned(line, 7)) {
    fuzz::require(planned->changes.size() <= kMostChanges, "changes are bounded");
    fuzz::require(planned->message.size() <= kLongestMessage + kMark, "a message is bounded");
    fuzz::require(planned->verdict != states::Verdict::change || !planned->changes.empty(),
                  "a change says what");
    for (const states::Change& change : planned->changes)
      fuzz::require(change.diff.size() <= kLongestDiff + kMark && !change.what.empty(),
                    "a change is bounded");
    fuzz::require(!apply_line({.id = 7, .state_id = "s", .parameter = "{}"}, planned->changes).empty(),
                  "changes can be sent back");
  }
  if (auto done = read_applied(line, 7))
    fuzz::require(done->ok || !done->message.empty(), "a failure says why");
  return 0;
}
