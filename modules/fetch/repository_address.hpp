// Addresses of module repositories, and names of tags: what may be asked for at all. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace modules::fetch {

enum class Scheme { https, ssh, file, git };

struct RepositoryAddress {
  Scheme scheme = Scheme::https;
  std::string text;  // as it is fetched and remembered: "git@host:path" has become "ssh://git@host/path"
  std::string host;  // in lower case, without brackets; "" for a file
  std::uint16_t port = 0;
  std::string path;
};

// https and ssh; file and git only if `also_allowed` names them. Refused: anything that begins with a dash,
// helpers ("ext::"), plain http, passwords in the address (credentials belong to the configuration).
base::Result<RepositoryAddress> parse_repository(std::string_view text,
                                                 const std::vector<std::string>& also_allowed);

// Whether git would take it for the name of a tag or branch, and nothing else would take it for an option.
base::Result<void> check_tag_name(std::string_view tag);

}  // namespace modules::fetch
