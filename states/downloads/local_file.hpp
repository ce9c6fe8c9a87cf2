// Files of this machine that root is to install: whoever can change one is root afterwards.
//
// So either nobody else can change it, neither the file nor the way to it; or the recipe says what it must be
// by a checksum. Then it is copied to the agent's own folder through one descriptor, and the copy is what is
// looked at and installed.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/downloads/checksum.hpp"

namespace states::downloads {

// For plan: an error says who else can change the file, or "Checksum mismatch for <path>: wanted …, got …".
base::Result<void> check_local(const std::string& path, const std::optional<Checksum>& checksum,
                               Context& context);

// A copy for root only, gone with this object. What a killed process leaves goes with the next copy of that
// file.
class OwnCopy {
 public:
  // `ending`: of its name, ".deb".
  static base::Result<OwnCopy> make(const std::string& path, const Checksum& checksum,
                                    std::string_view ending, ApplyContext& context);
  ~OwnCopy();
  OwnCopy(OwnCopy&& other) noexcept;
  OwnCopy& operator=(OwnCopy&& other) noexcept;

  const std::string& path() const { return path_; }

 private:
  explicit OwnCopy(std::string path) : path_(std::move(path)) {}
  std::string path_;  // "": moved from
};

}  // namespace states::downloads
