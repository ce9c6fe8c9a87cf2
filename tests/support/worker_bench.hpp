// WorkerBench: a worker with a scratch folder of its own, for the tests of the engine. Header only.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agent/engine/worker/worker.hpp"
#include "builtins/builtins.hpp"
#include "states/registry.hpp"

namespace tests {

inline const states::Registry& engine_registry() {
  static const states::Registry known{states::native_states(), builtins::builtin_states()};
  return known;
}

// State folder and the root that states work below are in the scratch folder.
class WorkerBench {
 public:
  explicit WorkerBench(bool has_backend = false) {
    std::string pattern = (std::filesystem::temp_directory_path() / "opsagent-worker-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    folder_ = pattern;
    std::filesystem::create_directories(folder_ + "/root/dir");
    settings_.host.root = folder_ + "/root";
    settings_.host.os = base::read_os_release();
    settings_.state_dir = settings_.host.state_dir = folder_ + "/state";
    settings_.round_delay = std::chrono::milliseconds(20);
    settings_.first_back_off = std::chrono::milliseconds(10);
    settings_.longest_back_off = std::chrono::milliseconds(40);
    settings_.retry_delay = std::chrono::milliseconds(5);
    settings_.has_backend = has_backend;
  }
  ~WorkerBench() {
    stop();
    std::filesystem::remove_all(folder_);
  }

  // The modules that recipes may name; those of the agent unless set.
  void use_modules(const states::Registry& registry) { registry_ = &registry; }

  agent::engine::WorkerSettings& settings() { return settings_; }
  std::string path(const std::string& below) const { return folder_ + "/root" + below; }
  std::string state_path(const std::string& below) const { return folder_ + "/state/" + below; }
  // Commands of linux.cmd and the like work on the running system.
  void use_running_system() { settings_.host.root.clear(); }

  void start() {
    worker_ = std::make_unique<agent::engine::Worker>(settings_, std::make_shared<base::Redactor>());
  }
  void stop() { worker_.reset(); }
  recipe::Inputs inputs{};  // for recipes from now on
  agent::engine::Worker& worker() { return *worker_; }
  void send(agent::engine::Command command) { worker_->commands().push(std::move(command)); }
  // A recipe, YAML or JSON.
  void run(const std::string& text, std::int64_t version = 1,
           agent::engine::OnChange on_change = agent::engine::OnChange::finish, bool resume = true) {
    if (!worker_) start();
    auto loaded = recipe::load_text("test", text, *registry_, inputs);
    for (const auto& problem : loaded.problems)
      MESSAGE(recipe::describe(problem, "test"));
    REQUIRE(loaded.recipe);
    send(agent::engine::RunRecipe{
        .recipe = loaded.recipe, .version = version, .on_change = on_change, .resume = resume});
  }

  std::optional<agent::engine::Event> next_event(
      std::chrono::milliseconds within = std::chrono::seconds(10)) {
    return worker_->events().pop_until(std::chrono::steady_clock::now() + within);
  }
  // The next event of this type; others are skipped.
  template <class T>
  std::optional<T> next(std::chrono::milliseconds within = std::chrono::seconds(10)) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    while (auto event = worker_->events().pop_until(deadline))
      if (auto* wanted = std::get_if<T>(&*event)) return std::move(*wanted);
    return std::nullopt;
  }

  // One round of a recipe, as `opsagent apply` does it.
  std::vector<agent::engine::StateResult> apply(const std::string& text, bool resume = false) {
    stop();
    start();
    run(text, 1, agent::engine::OnChange::finish, resume);
    send(agent::engine::Stop{agent::engine::Stop::When::end});
    std::vector<agent::engine::StateResult> results;
    while (auto event = worker_->events().pop()) {
      if (auto* result = std::get_if<agent::engine::StateResult>(&*event))
        results.push_back(std::move(*result));
      if (std::holds_alternative<agent::engine::Stopped>(*event)) break;
    }
    return results;
  }

 private:
  std::string folder_;
  agent::engine::WorkerSettings settings_;
  const states::Registry* registry_ = &engine_registry();
  std::unique_ptr<agent::engine::Worker> worker_;
};

}  // namespace tests
