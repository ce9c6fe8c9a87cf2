#include "states/docker/images.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "states/docker/progress.hpp"

namespace states::docker {

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

// What the engine calls its own public registry in logins.
std::string server_address(const Reference& reference) {
  const std::string registry = reference.registry();
  return registry == "docker.io" ? "https://index.docker.io/v1/" : registry;
}

std::string login_json(const Reference& reference, const Login& login) {
  return R"({"username":)" + base::json_quote(login.user) + R"(,"password":)" +
         base::json_quote(login.password) + R"(,"serveraddress":)" +
         base::json_quote(server_address(reference)) + "}";
}

// base64url with padding, as X-Registry-Auth has it.
std::string base64_url(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    const std::size_t left = std::min<std::size_t>(bytes.size() - at, 3);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= left ? kDigits[group >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

Headers auth_header(const Reference& reference, const Login& login) {
  return {{"X-Registry-Auth", base64_url(login.user.empty() ? "{}" : login_json(reference, login))}};
}

base::Result<void> transfer(Engine& engine, const HttpRequest& request, std::string& log) {
  Progress progress(engine.context().commands, log);
  auto reply = engine.call(request, kWork, [&](std::string_view piece) { return progress.take(piece); });
  if (!reply) return std::move(reply).error();
  if (!reply->ok()) return error_of(*reply);
  return progress.finish();
}

}  // namespace

bool Image::has_digest(std::string_view digest) const {
  return std::ranges::any_of(digests, [&](std::string_view known) {
    const std::size_t at = known.find('@');
    return at != known.npos && known.substr(at + 1) == digest;
  });
}

std::string short_id(std::string_view id) {
  const std::size_t colon = id.find(':');
  return std::string(id.substr(colon == id.npos ? 0 : colon + 1, 12));
}

base::Result<std::optional<Image>> find_image(Engine& engine, const std::string& reference) {
  auto document = engine.get("/images/" + percent_encoded(reference) + "/json");
  if (!document && document.error().code() == base::ErrorCode::not_found) return std::optional<Image>();
  if (!document) return std::move(document).error();
  const base::Value& root = document->root();
  return std::optional(Image{.id = json::find_text(root, {"Id"}),
                             .digests = json::find_texts(root, {"RepoDigests"}),
                             .commit_label = json::find_text(root, {"Config", "Labels", kCommitLabel})});
}

base::Result<void> check_login(Engine& engine, const Reference& reference, const Login& login) {
  if (login.user.empty()) return {};
  auto done = engine.act({.method = "POST", .target = "/auth", .body = login_json(reference, login)});
  if (done || done.error().code() == base::ErrorCode::cancelled) return done;
  return std::move(done).error().with_context("Login to " + reference.registry() + " as " + login.user +
                                              " failed");
}

base::Result<std::string> registry_digest(Engine& engine, const Reference& reference, const Login& login) {
  auto reply = engine.call({.target = "/distribution/" + percent_encoded(reference.text()) + "/json",
                            .headers = auth_header(reference, login)});
  if (!reply) return std::move(reply).error();
  if (!reply->ok()) return error_of(*reply);
  auto document = json::JsonDocument::parse(std::move(reply->body));
  if (!document) return std::move(document).error();
  return json::find_text(document->root(), {"Descriptor", "digest"});
}

base::Result<void> pull(Engine& engine, const Reference& reference, const Login& login, std::string& log) {
  return transfer(engine,
                  {.method = "POST",
                   .target = "/images/create?fromImage=" + percent_encoded(reference.name) + "&tag=" +
                             percent_encoded(reference.digest.empty() ? reference.tag : reference.digest),
                   .headers = auth_header(reference, login)},
                  log);
}

base::Result<void> push(Engine& engine, const Reference& reference, const Login& login, std::string& log) {
  return transfer(
      engine,
      {.method = "POST",
       .target = "/images/" + percent_encoded(reference.name) + "/push?tag=" + percent_encoded(reference.tag),
       .headers = auth_header(reference, login)},
      log);
}

void remove_if_unused(Engine& engine, const std::string& id) {
  (void)engine.act({.method = "DELETE", .target = "/images/" + percent_encoded(id)});
}

}  // namespace states::docker
