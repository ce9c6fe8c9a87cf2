// What an agent remembers of releases, as a disk gives it back: as it is, and with the checksum put right, so
// that what the checksum guards is read, too.
#include "base/sha256.hpp"
#include "release/trust.hpp"
#include "tests/fuzz/fuzz.hpp"

using fuzz::require;

namespace {

void check(std::string_view text) {
  const auto memory = release::parse_memory(text);
  if (!memory) {
    require(!memory.error().message().empty(), "a refusal says why");
    return;
  }
  require(release::to_text(*memory) == text, "there is one text for each memory");
  require(memory->seen.size() <= release::kMostSeen, "what was seen has a limit");
  if (const auto trust = release::Trust::open(*memory))
    require(trust->next_root() == trust->root().version + 1, "a trusted root has a successor");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check(text);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string lines(text.substr(end + 1));
  check("opsagent trusted 1 " + base::sha256_hex(lines) + "\n" + lines);
  return 0;
}
