#include "ctl/api.hpp"

#include <algorithm>
#include <thread>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "ctl/fields.hpp"
#include "terminal/wrap.hpp"
#include "transport/client/http_client.hpp"
#include "transport/tls.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestPage = 1000;  // the backend gives no more at a time
constexpr std::string_view kPrefix = "/api/v1";
constexpr int kPatientTries = 4;            // when the backend says "too many"
constexpr std::int64_t kLongestPause = 10;  // seconds that it may ask for

std::string target_of(std::string_view path, const Parameters& parameters) {
  std::string target = std::string(kPrefix) + std::string(path);
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    target += separator;
    target += transport::percent_encode(name) + "=" + transport::percent_encode(value);
    separator = '&';
  }
  return target;
}

// ErrorCode::invalid is kept for wrong usage of opsctl itself.
ErrorCode code_for(unsigned status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::permission;
    case 404:
      return ErrorCode::not_found;
    case 409:
    case 412:
      return ErrorCode::exists;
    case 413:
      return ErrorCode::limit;
    default:
      return ErrorCode::io;
  }
}

std::string_view advice(unsigned status, bool had_token) {
  if (status == 401 && !had_token)
    return "\nno access token was found: 'opsctl login --token-file FILE' stores one; the backend keeps its "
           "first in "
           "admin.token of its data folder";
  if (status == 401)
    return "\nthe access token is not the right one: 'opsctl login --token-file FILE' stores another";
  if (status == 403) return "\nthis access token may not: 'opsctl token list' shows what others may";
  if (status == 429) return "\nwait a moment, then try again";
  if (status == 412) return "\nsomebody else has changed it in the meantime: look again, then try again";
  if (status == 503) return "\nthe backend is starting, stopping or overloaded: try again in a moment";
  return "";
}

Error unreachable_error(const std::string& server, const Error& error) {
  // What the transport guesses is said below, with the program's name.
  constexpr std::string_view kGuess = ": is the backend running?";
  std::string why = error.message();
  if (why.ends_with(kGuess)) why.resize(why.size() - kGuess.size());
  return Error(ErrorCode::io,
               "cannot reach the backend at " + server + ": " + why +
                   (error.code() == ErrorCode::permission
                        ? "\nif the backend's authority was changed: 'opsctl login --ca FILE' with the file "
                          "ca.crt of its data folder"
                        : "\nis opsbackend running?") +
                   "\n--server URL (or OPSCTL_SERVER) names another backend; 'opsctl login' remembers one");
}

}  // namespace

Document::Document(std::string text) : content_(std::make_unique<Content>()) {
  content_->text = std::move(text);
  auto parsed = base::parse_json(content_->text, content_->arena);
  if (const auto* root = std::get_if<base::Value>(&parsed)) content_->root = *root;
}

struct Api::Client {
  explicit Client(const transport::HttpClientOptions& the_options)
      : options(the_options), http(the_options) {}
  const transport::HttpClientOptions options;
  transport::HttpClient http;
};

namespace {

// The one place where https gets what it needs: `ca` becomes the trust of the client's TLS.
Result<void> add_tls(transport::HttpClientOptions& options, const std::string& ca) {
  if (!options.server.secure()) return {};
  if (ca.empty())
    return Error(
        ErrorCode::invalid,
        "https needs to know the backend's authority: give the file ca.crt of the backend's data folder "
        "('opsctl login --ca FILE' remembers it)\n"
        "is opsbackend running? One that was started in this folder is found by itself, by "
        "./opsbackend-data; 'opsctl ready' waits for it");
  auto tls = transport::TlsClient::make({.ca = ca});
  if (!tls) return std::move(tls).error();
  options.tls = std::move(*tls);
  return {};
}

}  // namespace

Result<std::unique_ptr<Api>> Api::make(ApiTarget target) {
  auto uri = transport::parse_uri(target.server);
  if (!uri) return Error(ErrorCode::invalid, "--server: " + uri.error().message());
  if (uri->scheme != "http" && uri->scheme != "https")
    return Error(ErrorCode::invalid,
                 "--server must start with http:// or https://, not '" + target.server + "'");
  if (!uri->secure() && !target.token.empty() && !uri->is_local())
    return Error(ErrorCode::invalid,
                 "the access token is not sent over plain http but to this machine (127.0.0.1, [::1] or "
                 "localhost): use https://" +
                     uri->authority() + " (with --ca)");
  if (!uri->secure() && !target.token.empty() && !target.ca.empty())
    return Error(ErrorCode::invalid,
                 "there is an authority to know the backend by (--ca), and http:// asks for no proof: use "
                 "https://" +
                     uri->authority());
  transport::HttpClientOptions options{.server = std::move(*uri), .answer_timeout = target.answer_timeout};
  options.headers.push_back({"Accept", "application/json"});
  if (!target.token.empty()) options.headers.push_back({"Authorization", "Bearer " + target.token});
  if (auto added = add_tls(options, target.ca); !added) return std::move(added).error().with_context("--ca");
  std::unique_ptr<Api> api(new Api(std::move(target)));
  api->client_ = std::make_unique<Client>(options);
  return api;
}

Api::Api(ApiTarget target) : target_(std::move(target)) {}
Api::~Api() = default;

Result<Reply> Api::send(const Request& request) {
  transport::HttpCall call{.method = request.method, .target = target_of(request.path, request.parameters)};
  if (!request.body.empty() || request.method != "GET")
    call.headers.push_back({"Content-Type", request.content_type});
  if (!request.if_match.empty()) call.headers.push_back({"If-Match", request.if_match});
  call.body = request.body;
  auto answered = client_->http.request(call);
  // Whoever shares the token may have used it up for this second: nothing was done, so it is asked again.
  for (int tries = 1; answered && answered->status == 429 && tries < kPatientTries; ++tries) {
    const auto wait = base::parse_integer(answered->header("Retry-After")).value_or(0);
    if (wait < 1 || wait > kLongestPause) break;
    std::this_thread::sleep_for(std::chrono::seconds(wait));
    answered = client_->http.request(call);
  }
  unreachable_ = !answered;
  if (!answered) return unreachable_error(target_.server, answered.error());
  if (const auto expires = answered->header("Token-Expires"); !expires.empty()) token_expires_ = expires;
  authorities_ = answered->header("OpsAgent-Authorities");
  Reply reply{.status = answered->status,
              .etag = std::string(answered->header("ETag")),
              .content_type = std::string(answered->header("Content-Type")),
              .document = Document(std::move(answered->body))};
  if (reply.status >= 200 && reply.status < 300) {
    if (reply.document.text().empty() || !reply.document.root().is_null()) return reply;
    return Error(ErrorCode::io, "what answers at " + target_.server +
                                    " is no backend of ours: it sent no JSON for " + request.path +
                                    "\n--server URL (or OPSCTL_SERVER) names another");
  }
  return Error(code_for(reply.status), problem_text(reply.document.root(), reply.status, request.source) +
                                           std::string(advice(reply.status, !target_.token.empty())));
}

Result<std::string> Api::file(const std::string& path) {
  auto answered = client_->http.request({.target = path});
  unreachable_ = !answered;
  if (!answered) return unreachable_error(target_.server, answered.error());
  if (answered->status == 200) return std::move(answered->body);
  const Document document(std::move(answered->body));
  return Error(code_for(answered->status), path + ": " + problem_text(document.root(), answered->status, ""));
}

const std::string& Api::server_key_hash() const {
  return client_->http.server_key_hash();
}

Result<Listing> Api::list(std::string path, Parameters parameters, std::size_t limit) {
  Listing listing;
  std::string after;
  do {
    Request request{.path = path, .parameters = parameters};
    request.parameters.emplace_back("limit",
                                    std::to_string(std::min(limit - listing.items.size(), kLargestPage)));
    if (!after.empty()) request.parameters.emplace_back("after", after);
    auto reply = send(request);
    if (!reply) return std::move(reply).error();
    const base::Value& root = reply->document.root();
    const auto items = items_field(root, "items");
    listing.items.insert(listing.items.end(), items.begin(), items.end());
    const std::string next = text_field(root, "next");
    if (next == after && !next.empty())  // or it would go on for ever
      return Error(ErrorCode::internal, "the backend gave the same page twice: " + path);
    after = next;
    listing.pages.push_back(std::move(reply->document));
  } while (!after.empty() && listing.items.size() < limit);
  listing.next = after;
  if (listing.items.size() > limit) listing.items.resize(limit);
  return listing;
}

Result<Api::StreamEnd> Api::stream(const Parameters& parameters, std::string& last_id,
                                   std::chrono::milliseconds patience,
                                   const std::function<bool(const Event&)>& take) {
  transport::HttpClientOptions options = client_->options;
  options.stream_idle_timeout = patience;
  transport::HttpClient http(options);
  bool stopped = false;
  transport::HttpCall call{.target = target_of("/events", parameters)};
  auto ended = http.stream(std::move(call), last_id, [&](const transport::ServerEvent& event) {
    if (!event.id.empty()) last_id = event.id;
    stopped = !take(Event{.id = event.id, .type = event.event, .data = Document(event.data)});
    return !stopped;
  });
  if (stopped) return StreamEnd::stopped;
  if (!ended) {
    loss_ = ended.error().message();
    return ended.error().code() == ErrorCode::timed_out ? StreamEnd::silent : StreamEnd::lost;
  }
  if (ended->status != 200) {
    const Document document(std::move(ended->body));
    if (ended->status >= 500) {
      loss_ = problem_text(document.root(), ended->status, "");
      return StreamEnd::lost;
    }
    return Error(code_for(ended->status), problem_text(document.root(), ended->status, "") +
                                              std::string(advice(ended->status, !target_.token.empty())));
  }
  loss_ = "the backend ended the connection";
  return StreamEnd::lost;
}

std::string path_part(std::string_view text) {
  return transport::percent_encode(text);
}

std::string problem_text(const base::Value& problem, unsigned status, std::string_view source) {
  std::string text = text_field(problem, "detail");
  if (text.empty()) text = text_field(problem, "title");
  if (text.empty()) text = "the backend answered with status " + std::to_string(status);
  for (const base::Value& error : items_field(problem, "errors")) {
    // Of several files, the error says which.
    const std::string named = text_field(error, "source");
    if (named.empty() && !field(error, "field").is_null())
      continue;  // of our own request: said in the detail
    text += '\n';
    if (const std::string_view place = named.empty() ? source : std::string_view(named); !place.empty()) {
      text.append(place).append(":");
      if (const std::int64_t line = number_field(error, "line"); line > 0)
        text += std::to_string(line) + ":" + std::to_string(number_field(error, "column", 1)) + ":";
      text += ' ';
    }
    if (const std::string member = text_field(error, "field"); !member.empty())
      text += member.substr(member.rfind('.') + 1) + " ";
    if (const std::string id = text_field(error, "state_id"); !id.empty()) text += "state '" + id + "': ";
    text += error.is_object() ? text_field(error, "message") : text_of(error);
  }
  return terminal::printable(text, true);
}

}  // namespace ctl
