// RecipeReader: the states that a command knows, and the recipes that it reads with them. Modules of a
// repository that a recipe names, or --module-repo and --module-tag, are fetched before, if they are missing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/cli/options/options.hpp"
#include "agent/modules/sources/state_sources.hpp"
#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "recipe/recipe.hpp"
#include "terminal/console.hpp"

namespace agent::cli {

// What the options say of modules.
modules::ModuleSettings module_settings(const Options& options);

// What is to be told of a fetch, while it goes on.
struct FetchLines {
  std::function<void(const std::string&)> progress;
  std::function<void(const std::string&)> warning;
};
// On standard error, unless --quiet or --json; warnings in any case.
FetchLines fetch_lines(const Options& options, terminal::Console& console);

// One thread at a time. The recipes keep what they were read with.
class RecipeReader {
 public:
  // An Error has a line for each thing that is wrong with --module-dir or with the options.
  // `is_check`: recipes are checked only, without a look at the machine.
  static base::Result<RecipeReader> open(const Options& options, FetchLines say, bool is_check = false);

  recipe::Loaded load_file(const std::string& path, base::Interrupt& interrupt);
  recipe::Loaded load_file(const std::string& path);
  // The recipe that was read last, with what its repository has by now. Nothing when that is what it was read
  // with, or when the tag is not one that may move.
  std::optional<recipe::Loaded> load_if_moved(base::Interrupt& interrupt);

  // The recipe that was read last, if it is another one by now: with the facts, variables and secrets that
  // there are. Nothing when all of it is the same.
  std::optional<recipe::Loaded> load_if_filled_differently(const recipe::Recipe& before);

  // Of a saved plan: these modules, whatever the recipe and the options say.
  void pin(recipe::ModuleSource modules) { pinned_ = std::move(modules); }

  // The states without a recipe: native, of --module-dir and of --module-repo.
  modules::StateSources::Opened sources();
  // Without any repository.
  const std::shared_ptr<const modules::StateSources>& local() const { return local_; }
  // The repository that was used last.
  const std::optional<modules::FetchedSource>& fetched() const { return last_->fetched(); }

 private:
  RecipeReader(const Options& options, FetchLines say);

  base::Result<std::optional<recipe::ModuleSource>> wanted(
      const std::optional<recipe::ModuleSource>& named) const;
  modules::StateSources::Opened sources_for(const std::optional<recipe::ModuleSource>& named,
                                            base::Interrupt& interrupt);
  modules::StateSources::Opened fetch(const recipe::ModuleSource& source, base::Interrupt& interrupt);
  recipe::Loaded load(base::Interrupt& interrupt);
  bool is_moving(const std::string& tag) const;
  recipe::Loaded load_with(const recipe::RegistryOf& registry_of) const;

  const Options& options_;
  modules::ModuleSettings settings_;
  FetchLines say_;
  bool is_check_ = false;
  std::shared_ptr<const modules::StateSources> local_, last_;
  std::optional<recipe::ModuleSource> pinned_;
  std::string path_, text_;  // of the recipe that was read last
};

}  // namespace agent::cli
