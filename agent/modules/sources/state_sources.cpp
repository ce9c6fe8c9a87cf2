#include "agent/modules/sources/state_sources.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "builtins/builtins.hpp"
#include "modules/closed_tree.hpp"

namespace agent::modules {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Error all_of(const std::vector<std::string>& problems) {
  return {ErrorCode::invalid, base::join(problems, "\n")};
}

Result<::modules::ModuleSet> read_set(const std::string& path, std::string_view agent_version) {
  ::modules::ModuleSet::Read read = ::modules::ModuleSet::read(path);
  // First whether it is for this agent at all: what is wrong with it otherwise may be for another.
  if (auto refusal = read.set.compat().refusal(agent_version))
    return Error(ErrorCode::unsupported, path + "/compat.txt: " + *refusal);
  if (!read.problems.empty()) return all_of(read.problems);
  return std::move(read.set);
}

}  // namespace

Result<::modules::ModuleSet> open_module_set(const std::string& folder, std::string_view agent_version) {
  auto path = ::modules::closed_tree(folder);
  if (!path) return std::move(path).error().with_context("--module-dir");
  return read_set(*path, agent_version);
}

StateSources::Opened StateSources::open(const ModuleSettings& settings) {
  std::shared_ptr<StateSources> sources(new StateSources(settings));
  if (!settings.folder.empty()) {
    auto set = open_module_set(settings.folder, settings.agent_version);
    if (!set) return std::move(set).error();
    sources->folder_ = std::make_shared<ModuleHost>(std::move(*set));
  }
  if (auto indexed = sources->index(); !indexed) return std::move(indexed).error();
  return std::shared_ptr<const StateSources>(std::move(sources));
}

StateSources::Opened StateSources::with(const recipe::ModuleSource& named,
                                        ::modules::fetch::Fetched fetched) const {
  const std::string name = "the modules '" + named.tag + "' of " + named.repo;
  auto set = read_set(fetched.checkout.path, settings_.agent_version);
  if (!set) return std::move(set).error().with_context(name);
  std::shared_ptr<StateSources> sources(new StateSources(settings_));
  sources->folder_ = folder_;
  sources->repository_ = std::make_unique<ModuleHost>(std::move(*set));
  sources->fetched_ = {
      .named = named, .commit = fetched.checkout.commit, .signer = std::move(fetched.signer)};
  sources->checkout_ = std::move(fetched.checkout);
  if (auto indexed = sources->index(); !indexed) return std::move(indexed).error().with_context(name);
  return std::shared_ptr<const StateSources>(std::move(sources));
}

// Who may be named, and that no name is taken twice.
Result<void> StateSources::index() {
  const auto native = states::native_states();
  native_.assign(native.begin(), native.end());
  std::vector<std::string> problems;
  for (const ModuleHost* host : {folder_.get(), repository_.get()})
    if (host) native_ = ::modules::without_replaced(native_, host->set(), settings_.winners, problems);
  if (!problems.empty()) return all_of(problems);
  if (repository_)
    for (const states::RegistryEntry& entry : repository_->entries())
      if (!folder_ || !folder_->set().find(entry.type->name())) of_repository_.push_back(entry);
  using Entries = std::span<const states::RegistryEntry>;
  registry_.emplace(std::initializer_list<Entries>{native_, builtins::builtin_states(),
                                                   folder_ ? folder_->entries() : Entries(), of_repository_});
  return {};
}

std::shared_ptr<const states::Registry> StateSources::registry() const {
  return {shared_from_this(), &*registry_};
}

}  // namespace agent::modules
