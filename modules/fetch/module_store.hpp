// ModuleStore: the folder modules/ of the state folder. Each commit that was fetched and verified stands
// there under its id, read-only, whole or not at all. See docs/formats.md.
//
// open() takes its lock: one fetch at a time, of one process. look() does not, and is for those who only use
// what is there: they do not wait for a fetch. A Checkout is held by whoever uses a commit, and keeps it from
// being removed, also by other processes. Blocks; one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "modules/git/intake.hpp"

namespace modules::fetch {

// A commit in use.
struct Checkout {
  std::string commit;
  std::string path;
  base::UniqueFd folder;  // with a shared lock
};

class ModuleStore {
 public:
  static constexpr std::size_t kKept = 5;  // commits, besides those in use

  // Makes the folder, which must be closed to others, waits for its lock (30 s at most), and removes what
  // was left behind by a fetch that was killed.
  static base::Result<ModuleStore> open(const std::string& state_dir, base::Interrupt& interrupt);

  // Without the lock: for use() alone. ErrorCode::not_found when nothing was ever fetched.
  static base::Result<ModuleStore> look(const std::string& state_dir);

  const std::string& path() const { return path_; }
  std::string records_path() const { return path_ + "/tags.json"; }

  // The commit, if it is there and nobody but us can have made it. ErrorCode::not_found; permission for one
  // that is not believed.
  base::Result<Checkout> use(const std::string& commit);
  std::vector<std::string> commits() const;

  // A fresh folder for a fetch, mode 0700, of this user (0: ours). remove() takes it away.
  base::Result<std::string> make_fetch_folder(std::uint32_t uid);
  base::Result<void> remove(const std::string& name);

  // Removes all but the last kKept that are not in use.
  base::Result<void> prune();

 private:
  friend class CheckoutWriter;
  ModuleStore(std::string path, base::UniqueFd folder, base::UniqueFd lock)
      : path_(std::move(path)), folder_(std::move(folder)), lock_(std::move(lock)) {}
  base::Result<void> remove_leftovers();

  std::string path_;
  base::UniqueFd folder_, lock_;  // the latter empty after look()
};

// Writes a commit as it is taken in, to a folder that has no name that anybody looks for; finish() makes it
// durable and read-only, and gives it its name. Without that, the destructor removes it.
class CheckoutWriter final : public ::modules::git::SnapshotSink {
 public:
  // `accept`: called with what the name stands for; an error ends the fetch.
  CheckoutWriter(ModuleStore& store,
                 std::function<base::Result<void>(const ::modules::git::Resolved&)> accept);
  ~CheckoutWriter() override;

  base::Result<void> on_resolved(const ::modules::git::Resolved& resolved) override;
  base::Result<void> on_tree(const std::vector<::modules::git::SnapshotEntry>& entries) override;
  base::Result<void> begin_file(const std::vector<std::size_t>& places, std::uint64_t size) override;
  base::Result<void> add_bytes(std::string_view bytes) override;
  base::Result<void> end_file() override;

  base::Result<void> finish(const ::modules::git::Snapshot& snapshot);

 private:
  base::Result<base::UniqueFd> make_file(const ::modules::git::SnapshotEntry& entry);

  ModuleStore& store_;
  const std::function<base::Result<void>(const ::modules::git::Resolved&)> accept_;
  std::string name_;  // of the folder under construction; "" when there is none
  base::UniqueFd folder_;
  std::vector<::modules::git::SnapshotEntry> entries_;
  base::UniqueFd file_;              // the first place of the file that is being written …
  std::vector<std::size_t> places_;  // … and all of them
};

}  // namespace modules::fetch
