// `opsagent module list`, `show`, `new` and `test`.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "agent/cli/commands/version.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "agent/cli/output/state_page.hpp"
#include "agent/modules/kit/kit.hpp"
#include "agent/modules/kit/skeletons.hpp"
#include "base/text.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

constexpr std::size_t kWidestPage = 100;  // longer lines are hard to read

// The modules of --module-dir or of --module-repo.
struct ShownModules {
  std::shared_ptr<const modules::StateSources> sources;  // of a repository
  std::unique_ptr<modules::ModuleHost> folder;

  const modules::ModuleHost& host() const { return sources ? *sources->repository() : *folder; }
};

// Nothing when what is wrong was said.
std::optional<ShownModules> open_modules(const Options& options, terminal::Console& console) {
  const auto fail = [&](const std::string& text) -> std::optional<ShownModules> {
    console.complain(text);
    return std::nullopt;
  };
  if (options.module_repo.empty() && options.module_dir.empty())
    return fail("of which folder or repository? --module-dir DIR, or --module-repo REPO --module-tag TAG");
  if (options.module_repo.empty()) {
    auto set = modules::open_module_set(options.module_dir, kVersion);
    if (!set) return fail(set.error().message());
    return ShownModules{.sources = nullptr, .folder = std::make_unique<modules::ModuleHost>(std::move(*set))};
  }
  auto reader = RecipeReader::open(options, fetch_lines(options, console));
  auto sources = reader ? reader->sources() : std::move(reader).error();
  if (!sources) return fail(sources.error().message());
  return ShownModules{.sources = std::move(*sources), .folder = nullptr};
}

void add_module(base::JsonText& json, const ::modules::Module& module) {
  const ::modules::Manifest& manifest = *module.manifest;
  json.begin_object().member("name", manifest.name).member("version", manifest.version);
  json.member("summary", manifest.summary).member("folder", module.folder).key("command").begin_list();
  for (const std::string& word : manifest.command)
    json.value(word);
  json.end_list().member("supports_plan", manifest.supports_plan).optional("run_as", manifest.run_as);
  json.member("plan_uses_network", manifest.plan_network.has_value());
  json.member("memory_mb", manifest.limits.memory_mb).member("processes", manifest.limits.processes);
}

// How it is run: what whoever lets it run wants to know.
std::string run_lines(const ::modules::Module& module) {
  const ::modules::Manifest& manifest = *module.manifest;
  std::string text = "Version " + manifest.version + ", in " + module.folder + "\nRuns " +
                     base::join(manifest.command, " ") + " as " +
                     (manifest.run_as.empty() ? "the agent's user" : manifest.run_as) + ", with at most " +
                     std::to_string(manifest.limits.memory_mb) + " MB in a process\n";
  if (manifest.plan_network)
    text += "Uses the network while it plans" +
            (manifest.plan_network->empty() ? "" : ": " + *manifest.plan_network) + "\n";
  return text;
}

base::Result<void> write_new(const std::string& path, const modules::SkeletonFile& file) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << file.text;
  out.close();
  constexpr mode_t kProgram = 0755;
  if (!out || (file.executable && ::chmod(path.c_str(), kProgram) != 0))
    return base::os_error(errno, "cannot write " + path);
  return {};
}

base::Result<void> make_folder(const std::string& path, bool must_be_new) {
  constexpr mode_t kFolder = 0755;
  if (::mkdir(path.c_str(), kFolder) == 0 || (errno == EEXIST && !must_be_new)) return {};
  return base::os_error(errno, "cannot make " + path);
}

}  // namespace

int module_list_command(const Options& options, terminal::Console& console) {
  const auto shown = open_modules(options, console);
  if (!shown) return kFailure;
  const modules::ModuleHost& host = shown->host();
  if (options.json) {
    base::JsonText json;
    json.begin_object().key("modules").begin_list();
    for (const ::modules::Module& module : host.set().modules()) {
      add_module(json, module);
      json.end_object();
    }
    console.out.json(json.end_list().end_object().take());
    return kOk;
  }
  std::size_t widest = 0;
  for (const ::modules::Module& module : host.set().modules())
    widest = std::max(widest, module.manifest->name.size() + module.manifest->version.size() + 1);
  for (const ::modules::Module& module : host.set().modules()) {
    const ::modules::Manifest& manifest = *module.manifest;
    const std::size_t used = manifest.name.size() + manifest.version.size() + 1;
    console.out.line(console.paint(terminal::Style::bold, manifest.name) + " " + manifest.version +
                     std::string(widest + 2 - used, ' ') + terminal::printable(manifest.summary));
  }
  return kOk;
}

int module_show_command(const Options& options, terminal::Console& console) {
  const auto shown = open_modules(options, console);
  if (!shown) return kFailure;
  const modules::ModuleHost& host = shown->host();
  const states::Registry known{host.entries()};
  const states::RegistryEntry* entry = known.find(options.argument());
  if (!entry) {
    const auto close = known.nearest(options.argument());
    console.complain("there is no module '" + options.argument() + "' in " +
                     (options.module_repo.empty() ? options.module_dir : options.module_repo) +
                     (close ? "; did you mean '" + std::string(*close) + "'?" : ""));
    return kFailure;
  }
  const ::modules::Module& module = *host.set().find(entry->type->name());
  if (options.json) {
    base::JsonText json;
    add_module(json, module);
    json.key("state");
    add_state(json, *entry);
    console.out.json(json.end_object().take());
    return kOk;
  }
  console.out.write(state_for_terminal(*entry, console.paint,
                                       std::min(terminal::terminal_width(STDOUT_FILENO), kWidestPage)));
  console.out.write(terminal::printable(run_lines(module), true));
  return kOk;
}

int module_new_command(const Options& options, terminal::Console& console) {
  const std::string& name = options.argument();
  const auto fail = [&](const std::string& text) {
    console.complain(text);
    return kFailure;
  };
  if (!::modules::is_module_name(name))
    return fail(
        "'" + name +
        "' cannot be a module's name: letters, digits, '.', '_' and '-', beginning with a letter, and not "
        "with \"meta.\"");
  const std::string below = (options.module_dir.empty() ? "." : options.module_dir) + "/modules";
  const std::string folder = below + "/" + name;
  if (auto made = make_folder(below, false); !made) return fail(made.error().message());
  if (auto made = make_folder(folder, true); !made) return fail(made.error().message());
  for (const modules::SkeletonFile& file : modules::skeleton(name, options.language))
    if (auto written = write_new(folder + "/" + file.name, file); !written)
      return fail(written.error().message());
  console.out.line("Made " + folder);
  if (options.language == "c++")
    console.out.line("Build it: c++ -std=c++17 -O2 -o " + folder + "/" + name + " " + folder + "/main.cpp");
  console.out.line("Try it:   opsagent module test " + folder);
  return kOk;
}

int module_test_command(const Options& options, terminal::Console& console) {
  auto folder = absolute_path(options.argument());
  if (!folder) {
    console.complain(folder.error().message());
    return kFailure;
  }
  std::size_t wrong = 0;
  modules::check_module(*folder, {.applies = !options.plan_only}, [&](const modules::Finding& finding) {
    if (finding.problem.empty()) {
      console.out.line(console.paint(terminal::Style::green, "ok") + "     " + finding.check);
    } else {
      ++wrong;
      console.out.line(console.paint(terminal::Style::red, "WRONG") + "  " + finding.check + ": " +
                       terminal::printable(finding.problem) + "\n       mend: " + finding.mend);
    }
    console.out.flush();
  });
  if (wrong > 0)
    console.complain(std::to_string(wrong) + (wrong == 1 ? " thing is" : " things are") + " wrong");
  return wrong > 0 ? kFailure : kOk;
}

}  // namespace agent::cli
