// Containers that run as a specification says: what linux.docker.running is, and the second half of
// linux.docker.deploy.
//
// What a state has made carries two labels: the name that the recipe gives, and a fingerprint of the
// parameters. A container of a wanted name without them was made by somebody else: it is left alone as long
// as it runs. Containers without them are never removed because of their name alone.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "states/docker/container_spec.hpp"
#include "states/docker/containers.hpp"
#include "states/plan.hpp"

namespace states::docker {

struct WantedContainers {
  ContainerSpec spec;
  std::string state_id;
  bool force = false;  // all are made again
  // Those that this state made from another image than the name means now are made again.
  bool follow_image = false;
  bool restart = false;     // those that are not made again are restarted …
  std::string restart_why;  // … because of this: "changed: /etc/web.conf"
};

// Adds to `plan` what would be done; its message says what is there if nothing is. `image_to_come`: the image
// is pulled before, so that it need not be there yet, and what runs is dropped by then.
base::Result<void> plan_containers(Engine& engine, const WantedContainers& wanted, bool image_to_come,
                                   Plan& plan);

struct ContainersDone {
  std::string comment;  // of all that could be done
  std::string failure;  // of all that could not; "" when there is none
  std::string output;   // what containers that ended at once have printed

  Applied applied(const prerequisites::Installation& engine, std::string before = {}) &&;
};
// Looks again and makes it so. All containers are tried.
base::Result<ContainersDone> run_containers(Engine& engine, const WantedContainers& wanted);

}  // namespace states::docker
