// A module's manifest, and compat.txt: the part up to the first NUL is the manifest, the rest is compat.txt.
// Either is read, or something is said against it; the schema of one that is read can be printed.
#include "modules/compat.hpp"
#include "modules/manifest.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  const std::string_view text = fuzz::next_part(rest, '\0');
  const modules::Manifest::Read read = modules::Manifest::read(std::string(text), "module.json");
  fuzz::require((read.manifest != nullptr) == read.problems.empty(),
                "a manifest is read, or there are problems");
  for (const std::string& problem : read.problems)
    fuzz::require(problem.starts_with("module.json"), "a problem names the file");
  if (read.manifest) {
    fuzz::require(modules::is_module_name(read.manifest->name), "its name is one");
    fuzz::require(!read.manifest->command.empty(), "it can be started");
    fuzz::require(
        !states::json_schema(read.manifest->name, read.manifest->summary, read.manifest->schema()).empty(),
        "its schema can be printed");
  }
  const auto compat = modules::Compat::read(rest, "compat.txt");
  if (compat) (void)compat->refusal("0.1.0");
  return 0;
}
