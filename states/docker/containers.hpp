// Containers of the engine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/docker/engine.hpp"

namespace states::docker {

// Which state made a container, and from which parameters; see running.hpp.
inline constexpr std::string_view kNameLabel = "opsagent.container";
inline constexpr std::string_view kFingerprintLabel = "opsagent.fingerprint";

struct Container {
  std::string id;
  std::string name;
  bool is_running = false;
  std::string status;  // "Exited (3) 2 hours ago"
  std::string image_id;
  std::string made_for;     // kNameLabel
  std::string fingerprint;  // kFingerprintLabel
};

// All, stopped ones too.
base::Result<std::vector<Container>> list_containers(Engine& engine);
const Container* find_container(std::span<const Container> containers, std::string_view name);

// `json`: as POST /containers/create takes it. Answers the id.
base::Result<std::string> create_container(Engine& engine, const std::string& name, const std::string& json);
base::Result<void> start_container(Engine& engine, const std::string& id);
base::Result<void> restart_container(Engine& engine, const std::string& id);
// Stopped (it has 10 s to end), and gone. Not there: fine.
base::Result<void> drop_container(Engine& engine, const std::string& id);

// How a container is that was started just now: its exit code when it does not run any more.
base::Result<std::optional<int>> exit_code_of(Engine& engine, const std::string& id);
// What it has printed last, cleaned; "" when that cannot be had.
std::string last_output(Engine& engine, const std::string& id);

// Drops those of these names; a name that does not exist stands for NAME_1, NAME_2, … up to the first that is
// missing. Answers which were dropped.
base::Result<std::vector<std::string>> drop_named(Engine& engine, std::span<const std::string_view> names);
// Which these would be.
std::vector<std::string> named(std::span<const Container> containers,
                               std::span<const std::string_view> names);

}  // namespace states::docker
