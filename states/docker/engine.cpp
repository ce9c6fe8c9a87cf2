#include "states/docker/engine.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/text.hpp"
#include "states/programs/tool_sequence.hpp"

namespace states::docker {

namespace {

constexpr std::string_view kDefaultSocket = "/var/run/docker.sock";
constexpr std::size_t kLongestMessage = 500;

base::Result<std::string> socket_path() {
  const char* const host = std::getenv("DOCKER_HOST");
  if (!host || !*host) return std::string(kDefaultSocket);
  constexpr std::string_view kUnix = "unix://";
  if (std::string_view(host).starts_with(kUnix)) return std::string(host + kUnix.size());
  return base::Error(base::ErrorCode::unsupported,
                     "DOCKER_HOST in the agent's environment is '" + base::quote_of(host) +
                         "': only a local engine can be used, unix:///path/of/its/socket");
}

prerequisites::Prerequisite engine_of(std::string_view module) {
  return {module, "dockerd", {"docker.io"}, {"docker", "moby-engine", "docker-ce"}};
}

bool has_systemd() {
  return ::access("/run/systemd/system", F_OK) == 0;
}

bool can_be_helped(const base::Error& error) {
  return error.code() == base::ErrorCode::not_found || error.code() == base::ErrorCode::io;
}

}  // namespace

Engine::Engine(Context& context) : context_(context), socket_(socket_path()) {}

base::Result<void> Engine::ping() {
  auto reply = call({.target = "/_ping"});
  const char* const kWhat = "Docker daemon is not reachable";
  if (!reply) return std::move(reply).error().with_context(kWhat);
  if (!reply->ok()) return error_of(*reply).with_context(kWhat);
  return {};
}

base::Result<HttpReply> Engine::call(const HttpRequest& request, std::chrono::milliseconds idle,
                                     const OnBody& on_body) {
  if (!socket_) return socket_.error();
  UnixHttp http(*socket_, context_.interrupt, context_.commands.deadline());
  return http.request(request, idle, on_body);
}

base::Result<json::JsonDocument> Engine::get(const std::string& target) {
  auto reply = call({.target = target});
  if (!reply) return std::move(reply).error();
  if (!reply->ok()) return error_of(*reply);
  return json::JsonDocument::parse(std::move(reply->body));
}

base::Result<void> Engine::act(const HttpRequest& request, int fine, std::chrono::milliseconds idle) {
  auto reply = call(request, idle);
  if (!reply) return std::move(reply).error();
  if (!reply->ok() && reply->status != fine) return error_of(*reply);
  return {};
}

std::string message_of(const HttpReply& reply) {
  std::string message;
  if (const auto document = json::JsonDocument::parse(reply.body))
    message = json::find_text(document->root(), {"message"});
  if (message.empty()) message = base::trim(reply.body);
  if (message.empty()) message = "HTTP " + std::to_string(reply.status);
  return base::cut_text(message, kLongestMessage);
}

base::Error error_of(const HttpReply& reply) {
  const base::ErrorCode code = reply.status == 404                          ? base::ErrorCode::not_found
                               : reply.status == 401 || reply.status == 403 ? base::ErrorCode::permission
                               : reply.status == 409                        ? base::ErrorCode::exists
                                                                            : base::ErrorCode::io;
  return {code, message_of(reply)};
}

base::Result<bool> plan_engine(Engine& engine, std::string_view module, Plan& plan) {
  const auto answer = engine.ping();
  if (answer) return true;
  if (!can_be_helped(answer.error())) return answer.error();
  auto planned = prerequisites::plan_program(engine.context(), engine_of(module), plan);
  if (!planned) return std::move(planned).error();
  plan.changes.push_back({.what = "service docker", .before = "not running", .after = "running"});
  plan.effects.push_back({.kind = EffectKind::unit, .name = "docker.service", .certain = false});
  return false;
}

base::Result<prerequisites::Installation> ensure_engine(ApplyContext& context, Engine& engine,
                                                        std::string_view module) {
  // What the engine is told to change, it changes for us: the journal is on disk by then.
  context.commands.begin_other_program();
  auto answer = engine.ping();
  if (answer) return prerequisites::Installation{};
  if (!can_be_helped(answer.error())) return std::move(answer).error();
  auto installed = prerequisites::ensure_program(context, engine_of(module));
  if (!installed) return installed;
  programs::ToolSequence tools(context.commands, !context.sensitive);
  // The package may have started it.
  if (!engine.ping()) {
    auto started = has_systemd() ? tools.run({"systemctl", "start", "docker"})
                                 : tools.run({"service", "docker", "start"});
    if (!started) return std::move(started).error().with_context(answer.error().message());
    installed->comment.append(installed->comment.empty() ? "" : "\n\n").append("Service docker started");
    installed->output += tools.output();
  }
  // It listens a moment later.
  for (int tries = 0; tries < 30; ++tries) {
    answer = engine.ping();
    if (answer || context.interrupt.requested()) break;
    ::usleep(500'000);
  }
  if (!answer) return std::move(answer).error();
  return installed;
}

Effect image_effect(std::string_view reference) {
  return {.kind = EffectKind::unit, .name = "docker image " + std::string(reference), .certain = false};
}

Effect container_effect(std::string_view name) {
  return {.kind = EffectKind::unit, .name = "docker container " + std::string(name), .certain = false};
}

const Overlay::Entry* earlier_change(const Context& context, const Effect& effect) {
  return context.overlay.empty() ? nullptr : context.overlay.find(effect.kind, effect.name);
}

}  // namespace states::docker
