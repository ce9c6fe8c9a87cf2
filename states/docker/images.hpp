// Images of the engine, and the registries that they come from and go to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/docker/engine.hpp"
#include "states/docker/reference.hpp"

namespace states::docker {

// Who asks a registry. The password goes to the engine in a header of the local socket, nowhere else.
struct Login {
  std::string user;  // "": nobody in particular
  std::string password;
};

struct Image {
  std::string id;                    // "sha256:…"
  std::vector<std::string> digests;  // by which registries know it: "name@sha256:…"
  std::string commit_label;          // kCommitLabel

  bool has_digest(std::string_view digest) const;
};
// What linux.docker.pushed writes into images that it commits: a hash of what was committed.
inline constexpr std::string_view kCommitLabel = "opsagent.commit";

// "0123456789ab" of "sha256:0123456789ab…".
std::string short_id(std::string_view id);

// Nothing when it is not there.
base::Result<std::optional<Image>> find_image(Engine& engine, const std::string& reference);

// An error: "Login to <registry> as <user> failed: …". Nothing is asked for nobody.
base::Result<void> check_login(Engine& engine, const Reference& reference, const Login& login);
// The digest that the registry has for it. An error: not_found, permission, or it cannot be reached.
base::Result<std::string> registry_digest(Engine& engine, const Reference& reference, const Login& login);

// Both tell the live output how they get on, and add to `log`. An error: what the registry says.
base::Result<void> pull(Engine& engine, const Reference& reference, const Login& login, std::string& log);
base::Result<void> push(Engine& engine, const Reference& reference, const Login& login, std::string& log);

// Gone, unless something uses it or another name leads to it; nothing is said then.
void remove_if_unused(Engine& engine, const std::string& id);

}  // namespace states::docker
