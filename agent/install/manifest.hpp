// The manifest of a self-contained release: which files it has, and what they must contain. Reads only; any
// thread. Lines: "opsagent VERSION", "target linux ARCH", "glibc MINIMUM", "commit ID",
// "file SHA256 0755|0644 SIZE PATH".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace agent::install {

struct ManifestFile {
  std::string sha256;
  mode_t mode = 0644;
  std::uint64_t size = 0;
  std::string path;  // below the release's folder; leads nowhere else
};

struct Manifest {
  std::string version;
  std::string os, arch;
  std::string glibc;
  std::string commit;
  std::vector<ManifestFile> files;
};

inline constexpr const char* kManifestName = "manifest";

// Lines of kinds that we do not know are passed over: a later release may say more about itself.
base::Result<Manifest> parse_manifest(std::string_view text);

// FOLDER/manifest. ErrorCode::not_found: there is none.
base::Result<Manifest> read_manifest(const std::string& folder);

// What differs in the folder from what the manifest says, a line each; nothing: all is as it should be.
std::vector<std::string> check_files(const std::string& folder, const Manifest& manifest);

}  // namespace agent::install
