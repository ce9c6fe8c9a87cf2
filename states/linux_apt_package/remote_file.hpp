// Package files that come from a server: fetched when they are to be installed, and remembered by their
// address, so that a package that is installed needs neither the server nor a program to be told so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/downloads/local_file.hpp"
#include "states/linux_apt_package/entry.hpp"

namespace states::linux_apt_package {

// Whether the entry's file is an address.
bool is_remote(const Entry& entry);

// The entry with the name and version that the file had when it was installed last; nothing when it never
// was, by what is known here.
std::optional<Entry> remembered_file(const Entry& entry, const Context& context);

// Files that are there as long as this lives.
class RemoteFiles {
 public:
  explicit RemoteFiles(ApplyContext& context) : context_(context) {}
  ~RemoteFiles();
  RemoteFiles(const RemoteFiles&) = delete;
  RemoteFiles& operator=(const RemoteFiles&) = delete;

  // The entry with a local file in the place of the address, and what that file says. Errors: "Cannot
  // download …", "<address> is not a Debian package: …".
  base::Result<Entry> fetch(const Entry& entry);

  // The same for a file of this machine with a checksum, whoever can change it: what is installed is a copy.
  // The entry has the name and version that were planned.
  base::Result<Entry> copy(const Entry& entry);

  // All that were fetched are installed now.
  void remember() const;

 private:
  struct Kept {
    Entry asked;
    Entry entry;
  };
  ApplyContext& context_;
  std::vector<Kept> kept_;
  std::vector<downloads::OwnCopy> copies_;
};

}  // namespace states::linux_apt_package
