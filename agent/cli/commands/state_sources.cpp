#include "agent/cli/commands/state_sources.hpp"

#include "agent/cli/commands/version.hpp"
#include "base/text.hpp"
#include "builtins/builtins.hpp"
#include "modules/closed_tree.hpp"

namespace agent::cli {

namespace {

base::Error all_of(const std::vector<std::string>& problems) {
  return {base::ErrorCode::invalid, base::join(problems, "\n")};
}

}  // namespace

base::Result<::modules::ModuleSet> open_module_set(const std::string& folder) {
  auto path = ::modules::closed_tree(folder);
  if (!path) return std::move(path).error().with_context("--module-dir");
  ::modules::ModuleSet::Read read = ::modules::ModuleSet::read(*path);
  if (!read.problems.empty()) return all_of(read.problems);
  if (auto refusal = read.set.compat().refusal(kVersion))
    return base::Error(base::ErrorCode::unsupported, *path + "/compat.txt: " + *refusal);
  return std::move(read.set);
}

base::Result<StateSources> StateSources::open(const Options& options) {
  StateSources sources;
  const auto native = states::native_states();
  if (options.module_dir.empty()) {
    sources.native_.assign(native.begin(), native.end());
    return sources;
  }
  auto set = open_module_set(options.module_dir);
  if (!set) return std::move(set).error();
  std::vector<std::string> problems;
  sources.native_ = ::modules::without_replaced(native, *set, options.module_wins, problems);
  if (!problems.empty()) return all_of(problems);
  sources.host_ = std::make_unique<modules::ModuleHost>(std::move(*set));
  return sources;
}

states::Registry StateSources::registry() const {
  if (!host_) return {native_, builtins::builtin_states()};
  return {native_, builtins::builtin_states(), host_->entries()};
}

}  // namespace agent::cli
