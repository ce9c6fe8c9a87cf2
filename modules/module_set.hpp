// ModuleSet: the modules of a repository, read from a folder: modules/<any name>/module.json, and compat.txt
// beside modules/. Starts nothing; any thread may read it.
//
// A folder without modules/ is a set of none: so are the original's own repositories.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "modules/compat.hpp"
#include "modules/manifest.hpp"
#include "states/state.hpp"

namespace modules {

inline constexpr std::size_t kMostModules = 200;        // of one repository
inline constexpr std::size_t kLargestPage = 64 * 1024;  // README.md of a module, shown whole
inline constexpr std::string_view kManifestName = "module.json";

struct Module {
  std::string folder;  // absolute, without links
  std::unique_ptr<const Manifest> manifest;
  std::string page;  // Markdown: the module's README.md, or what its schema says of itself
};

// The program of its command: a path, or a name that is searched for when it is started.
std::string program_of(const Module& module);

class ModuleSet {
 public:
  struct Read;
  // `folder` is absolute. All problems at once, each with file, line and column.
  static Read read(const std::string& folder);

  std::span<const Module> modules() const { return modules_; }  // by name
  const Module* find(std::string_view name) const;
  const Compat& compat() const { return compat_; }

 private:
  void add(const std::string& folder, std::vector<std::string>& problems);

  std::vector<Module> modules_;
  Compat compat_;
};

struct ModuleSet::Read {
  ModuleSet set;
  std::vector<std::string> problems;  // empty: the set may be used
};

// Reads the one module whose manifest is in this folder.
struct ReadModule {
  Module module;
  std::vector<std::string> problems;
};
ReadModule read_module(const std::string& folder);

// The native states without those whose names a module has, which `winners` must name: one that replaces a
// native state is a decision of whoever configures the agent. Problems are appended.
std::vector<states::RegistryEntry> without_replaced(std::span<const states::RegistryEntry> native,
                                                    const ModuleSet& set,
                                                    std::span<const std::string> winners,
                                                    std::vector<std::string>& problems);

}  // namespace modules
