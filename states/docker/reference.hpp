// References to images: "[registry/]name[:tag]" or "…@sha256:…". Text only.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace states::docker {

struct Reference {
  std::string name;    // "127.0.0.1:5000/ops/web"
  std::string tag;     // "latest" where none was given; "" with a digest
  std::string digest;  // "sha256:…"; "" for none

  std::string text() const { return digest.empty() ? name + ":" + tag : name + "@" + digest; }
  // The part before the first "/" if that is a host, else "docker.io".
  std::string registry() const;
};

// `tag`: given beside it, and wins over one in `repo`. `param`: for the error, "Illegal value for 'repo'".
base::Result<Reference> parse_reference(std::string_view repo, std::string_view tag, std::string_view param);

// Whether it can be a container's name.
bool is_container_name(std::string_view name);

}  // namespace states::docker
