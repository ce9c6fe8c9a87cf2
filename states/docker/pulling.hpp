// An image as its registry has it: what linux.docker.pulled is, and the first half of linux.docker.deploy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/docker/images.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"

namespace states::docker {

struct WantedImage {
  Reference reference;
  Login login;
  List containers;  // dropped when a new image has come
};

// A user without a password, or a password without a user.
base::Result<void> check_credentials(std::string_view user, std::string_view password);

// Adds to `plan` what pulling would do; answers the image that is there, if it is current. Asks the registry,
// pulls nothing.
base::Result<std::optional<Image>> plan_pull(Engine& engine, const WantedImage& wanted, Plan& plan);

struct Pulled {
  bool is_new = false;
  std::string comment;  // "New image …"
  std::string output;
};
base::Result<Pulled> pull_image(Engine& engine, const WantedImage& wanted);

}  // namespace states::docker
