// Which instances are meant, as people write it.
#include "backend/domain/selectors/selector.hpp"
#include "tests/fuzz/fuzz.hpp"

using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto selector = backend::domain::Selector::parse(fuzz::text_of(data, size));
  if (!selector) {
    require(!selector.error().message().empty(), "a refusal says why");
    return 0;
  }
  const backend::domain::Tags tags = {{"role", "db"}, {"zone", "b"}};
  const backend::domain::SelectorSubject subject{.app_id = "app-1", .instance_id = "i-1", .tags = tags};
  const bool matches = selector->matches(subject);
  const auto again = backend::domain::Selector::parse(selector->text());
  require(again && again->matches(subject) == matches, "a selector is read as it was written");
  return 0;
}
