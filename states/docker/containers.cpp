#include "states/docker/containers.hpp"

#include <algorithm>

#include "base/output_text.hpp"

namespace states::docker {

namespace {

constexpr int kNotModified = 304;
constexpr int kNotFound = 404;

std::string path_of(const std::string& id, std::string_view what) {
  return "/containers/" + percent_encoded(id) + std::string(what);
}

// Who pauses a container (a backup, a commit) wants to go on with it.
bool is_up(std::string_view state) {
  return state == "running" || state == "paused";
}

// Output of a container without a terminal: pieces with a head of eight bytes, of which the last four are the
// length.
std::string joined_frames(std::string_view frames) {
  std::string text;
  while (frames.size() >= 8) {
    std::size_t size = 0;
    for (std::size_t i = 4; i < 8; ++i)
      size = size << 8 | static_cast<unsigned char>(frames[i]);
    frames.remove_prefix(8);
    text += frames.substr(0, size);
    frames.remove_prefix(std::min(size, frames.size()));
  }
  return text;
}

}  // namespace

base::Result<std::vector<Container>> list_containers(Engine& engine) {
  auto document = engine.get("/containers/json?all=1");
  if (!document) return std::move(document).error();
  std::vector<Container> containers;
  for (const base::Value& item : document->root().items()) {
    const Container container{.id = json::find_text(item, {"Id"}),
                              .name = {},
                              .is_running = is_up(json::find_text(item, {"State"})),
                              .status = json::find_text(item, {"Status"}),
                              .image_id = json::find_text(item, {"ImageID"}),
                              .made_for = json::find_text(item, {"Labels", kNameLabel}),
                              .fingerprint = json::find_text(item, {"Labels", kFingerprintLabel})};
    // Links give it further names: "/other/alias".
    for (const std::string& name : json::find_texts(item, {"Names"}))
      if (name.starts_with('/') && name.find('/', 1) == name.npos) {
        containers.push_back(container);
        containers.back().name = name.substr(1);
      }
  }
  return containers;
}

const Container* find_container(std::span<const Container> containers, std::string_view name) {
  const auto found = std::ranges::find(containers, name, &Container::name);
  return found == containers.end() ? nullptr : &*found;
}

base::Result<std::string> create_container(Engine& engine, const std::string& name, const std::string& json) {
  auto reply = engine.call(
      {.method = "POST", .target = "/containers/create?name=" + percent_encoded(name), .body = json}, kWork);
  if (!reply) return std::move(reply).error();
  if (!reply->ok()) return error_of(*reply);
  auto document = json::JsonDocument::parse(std::move(reply->body));
  if (!document) return std::move(document).error();
  return json::find_text(document->root(), {"Id"});
}

base::Result<void> start_container(Engine& engine, const std::string& id) {
  return engine.act({.method = "POST", .target = path_of(id, "/start")}, kNotModified);
}

base::Result<void> restart_container(Engine& engine, const std::string& id) {
  return engine.act({.method = "POST", .target = path_of(id, "/restart?t=10")});
}

base::Result<void> drop_container(Engine& engine, const std::string& id) {
  auto stopped = engine.act({.method = "POST", .target = path_of(id, "/stop?t=10")}, kNotModified);
  if (!stopped && stopped.error().code() == base::ErrorCode::not_found) return {};
  if (!stopped) return stopped;
  auto removed = engine.act({.method = "DELETE", .target = path_of(id, "?force=1")}, kNotFound);
  // Somebody else removes it just now.
  if (!removed && removed.error().code() == base::ErrorCode::exists) return {};
  return removed;
}

base::Result<std::optional<int>> exit_code_of(Engine& engine, const std::string& id) {
  auto document = engine.get(path_of(id, "/json"));
  if (!document) return std::move(document).error();
  const base::Value* running = json::find_value(document->root(), {"State", "Running"});
  if (running && running->as_bool().value_or(false)) return std::optional<int>();
  const base::Value* code = json::find_value(document->root(), {"State", "ExitCode"});
  return std::optional(static_cast<int>(code ? code->as_integer().value_or(-1) : -1));
}

std::string last_output(Engine& engine, const std::string& id) {
  auto reply = engine.call({.target = path_of(id, "/logs?stdout=1&stderr=1&tail=20")});
  return reply && reply->ok() ? base::clean_output(joined_frames(reply->body)) : std::string();
}

std::vector<std::string> named(std::span<const Container> containers,
                               std::span<const std::string_view> names) {
  std::vector<std::string> found;
  for (const std::string_view name : names) {
    if (find_container(containers, name)) {
      found.emplace_back(name);
      continue;
    }
    for (int number = 1;; ++number) {
      std::string numbered = std::string(name) + "_" + std::to_string(number);
      if (!find_container(containers, numbered)) break;
      found.push_back(std::move(numbered));
    }
  }
  return found;
}

base::Result<std::vector<std::string>> drop_named(Engine& engine, std::span<const std::string_view> names) {
  auto containers = list_containers(engine);
  if (!containers) return std::move(containers).error();
  std::vector<std::string> dropped = named(*containers, names);
  for (const std::string& name : dropped)
    if (auto done = drop_container(engine, find_container(*containers, name)->id); !done)
      return std::move(done).error().with_context("Container " + name);
  return dropped;
}

}  // namespace states::docker
