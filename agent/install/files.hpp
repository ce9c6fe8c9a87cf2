// What install and uninstall do to the file system: everything lasts when a call returns, and can be done
// again after a kill. In folders that only root writes to. Blocks; any thread.
#pragma once

#include <string>
#include <vector>

#include "agent/install/manifest.hpp"
#include "base/result.hpp"

namespace agent::install {

bool is_there(const std::string& path);   // a link that leads nowhere, too
bool is_folder(const std::string& path);  // not through a link

// With its missing parents, 0755 whatever the umask is; what is there already is left as it is.
base::Result<void> make_folders(const std::string& path);

// `path` is a symlink to `target` from now on, in one step.
base::Result<void> make_durable_link(const std::string& path, const std::string& target);
// Where a link leads; empty: it is none.
std::string link_target(const std::string& path);

// The same bytes and this mode: true when something had to be written.
base::Result<bool> put_file(const std::string& path, std::string_view content, mode_t mode);

// The manifest's files and the manifest itself, checked while they are copied to `to`, which must not be
// there. Synced.
base::Result<void> copy_release(const std::string& from, const Manifest& manifest, const std::string& to);
// Files and folders of a release that somebody else unpacked: on disk when it returns.
base::Result<void> sync_release(const std::string& folder, const Manifest& manifest);

// A file or link; and a folder with all that is in it. Nothing there: fine.
base::Result<void> remove_name(const std::string& path);
base::Result<void> remove_tree(const std::string& path);
// True when it is gone: it was empty, or not there.
base::Result<bool> remove_empty_folder(const std::string& path);

// The names in a folder, sorted; none when it is not there.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace agent::install
