// HTTP as values: what servers, clients and handlers pass around.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "transport/task.hpp"
#include "transport/tls.hpp"

namespace transport {

struct Header {
  std::string name;
  std::string value;
};
using Headers = std::vector<Header>;

// The value of the first header of that name, in any case; empty when there is none.
std::string_view find_header(const Headers& headers, std::string_view name);

// %41 -> A (and + -> blank, in a query). Nothing when it is malformed or hides a NUL.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank);
// The reverse, for one part of a path or query.
std::string percent_encode(std::string_view text);

// The place that a connection takes among those of which the server does not know who is there. They have
// limits, and have to give way to each other when there is no room.
class ClientPlace {
 public:
  virtual ~ClientPlace() = default;
  // Whom the server serves is at this address: for a while it comes before strangers where there is little
  // room.
  virtual void remember() = 0;
  // It is known who is there: remembers, and the connection takes no place any more.
  virtual void admit() = 0;
};

using Query = std::multimap<std::string, std::string>;

struct HttpRequest {
  std::string method;  // GET, POST …
  std::string path;    // decoded, without the query
  Query query;         // decoded
  Headers headers;
  std::string body;
  std::string peer;  // "address:port"
  // While an upgrade's handler holds this the connection counts against the limit of its address, until
  // admit(). Null in tests.
  std::shared_ptr<ClientPlace> place = {};
  bool secure = false;                                      // came over TLS
  std::shared_ptr<const PeerCertificate> certificate = {};  // null: the client has shown none
  std::shared_ptr<void> held = {};                          // by HttpServerOptions::body_limit

  std::string_view header(std::string_view name) const { return find_header(headers, name); }
  // The first value of that name; empty when there is none.
  std::string_view parameter(const std::string& name) const;
};

// Fills path and query from a request's target, a path or a whole URI; false when it is malformed. The path
// begins with "/", or is "*" (OPTIONS *).
bool split_target(std::string_view target, HttpRequest& request);

// Where a streaming response goes. send() returns when the system has taken the chunk; its error means that
// the client is gone or did not read in time, and that the stream should return.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual Task<base::Result<void>> send(std::string chunk) = 0;
  // The client has gone or the server is stopping: the stream should return.
  virtual bool ended() const = 0;
  // Called once, when that becomes true: wakes a stream that waits for something to send.
  virtual void on_end(std::function<void()> wake) = 0;
};

// A part of an open regular file as the body of a response. It is read as the client takes it, a piece at a
// time, on the loop's thread: for files of a local disk.
struct FileBody {
  base::UniqueFd fd;
  std::uint64_t first = 0;                     // where the body begins in the file
  std::uint64_t size = 0;                      // of the body
  std::shared_ptr<void> held = {};             // let go of when it is sent, or the client has gone
  std::function<void(std::size_t)> sent = {};  // may be empty: called for each piece that the system took
};

struct HttpResponse {
  unsigned status = 200;
  Headers headers;  // Content-Length, Date, Connection are added
  std::string body;
  std::shared_ptr<FileBody> file = {};  // when set: instead of `body`
  // When set: after the headers this sends the body in chunks, until it returns.
  std::function<Task<>(EventSink&)> stream;
  std::shared_ptr<void> held = {};  // let go of when it is sent, or the client has gone
};

// One server-sent event.
struct ServerEvent {
  std::string id;
  std::string event;  // "message" when the server named none
  std::string data;
};

// "id: …\nevent: …\ndata: …\n\n", for EventSink::send(). Line breaks in data are kept, in the others dropped.
// Not a ServerEvent, because g++ 12 destroys an aggregate that is made inside a co_await expression twice.
std::string format_event(std::string_view id, std::string_view event, std::string_view data);

// The reverse, as bytes come in.
class EventParser {
 public:
  explicit EventParser(std::size_t max_event) : max_event_(max_event) {}

  enum class Outcome { more, stopped, too_large };

  // Calls `sink` for every whole event; it answers false to stop.
  Outcome feed(std::string_view bytes, const std::function<bool(const ServerEvent&)>& sink);

 private:
  void take_line(std::string_view line);
  bool dispatch(const std::function<bool(const ServerEvent&)>& sink);

  const std::size_t max_event_;
  std::string line_;
  bool after_return_ = false;
  bool has_data_ = false;
  ServerEvent event_;
  std::string last_id_;
};

}  // namespace transport
