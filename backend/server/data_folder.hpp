// DataFolder: where the backend keeps what must last. One backend at a time, nobody else's eyes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace backend::server {

class DataFolder {
 public:
  // Makes the folder (0700) when it is not there and locks it. The error names the process that has it.
  // Refused: one that is not ours, or that others could put another in the place of
  // (base/files/private_folder.hpp).
  static base::Result<DataFolder> open(std::string path);

  const std::string& path() const { return path_; }
  std::string database() const { return path_ + "/opsbackend.db"; }
  std::string token_file() const { return path_ + "/admin.token"; }
  std::string authority_file() const { return path_ + "/ca.pem"; }    // with its key
  std::string certificate_file() const { return path_ + "/ca.crt"; }  // for everybody

  // The administrator's token; made (0600) when there is none. One that people put there is taken as it is.
  base::Result<std::string> admin_token() const;
  // Whole or not at all, 0600.
  base::Result<void> write_private(const std::string& name, std::string_view content) const;

 private:
  DataFolder(std::string path, base::UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::UniqueFd lock_;  // the kernel lets go of it when we die, however we die
};

}  // namespace backend::server
