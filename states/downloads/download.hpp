// Downloads for states: http and https, with the agent's proxy, redirects, certificates that are verified,
// limits of size and time, and an end when the state is cancelled.
//
// fetch() is for apply(): the whole file, in the agent's own folder (<state folder>/downloads, for root
// only), without a name by the time that the caller gets it. Nobody sees a part of it, and a process that is
// killed leaves at most a .part file, which the next attempt continues if the server can say that it is the
// same file, and which is removed after two days. look() is for plan(): writes nothing.
//
// All errors say "Cannot download <address>: <reason>", without names and passwords in addresses.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/downloads/checksum.hpp"

namespace states::downloads {

// Of one file. What is larger is no file of a recipe but somebody who fills the disk.
inline constexpr std::uint64_t kLargest = std::uint64_t(16) * 1024 * 1024 * 1024;
// For one file; the state's own time may end sooner.
inline constexpr std::chrono::seconds kLongest{600};

// For check(): an address that can be downloaded from. ftp:// is refused: it has no checks of any kind. See
// also source.hpp, which says whose files are believed.
base::Result<void> check_url(std::string_view url);

// The address for people: without name and password, and in a sensitive state without its query.
std::string shown_url(std::string_view url, const Context& context);

// The last part of an address's path, decoded: "app-1.0.tar.gz". "" when it has none.
std::string file_name_in(std::string_view url);

// What a server calls the state of a file; texts of its own.
struct Validators {
  std::string etag;
  std::string last_modified;

  bool empty() const { return etag.empty() && last_modified.empty(); }
};

// What a file is that was fetched in this round. All states of a round see the same.
struct Seen {
  std::string sha256;
  std::uint64_t size = 0;
};
std::optional<Seen> seen_in_this_round(Context& context, const std::string& url);
void remember_in_this_round(Context& context, const std::string& url, Seen seen);

// A file that is whole and right.
class Fetched {
 public:
  // Takes a mapping over.
  Fetched(std::string_view bytes, std::string sha256, Validators validators);
  ~Fetched();
  Fetched(Fetched&& other) noexcept;
  Fetched& operator=(Fetched&& other) noexcept;

  std::string_view bytes() const { return bytes_; }  // mapped, not read
  const std::string& sha256() const { return sha256_; }
  const Validators& validators() const { return validators_; }

 private:
  std::string_view bytes_;
  std::string sha256_;
  Validators validators_;
};

struct Wanted {
  std::string url;
  std::optional<Checksum> checksum = {};
  std::uint64_t limit = kLargest;
};
// What nobody vouches for is refused (source.hpp).
// Also "Checksum mismatch for <address>: wanted …, got …". ErrorCode::cancelled and timed_out as Commands
// says.
base::Result<Fetched> fetch(const Wanted& wanted, ApplyContext& context);

// What a look at a file has told.
struct Look {
  bool not_modified = false;             // the validators given still hold
  bool is_larger = false;                // than `most`; the rest was not asked for
  std::optional<std::string> content{};  // the whole file, if it is small
  Seen seen{};                           // of the whole file, unless one of the above
  Validators validators{};
};
// `known`: of a copy that is there; may be empty. `most`: more bytes make no difference to the caller.
// `keep`: content of so many bytes is kept. What nobody vouches for is refused (source.hpp).
base::Result<Look> look(const std::string& url, const Validators& known, std::uint64_t most, std::size_t keep,
                        Context& context);

// A small text, such as a file of checksums.
base::Result<std::string> fetch_text(const std::string& url, std::size_t limit, Context& context);

}  // namespace states::downloads
