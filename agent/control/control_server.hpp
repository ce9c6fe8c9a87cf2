// ControlServer: how commands of the same machine talk to the daemon.
//
// A unix socket that only its owner may open. A client sends one JSON object in a line and gets one back; the
// connection then stays open until either side goes, so that a client can wait for the daemon's end. Belongs
// to its loop's thread; nothing that a client does holds the loop up.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "base/values/value.hpp"
#include "transport/async.hpp"
#include "transport/fd_watcher.hpp"

namespace agent::control {

class ControlServer {
 public:
  // Answers a request with JSON text, without newline.
  using Handler = std::function<std::string(const base::Value& request)>;

  // Listens at `path`; a socket that a dead daemon has left there is replaced.
  static base::Result<std::unique_ptr<ControlServer>> listen(transport::Loop& loop, const std::string& path,
                                                             Handler handler);
  ~ControlServer();

 private:
  struct Shared {
    Handler handler;
    int clients = 0;
  };
  ControlServer(transport::Loop& loop, std::string path, base::UniqueFd fd, Handler handler);
  static transport::Task<> accept(transport::Loop& loop, std::shared_ptr<transport::FdWatcher> listening,
                                  int fd, std::shared_ptr<Shared> shared);
  static transport::Task<> serve(transport::Loop& loop, base::UniqueFd client,
                                 std::shared_ptr<Shared> shared);

  const std::string path_;
  const base::UniqueFd fd_;
  const std::shared_ptr<transport::FdWatcher> watcher_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace agent::control
