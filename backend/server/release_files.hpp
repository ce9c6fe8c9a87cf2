// ReleaseFiles: the release folder, served at /releases/ to whoever asks (opsbackend --releases DIR).
//
// The documents are signed and the archives public, so nobody has to say who they are. Only regular files
// below the folder are served: no links, no hidden names. Belongs to the loop's thread. How many downloads
// there are at a time is limited, in all and for each address; memory is one piece for each.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backend/telemetry/metrics.hpp"
#include "transport/http.hpp"

namespace backend::server {

inline constexpr std::string_view kReleasesPrefix = "/releases/";

struct ReleaseLimits {
  // Bodies up to this size are answered whatever else is going on: documents, which agents look at every so
  // often.
  std::uint64_t small = 64 * 1024;
  // Each has a piece of 64 KiB in memory; and a fleet is done sooner when few at a time have the whole line.
  std::size_t downloads = 256;
  std::size_t downloads_per_address = 128;  // a site behind one address must not keep all others out
};

class ReleaseFiles {
 public:
  // `folder` "": nothing is served, and the answer says so.
  ReleaseFiles(std::string folder, telemetry::Metrics& metrics, ReleaseLimits limits = {});

  // Of a path that starts with kReleasesPrefix.
  transport::HttpResponse answer(const transport::HttpRequest& request);

  std::size_t downloads() const { return places_->in_all; }

  // When the offer of releases ends, as its document says; nobody has verified that here. Nothing: there is
  // none, or it cannot be read.
  std::optional<std::chrono::system_clock::time_point> timestamp_expires() const;

 private:
  struct Places {
    std::size_t in_all = 0;
    std::map<std::string, std::size_t> by_address;
  };
  std::shared_ptr<void> take_place(const std::string& address);

  const std::string folder_;
  telemetry::Metrics& metrics_;
  const ReleaseLimits limits_;
  const std::shared_ptr<Places> places_ = std::make_shared<Places>();  // outlives us in responses under way
};

}  // namespace backend::server
