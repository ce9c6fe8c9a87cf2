#include "agent/engine/control/once_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/unique_fd.hpp"
#include "base/utc_text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"

namespace agent::engine {

namespace {

using base::Result;
using base::Value;

constexpr std::size_t kLargestOnceFile = 32 * 1024 * 1024;
constexpr off_t kLargestEntry = 16 * 1024;

std::string member_of(const Value& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? std::string(value->text()) : std::string();
}

// Held for a moment only.
Result<base::UniqueFd> lock_for_a_moment(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return base::os_error(errno, "cannot open " + path);
  while (::flock(fd.get(), LOCK_EX) != 0)
    if (errno != EINTR) return base::os_error(errno, "cannot lock " + path);
  return fd;
}

}  // namespace

Result<void> OnceStore::read() {
  struct stat st {};
  if (::stat(path_.c_str(), &st) != 0) {
    if (errno != ENOENT) return base::os_error(errno, "cannot read " + path_);
    known_.clear();
    changed_ns_ = -1;
    size_ = 0;
    return {};
  }
  size_ = st.st_size;
  const std::int64_t changed =
      static_cast<std::int64_t>(st.st_ctim.tv_sec) * 1'000'000'000 + st.st_ctim.tv_nsec;
  if (changed == changed_ns_ && st.st_ino == inode_) return {};
  auto text = base::read_file(path_, kLargestOnceFile);
  if (!text) return std::move(text).error();
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<Value>(&parsed);
  const Value* list = root ? root->find("done") : nullptr;
  if (!list || !list->is_list())
    return base::Error(base::ErrorCode::invalid,
                       path_ +
                           " is damaged, so nobody knows what was done once: put it back from a backup, or "
                           "remove it, and all of that is done again");
  std::vector<DoneOnce> all;
  for (const Value& each : list->items()) {
    const auto at = base::parse_utc(member_of(each, "at"));
    all.push_back({.root = member_of(each, "root"),
                   .id = member_of(each, "state"),
                   .key = member_of(each, "key"),
                   .at = at.value_or(std::chrono::system_clock::time_point()),
                   .report = member_of(each, "report")});
  }
  known_ = std::move(all);
  inode_ = st.st_ino;
  changed_ns_ = changed;
  return {};
}

Result<void> OnceStore::write(const std::vector<DoneOnce>& all) {
  base::JsonText json;
  json.begin_object().key("done").begin_list();
  for (const DoneOnce& each : all)
    json.begin_object()
        .member("state", each.id)
        .member("key", each.key)
        .member("root", each.root)
        .member("at", base::utc_text(each.at))
        .member("report", each.report)
        .end_object();
  changed_ns_ = -1;
  return base::write_durable_file(path_, json.end_list().end_object().take() + "\n");
}

Result<std::optional<DoneOnce>> OnceStore::find(const std::string& root, std::string_view id,
                                                std::string_view key) {
  if (auto done = read(); !done) return std::move(done).error();
  for (const DoneOnce& each : known_)
    if (each.id == id && each.key == key && each.root == root) return std::optional(each);
  return std::optional<DoneOnce>();
}

Result<void> OnceStore::has_room() {
  if (auto done = read(); !done) return done;
  if (known_.size() < kMost) return {};
  return base::Error(base::ErrorCode::limit,
                     "it could not be remembered that this was done: " + std::to_string(kMost) +
                         " are remembered already; remove some with 'opsagent once forget ID'");
}

// The file is written anew as a whole, beside the one that is there.
Result<void> OnceStore::has_disk() {
  if (auto done = read(); !done) return done;
  const std::string path = path_ + ".room";
  const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const int why = fd ? ::posix_fallocate(fd.get(), 0, size_ + kLargestEntry) : errno;
  if (fd) ::unlink(path.c_str());
  if (why == 0) return {};
  return base::os_error(why, "it could not be remembered that this was done: cannot write " + path_);
}

Result<void> OnceStore::add(const DoneOnce& done) {
  auto locked = lock_for_a_moment(lock_path_);
  if (!locked) return std::move(locked).error();
  if (auto known = read(); !known) return known;
  std::vector<DoneOnce> all = known_;
  std::erase_if(all, [&](const DoneOnce& each) {
    return each.id == done.id && each.key == done.key && each.root == done.root;
  });
  if (all.size() >= kMost) return has_room();
  all.push_back(done);
  return write(all);
}

Result<std::vector<DoneOnce>> OnceStore::list() {
  if (auto done = read(); !done) return std::move(done).error();
  return known_;
}

Result<std::size_t> OnceStore::forget(std::string_view id, std::string_view key) {
  auto locked = lock_for_a_moment(lock_path_);
  if (!locked) return std::move(locked).error();
  if (auto known = read(); !known) return std::move(known).error();
  std::vector<DoneOnce> all = known_;
  const std::size_t forgotten = std::erase_if(
      all, [&](const DoneOnce& each) { return each.id == id && (key.empty() || each.key == key); });
  if (forgotten > 0)
    if (auto written = write(all); !written) return std::move(written).error();
  return forgotten;
}

std::string once_text(const DoneOnce& done) {
  std::string at = base::utc_text(done.at);  // "2026-03-01T12:00:00.000Z"
  at = at.substr(0, 10) + " " + at.substr(11, 5) + " UTC";
  return "done once, on " + at;
}

}  // namespace agent::engine
