// Where a state gets a file from, and who vouches for it. Over http anybody on the way can send another file,
// and what a state puts in place is soon run by root. So nothing is taken from http unless somebody else says
// what it must be: a checksum in the recipe; or the agent's own configuration lists the host
// (allow_unverified_http).
//
// fetch() and look() ask check_vouched() themselves, so that no state can forget it; states ask it in their
// plan, too, where that does not ask the server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/downloads/checksum.hpp"

namespace states::downloads {

// The text without the checksum behind it, if there is one: "/srv/x.deb" of "/srv/x.deb#sha256=…".
std::string_view without_checksum(std::string_view text);

struct Source {
  std::string url;  // without the fragment; of a file of this machine its path
  std::optional<Checksum> checksum{};
};

// An address of a recipe, which may say behind a # what the file must be:
// "https://host/file#sha256=<digits>". Other fragments mean nothing. Errors: those of check_url(), a checksum
// that is none, or that is neither sha256 nor sha512.
base::Result<Source> parse_source(std::string_view text);

// The same for a file of this machine, "/srv/x.deb#sha256=…" or "file:///srv/x.deb": a clean_path.
base::Result<Source> parse_local(std::string_view text);

// Whether what comes from there may be believed. `how`: the way for this state to say what it must be.
inline constexpr std::string_view kByFragment =
    "write its checksum behind the address, #sha256=… as sha256sum prints it for a copy that you trust";
base::Result<void> check_vouched(std::string_view url, bool has_checksum, const Context& context,
                                 std::string_view how = kByFragment);

}  // namespace states::downloads
