// Api: the backend's HTTP interface, as opsctl needs it. The only header that knows there is HTTP below.
//
// Blocking; one thread. Errors are complete sentences for the user: what the backend said (its problem
// document, with one line per error) and what to do next.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/values/value.hpp"

namespace ctl {

// JSON with the memory that its values live in.
class Document {
 public:
  explicit Document(std::string text);
  const std::string& text() const { return content_->text; }
  const base::Value& root() const { return content_->root; }  // null when the text is not JSON

 private:
  struct Content {
    std::string text;
    base::Arena arena;
    base::Value root;
  };
  std::unique_ptr<Content> content_;
};

// How many rows a list has at most, unless --limit says otherwise: of things that people make, and of
// machines.
inline constexpr std::size_t kMostRows = 10'000;
inline constexpr std::size_t kMostMachines = 1'000'000;

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string path;  // below /api/v1, encoded: see path_part()
  Parameters parameters = {};
  std::string body = {};
  std::string content_type = "application/json";
  std::string if_match = {};
  std::string source = {};  // the file that the body is from, for problems that have lines
};

struct Reply {
  unsigned status = 0;
  std::string etag;
  std::string content_type;
  Document document;
};

// All pages of a list, up to a limit.
struct Listing {
  std::vector<Document> pages;
  std::vector<base::Value> items;  // live in the pages
  std::string next;                // "" when these are all
};

struct Event {
  std::string id;
  std::string type;
  Document data;
};

struct ApiTarget {
  std::string server;
  std::string token;
  std::string ca = {};  // PEM: who may vouch for the backend, for https
  std::chrono::seconds answer_timeout{60};
};

class Api {
 public:
  static base::Result<std::unique_ptr<Api>> make(ApiTarget target);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  base::Result<Reply> send(const Request& request);
  base::Result<Listing> list(std::string path, Parameters parameters, std::size_t limit);

  // A file that the backend serves beside its API ("/releases/…"), as it is.
  base::Result<std::string> file(const std::string& path);
  // SHA-256, in hex, of the public key that the backend has shown; empty without TLS, or before an answer.
  const std::string& server_key_hash() const;

  // Hands on events until `take` answers false, nothing was heard for `patience`, or the connection is lost.
  // `last_id` is where to continue, and is kept up to date. The error: the backend refuses.
  enum class StreamEnd { stopped, silent, lost };
  base::Result<StreamEnd> stream(const Parameters& parameters, std::string& last_id,
                                 std::chrono::milliseconds patience,
                                 const std::function<bool(const Event&)>& take);
  // Why the stream was lost.
  const std::string& loss() const { return loss_; }

  // When the access token ends, if the backend says that this is soon.
  const std::string& token_expires() const { return token_expires_; }
  // What the last answer says about who vouches for the backend: another text when they are others.
  const std::string& authorities() const { return authorities_; }

  // The last error means that there was no answer (exit status 3).
  bool unreachable() const { return unreachable_; }
  const std::string& server() const { return target_.server; }

 private:
  struct Client;
  explicit Api(ApiTarget target);

  ApiTarget target_;
  std::unique_ptr<Client> client_;
  bool unreachable_ = false;
  std::string authorities_;
  std::string loss_;
  std::string token_expires_;
};

// One part of a path, encoded.
std::string path_part(std::string_view text);

// What a problem document (RFC 9457) says, a line per error: "web.yaml:3:5: …" when they have lines.
std::string problem_text(const base::Value& problem, unsigned status, std::string_view source);

}  // namespace ctl
