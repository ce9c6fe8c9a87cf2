// Engine: the engine of Docker on this machine, by its API (https://docs.docker.com/reference/api/engine).
//
// The socket is /var/run/docker.sock, or what DOCKER_HOST=unix://… in the agent's environment says. What the
// engine sends is bounded, and every call ends with the state's deadline or its interrupt.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/docker/unix_http.hpp"
#include "states/json/json_document.hpp"
#include "states/plan.hpp"
#include "states/prerequisites/prerequisite.hpp"

namespace states::docker {

// How long the engine may be silent: it looks something up; it stops a container or commits one.
inline constexpr std::chrono::seconds kLookup{60};
inline constexpr std::chrono::minutes kWork{10};

class Engine {
 public:
  explicit Engine(Context& context);

  // An error: "Docker daemon is not reachable: …".
  base::Result<void> ping();

  base::Result<HttpReply> call(const HttpRequest& request, std::chrono::milliseconds idle = kLookup,
                               const OnBody& on_body = {});
  // A JSON document; any status but 2xx is an error, with what the engine says.
  base::Result<json::JsonDocument> get(const std::string& target);
  // A call whose answer, if good, is of no interest. `fine`: a status besides 2xx that is as good.
  base::Result<void> act(const HttpRequest& request, int fine = 0, std::chrono::milliseconds idle = kWork);

  Context& context() { return context_; }

 private:
  Context& context_;
  base::Result<std::string> socket_;
};

// {"message": "…"} of a reply that is not good, or whatever it says; at most a few hundred bytes.
std::string message_of(const HttpReply& reply);
// not_found for 404, permission for 401 and 403, exists for 409, else io.
base::Error error_of(const HttpReply& reply);

// For plan(): whether the engine answers. If not, adds what apply will do about it: the package, the service.
// An error where nothing can be done. `module`: "linux.docker.pulled".
base::Result<bool> plan_engine(Engine& engine, std::string_view module, Plan& plan);
// For apply(), before anything is changed: installs and starts the engine, once, if it does not answer.
base::Result<prerequisites::Installation> ensure_engine(ApplyContext& context, Engine& engine,
                                                        std::string_view module);

// The effects by which states of Docker know of each other while a recipe is planned.
Effect image_effect(std::string_view reference);
Effect container_effect(std::string_view name);
// The earlier state that changes this image or container, or null.
const Overlay::Entry* earlier_change(const Context& context, const Effect& effect);

}  // namespace states::docker
