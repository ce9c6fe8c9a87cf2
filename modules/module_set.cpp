#include "modules/module_set.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace modules {

namespace {

namespace fs = std::filesystem;

// A program that is given with a slash must be there: else every state of the module fails, and later.
void check_program(const Module& module, std::vector<std::string>& problems) {
  const std::string path = program_of(module);
  if (!path.starts_with('/')) return;
  const std::string file = module.folder + "/" + std::string(kManifestName);
  if (::access(path.c_str(), F_OK) != 0)
    problems.push_back(file + ": the program of 'command', " + path + ", does not exist");
  else if (::access(path.c_str(), X_OK) != 0)
    problems.push_back(file + ": the program of 'command' is not executable; chmod +x " + path);
}

std::string page_of(const Module& module, std::vector<std::string>& problems) {
  const std::string path = module.folder + "/README.md";
  auto text = base::read_file(path, kLargestPage);
  if (text) return std::move(*text);
  if (text.error().code() != base::ErrorCode::not_found) problems.push_back(text.error().message());
  return std::string(module.manifest->description());
}

}  // namespace

std::string program_of(const Module& module) {
  std::string_view program = module.manifest->command.front();
  if (program.find('/') == std::string_view::npos || program.starts_with('/')) return std::string(program);
  while (program.starts_with("./"))
    program.remove_prefix(2);
  return module.folder + "/" + std::string(program);
}

ReadModule read_module(const std::string& folder) {
  ReadModule read;
  const std::string file = folder + "/" + std::string(kManifestName);
  auto text = base::read_file(file, kLargestManifest);
  if (!text) {
    read.problems.push_back(text.error().message());
    return read;
  }
  Manifest::Read manifest = Manifest::read(std::move(*text), file);
  read.problems = std::move(manifest.problems);
  if (!manifest.manifest) return read;
  read.module = {.folder = folder, .manifest = std::move(manifest.manifest), .page = {}};
  read.module.page = page_of(read.module, read.problems);
  check_program(read.module, read.problems);
  return read;
}

void ModuleSet::add(const std::string& folder, std::vector<std::string>& problems) {
  ReadModule read = read_module(folder);
  const bool is_fine = read.problems.empty();
  std::ranges::move(read.problems, std::back_inserter(problems));
  if (!is_fine) return;
  if (const Module* other = find(read.module.manifest->name))
    problems.push_back(folder + "/" + std::string(kManifestName) + ": the name '" + other->manifest->name +
                       "' is used twice; first in " + other->folder);
  else
    modules_.push_back(std::move(read.module));
}

ModuleSet::Read ModuleSet::read(const std::string& folder) {
  Read read;
  std::error_code wrong;
  const std::string compat = folder + "/compat.txt";
  if (auto text = base::read_file(compat, kLargestCompat)) {
    auto conditions = Compat::read(*text, compat);
    if (conditions)
      read.set.compat_ = std::move(*conditions);
    else
      read.problems.push_back(conditions.error().message());
  } else if (text.error().code() != base::ErrorCode::not_found) {
    read.problems.push_back(text.error().message());
  }
  const std::string below = folder + "/modules";
  if (!fs::exists(below, wrong)) return read;
  std::vector<std::string> folders;
  for (fs::directory_iterator entry(below, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    std::error_code other;
    // What has no manifest is no module: a file, a library that several modules share.
    if (!fs::exists(entry->path() / kManifestName, other)) continue;
    folders.push_back(entry->path().string());
    if (folders.size() <= kMostModules) continue;
    read.problems.push_back(below + " has more than " + std::to_string(kMostModules) + " modules");
    return read;
  }
  if (wrong) read.problems.push_back(below + ": " + wrong.message());
  std::ranges::sort(folders);
  for (const std::string& each : folders)
    read.set.add(each, read.problems);
  std::ranges::sort(read.set.modules_, {}, [](const Module& module) { return module.manifest->name; });
  return read;
}

const Module* ModuleSet::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(modules_, [&](const Module& module) { return module.manifest->name == name; });
  return found == modules_.end() ? nullptr : &*found;
}

std::vector<states::RegistryEntry> without_replaced(std::span<const states::RegistryEntry> native,
                                                    const ModuleSet& set,
                                                    std::span<const std::string> winners,
                                                    std::vector<std::string>& problems) {
  std::vector<states::RegistryEntry> left;
  for (const states::RegistryEntry& entry : native) {
    const Module* module = set.find(entry.type->name());
    for (const std::string_view alias : entry.type->aliases())
      if (!module && !alias.empty()) module = set.find(alias);
    if (!module) {
      left.push_back(entry);
      continue;
    }
    const std::string& name = module->manifest->name;
    if (name != entry.type->name() || std::ranges::find(winners, name) == winners.end()) {
      problems.push_back(module->folder + "/" + std::string(kManifestName) + ": '" + name + "' is " +
                         (name == entry.type->name() ? "the name" : "another name") +
                         " of the native state '" + std::string(entry.type->name()) +
                         "'; give the module another name" +
                         (name == entry.type->name() ? ", or let it win with --module-wins " + name : ""));
      left.push_back(entry);
    }
  }
  return left;
}

}  // namespace modules
