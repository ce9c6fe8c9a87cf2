#include "agent/engine/records/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/write_again.hpp"
#include "base/fnv.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"

namespace agent::engine {

namespace {

using base::Result;
using base::Value;

constexpr std::size_t kChecksumDigits = 16;
constexpr std::size_t kLargestJournal = 256 * 1024 * 1024;

// Enough to tell a torn or damaged line from a whole one.
std::string checksum(std::string_view text) {
  return base::fnv1a_hex(text);
}

std::string line_of(const std::string& json) {
  return checksum(json) + " " + json + "\n";
}

void place(base::JsonText& json, const RunRound& begun_in) {
  json.member("run", begun_in.run_id).member("round", begun_in.round);
}

std::string to_json(const Journal::Entry& entry) {
  base::JsonText json;
  json.begin_object()
      .member("begin", entry.id)
      .member("digest", entry.digest)
      .member("root", entry.root)
      .member("module", entry.module)
      .member("plan", entry.plan)
      .member("version", entry.version);
  place(json, entry.begun_in);
  json.member("index", entry.index).key("changes").begin_list();
  for (const states::Change& change : entry.changes)
    json.begin_object()
        .member("what", change.what)
        .member("before", change.before)
        .member("after", change.after)
        .end_object();
  json.end_list().key("scratch").begin_list();
  for (const std::string& path : entry.scratch)
    json.value(path);
  json.end_list().key("written").begin_list();
  for (const std::string& path : entry.written)
    json.value(path);
  return json.end_list().end_object().take();
}

std::string text_at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value ? std::string(value->text()) : std::string();
}

std::uint64_t number_at(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value ? static_cast<std::uint64_t>(value->as_integer().value_or(0)) : 0;
}

RunRound place_from(const Value& object) {
  return {.run_id = text_at(object, "run"), .round = number_at(object, "round")};
}

Journal::Entry entry_from(const Value& object) {
  Journal::Entry entry{.digest = text_at(object, "digest"),
                       .root = text_at(object, "root"),
                       .version = static_cast<std::int64_t>(number_at(object, "version")),
                       .begun_in = place_from(object),
                       .index = number_at(object, "index"),
                       .id = text_at(object, "begin"),
                       .module = text_at(object, "module"),
                       .plan = text_at(object, "plan")};
  if (const Value* changes = object.find("changes"))
    for (const Value& change : changes->items())
      entry.changes.push_back({.what = text_at(change, "what"),
                               .before = text_at(change, "before"),
                               .after = text_at(change, "after")});
  if (const Value* scratch = object.find("scratch"))
    for (const Value& path : scratch->items())
      entry.scratch.emplace_back(path.text());
  if (const Value* written = object.find("written"))
    for (const Value& path : written->items())
      entry.written.emplace_back(path.text());
  return entry;
}

std::vector<Journal::Entry> replay(std::string_view text) {
  std::vector<Journal::Entry> unfinished;
  for (std::string_view line : base::split(text, '\n')) {
    if (line.size() <= kChecksumDigits + 1) continue;
    const std::string_view json = line.substr(kChecksumDigits + 1);
    if (checksum(json) != line.substr(0, kChecksumDigits)) continue;
    base::Arena arena;
    auto parsed = base::parse_json(json, arena);
    const Value* object = std::get_if<Value>(&parsed);
    if (!object) continue;
    if (object->find("begin")) {
      unfinished.push_back(entry_from(*object));
    } else if (object->find("done")) {
      const std::uint64_t through = number_at(*object, "done");
      const RunRound begun_in = place_from(*object);
      std::erase_if(unfinished, [&](const Journal::Entry& entry) {
        return entry.index <= through && entry.begun_in == begun_in;
      });
    }
  }
  return unfinished;
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path) {
  auto journal = std::make_unique<Journal>(path);
  const std::scoped_lock lock(journal->sync_mutex_, journal->mutex_);
  if (auto opened = journal->open_file(); !opened) return std::move(opened).error();
  return journal;
}

Result<void> Journal::reopen() {
  const std::scoped_lock lock(sync_mutex_, mutex_);
  return open_file();
}

// Whoever had the lock before may have put another file in its place, and a person may have removed it.
Result<void> Journal::open_file() {
  struct stat ours {};
  struct stat there {};
  if (fd_ && ::fstat(fd_.get(), &ours) == 0 && ::lstat(path_.c_str(), &there) == 0 &&
      ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
    return {};
  base::UniqueFd fd(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  const int why = errno;
  fd_ = std::move(fd);  // nothing is written to a file that nobody will read
  is_lost_ = false;
  dirty_ = false;
  if (!fd_) return base::os_error(why, "cannot open the journal " + path_);
  return {};
}

Result<std::string> Journal::read() {
  if (::lseek(fd_.get(), 0, SEEK_SET) < 0) return base::os_error(errno, "cannot read the journal " + path_);
  return base::read_all(fd_.get(), kLargestJournal, path_);
}

Result<std::vector<Journal::Entry>> Journal::unfinished() {
  const std::scoped_lock lock(sync_mutex_, mutex_);
  if (auto opened = open_file(); !opened) return std::move(opened).error();
  auto text = read();
  if (!text) return std::move(text).error();
  const std::size_t whole = text->rfind('\n') + 1;  // 0 when there is no line at all
  if (whole != text->size()) {
    // What is appended next must begin a line of its own.
    if (auto cut = cut_to(static_cast<off_t>(whole)); !cut) return std::move(cut).error();
    text->resize(whole);
  }
  is_empty_ = text->empty();
  return replay(*text);
}

Result<void> Journal::cut_to(off_t size) {
  if (::ftruncate(fd_.get(), size) != 0) return base::os_error(errno, "cannot shorten the journal " + path_);
  return {};
}

Result<void> Journal::append(const std::string& json) {
  const std::string line = line_of(json);
  const std::lock_guard lock(mutex_);
  if (!fd_) return base::Error(base::ErrorCode::io, "the journal " + path_ + " is not open");
  const ssize_t written = ::write(fd_.get(), line.data(), line.size());
  if (written < 0) return base::os_error(errno, "cannot write the journal " + path_);
  is_empty_ = false;
  if (static_cast<std::size_t>(written) != line.size()) {
    // A part of a line would spoil the next one.
    if (auto cut = cut_to(::lseek(fd_.get(), 0, SEEK_END) - written); !cut) return cut;
    return base::os_error(ENOSPC, "cannot write the journal " + path_);
  }
  dirty_ = true;
  return {};
}

Result<void> Journal::begin(const Entry& entry) {
  return append(to_json(entry));
}

Result<void> Journal::done(const RunRound& begun_in, std::size_t index) {
  base::JsonText json;
  place(json.begin_object().member("done", index), begun_in);
  return append(json.end_object().take());
}

Result<void> Journal::sync() {
  // Who comes while another thread syncs waits for it: what it wrote may be what is on its way.
  const std::lock_guard syncing(sync_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(dirty_, false)) return {};
  }
  // What a sync could not write counts as written for the kernel from then on: the next one would not try.
  base::Result<void> synced;
  if (std::exchange(is_lost_, false)) synced = base::write_again(fd_.get());
  if (synced && ::fdatasync(fd_.get()) != 0) synced = base::os_error(errno, path_);
  if (synced) return {};
  is_lost_ = true;
  const std::lock_guard lock(mutex_);
  dirty_ = true;
  return std::move(synced).error().with_context("cannot sync the journal");
}

Result<void> Journal::clear() {
  {
    const std::lock_guard lock(mutex_);
    compact_from_ = kCompactFrom;
    if (is_empty_ || !fd_) return {};
    if (auto cut = cut_to(0); !cut) return cut;
    is_empty_ = true;
    dirty_ = true;
  }
  return sync();  // else a power cut could bring back what has been reported
}

Result<void> Journal::compact() {
  const std::scoped_lock lock(sync_mutex_, mutex_);
  struct stat st {};
  if (!fd_ || ::fstat(fd_.get(), &st) != 0 || st.st_size < compact_from_) return {};
  auto text = read();
  if (!text) return std::move(text).error();
  std::string rest;
  for (const Entry& entry : replay(*text))
    rest += line_of(to_json(entry));
  // What is left may be large: the next time there must be something to be gained.
  compact_from_ = std::max(kCompactFrom, 2 * static_cast<off_t>(rest.size()));
  auto written = base::write_durable_file(path_, rest);
  // Also after an error: the new file may be there.
  if (auto opened = open_file(); !opened) return opened;
  if (!written) return std::move(written).error().with_context("cannot shorten the journal " + path_);
  return {};
}

}  // namespace agent::engine
