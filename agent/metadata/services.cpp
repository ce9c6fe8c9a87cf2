// The metadata services of clouds, over plain HTTP to a link-local address: EC2 and OpenStack.
#include <algorithm>

#include "agent/metadata/source.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "transport/client/http_client.hpp"

namespace agent::metadata {

namespace {

using namespace std::chrono_literals;
using base::Error;
using base::ErrorCode;
using base::Result;
using transport::HttpReply;

constexpr unsigned kFine = 200;
constexpr unsigned kForbidden = 403;
constexpr unsigned kNotFound = 404;
constexpr unsigned kNoSuchMethod = 405;
constexpr std::size_t kLongestToken = 1024;

// 5 s in all for a request; the address is next door. No proxy, no redirects: what answers elsewhere is not
// the machine's cloud.
Result<transport::HttpClientOptions> client_options(const SourceOptions& options) {
  auto uri = transport::parse_uri(options.url);
  if (!uri) return std::move(uri).error().with_context("metadata_url");
  return transport::HttpClientOptions{.server = std::move(*uri),
                                      .user_agent = "opsagent",
                                      .max_body = kLargestUserdata,
                                      .resolve_timeout = 1s,
                                      .connect_timeout = 1s,
                                      .answer_timeout = 3s};
}

class Service {
 public:
  explicit Service(transport::HttpClientOptions options) : client_(std::move(options)) {}

  // The reply, whatever its status; a server that is in trouble may get out of it.
  Result<HttpReply> ask(std::string method, std::string target, transport::Headers headers) {
    transport::HttpCall call{
        .method = std::move(method), .target = std::move(target), .headers = std::move(headers)};
    auto reply = client_.request(std::move(call));
    constexpr unsigned kServerTrouble = 500;
    if (reply && reply->status >= kServerTrouble)
      return Error(ErrorCode::io, "it answered with status " + std::to_string(reply->status));
    // "not found" is what a name that does not resolve is called: it may resolve later.
    if (!reply && reply.error().code() == ErrorCode::not_found)
      return Error(ErrorCode::io, reply.error().message());
    return reply;
  }

  Result<std::string> get(const std::string& target, const transport::Headers& headers) {
    auto reply = ask("GET", target, headers);
    if (!reply) return std::move(reply).error();
    if (reply->status == kFine) return std::move(reply->body);
    return Error(ErrorCode::not_found, target + " was answered with status " + std::to_string(reply->status));
  }

  // What need not be there: a machine may have no userdata.
  Result<std::string> get_optional(const std::string& target, const transport::Headers& headers) {
    auto reply = ask("GET", target, headers);
    if (!reply) return std::move(reply).error();
    if (reply->status == kFine) return std::move(reply->body);
    if (reply->status == kNotFound) return std::string();
    return Error(ErrorCode::not_found, target + " was answered with status " + std::to_string(reply->status));
  }

 private:
  transport::HttpClient client_;
};

// The headers of a session (IMDSv2), or none where the service knows only version 1.
//
// Version 1 only after an answer that says so: 403, 404 and 405 are what services without sessions say to
// PUT. Silence is not such an answer. Whoever can drop packets could make us go back to the version that any
// confused program of this machine can be led to ask; and a network that is not up yet is silent as well.
Result<transport::Headers> open_session(Service& service) {
  auto reply = service.ask("PUT", "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "60"}});
  if (!reply) return std::move(reply).error();
  if (reply->status == kForbidden || reply->status == kNotFound || reply->status == kNoSuchMethod)
    return transport::Headers();
  if (reply->status != kFine)
    return Error(ErrorCode::not_found, "a session was refused with status " + std::to_string(reply->status));
  const std::string token(base::trim(reply->body));
  const bool plain = !token.empty() && token.size() <= kLongestToken &&
                     std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain) return Error(ErrorCode::invalid, "its session token cannot be used");
  return transport::Headers{{"X-aws-ec2-metadata-token", token}};
}

}  // namespace

Result<Metadata> read_ec2(const SourceOptions& options) {
  auto way = client_options(options);
  if (!way) return std::move(way).error();
  Service service(std::move(*way));
  const auto headers = open_session(service);
  if (!headers) return headers.error();
  auto id = service.get("/latest/meta-data/instance-id", *headers);
  if (!id) return std::move(id).error();
  auto userdata = service.get_optional("/latest/user-data", *headers);
  if (!userdata) return std::move(userdata).error();
  return finished({.instance_id = std::string(base::trim(*id)), .userdata = std::move(*userdata)});
}

Result<Metadata> read_openstack(const SourceOptions& options) {
  auto way = client_options(options);
  if (!way) return std::move(way).error();
  Service service(std::move(*way));
  const auto text = service.get("/openstack/latest/meta_data.json", {});
  if (!text) return text.error();
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  const base::Value* uuid = root ? root->find("uuid") : nullptr;
  if (!uuid || !uuid->is_text()) return Error(ErrorCode::invalid, "its meta_data.json has no uuid");
  auto userdata = service.get_optional("/openstack/latest/user_data", {});
  if (!userdata) return std::move(userdata).error();
  return finished({.instance_id = std::string(uuid->text()), .userdata = std::move(*userdata)});
}

}  // namespace agent::metadata
