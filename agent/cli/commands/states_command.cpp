#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "agent/cli/output/state_page.hpp"

namespace agent::cli {

namespace {

constexpr std::size_t kWidest = 100;  // longer lines are hard to read

base::Result<void> write_page(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return base::os_error(errno, "cannot write " + path);
  return {};
}

base::Result<void> write_reference(const states::Registry& registry, const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
    return base::os_error(errno, "cannot create " + folder);
  for (const states::RegistryEntry& entry : registry.entries()) {
    auto written =
        write_page(folder + "/" + std::string(entry.type->name()) + ".md", state_as_markdown(entry));
    if (!written) return written;
  }
  return write_page(folder + "/README.md", states_index(registry.entries()));
}

void list(const states::Registry& registry, const Options& options, terminal::Console& console) {
  if (options.json) {
    base::JsonText json;
    json.begin_object().key("states").begin_list();
    for (const states::RegistryEntry& entry : registry.entries())
      add_state(json, entry);
    return console.out.json(json.end_list().end_object().take());
  }
  std::size_t widest = 0;
  for (const states::RegistryEntry& entry : registry.entries())
    widest = std::max(widest, entry.type->name().size());
  for (const states::RegistryEntry& entry : registry.entries()) {
    const std::string_view name = entry.type->name();
    if (options.quiet)
      console.out.line(name);
    else
      console.out.line(console.paint(terminal::Style::bold, name) +
                       std::string(widest + 2 - name.size(), ' ') + std::string(entry.type->summary()));
  }
}

}  // namespace

int states_command(const Options& options, terminal::Console& console) {
  auto reader = RecipeReader::open(options, fetch_lines(options, console));
  if (!reader) {
    console.complain(reader.error().message());
    return kFailure;
  }
  const auto sources = reader->sources();
  if (!sources) {
    console.complain(sources.error().message());
    return kFailure;
  }
  const auto kept = (*sources)->registry();
  const states::Registry& registry = *kept;
  if (!options.markdown.empty()) {
    auto written = write_reference(registry, options.markdown);
    if (!written) console.complain(written.error().message());
    return written ? kOk : kFailure;
  }
  if (options.argument().empty() && options.json_schema) {
    console.complain("--json-schema needs the name of a state\n'opsagent states' lists them");
    return kFailure;
  }
  if (options.argument().empty()) {
    list(registry, options, console);
    return kOk;
  }
  const states::RegistryEntry* entry = registry.find(options.argument());
  if (!entry) {
    const auto close = registry.nearest(options.argument());
    console.complain("there is no state '" + options.argument() + "'" +
                     (close ? "; did you mean '" + std::string(*close) + "'?" : "") +
                     "\n'opsagent states' lists them");
    return kFailure;
  }
  if (options.json_schema) {
    const states::StateType& type = *entry->type;
    console.out.json(states::json_schema(type.name(), type.summary(), type.schema()));
  } else if (options.json) {
    base::JsonText json;
    add_state(json, *entry);
    console.out.json(json.take());
  } else {
    console.out.write(state_for_terminal(*entry, console.paint,
                                         std::min(terminal::terminal_width(STDOUT_FILENO), kWidest)));
  }
  return kOk;
}

}  // namespace agent::cli
