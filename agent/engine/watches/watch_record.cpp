#include "agent/engine/watches/watch_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace agent::engine {

namespace {

// A name and a digest for each of a few hundred services.
constexpr std::size_t kLargestRecord = 64 * 1024;
constexpr const char* kScratch = ".record.tmp";
constexpr std::string_view kAbsent = "absent";
constexpr std::string_view kDamaged = "damaged";

std::string_view word_for(std::string_view value) {
  return value.empty() ? kAbsent : value;
}

std::string value_of(std::string_view word) {
  return std::string(word == kAbsent ? std::string_view() : word);
}

}  // namespace

const std::string& WatchRecord::of(std::string_view part) const {
  const auto own = others.find(part);
  return own == others.end() ? all : own->second;
}

void WatchRecord::set(const std::vector<std::string>& changed, std::string_view value,
                      const std::vector<std::string>& parts) {
  WatchRecord next{.all = all};
  for (const std::string& part : parts) {
    const bool is_changed = std::ranges::find(changed, part) != changed.end();
    next.others[part] = is_changed ? std::string(value) : of(part);
  }
  const bool agree = std::ranges::all_of(
      next.others, [&](const auto& other) { return other.second == next.others.begin()->second; });
  if (agree && !next.others.empty()) next.all = next.others.begin()->second;
  std::erase_if(next.others, [&](const auto& other) { return other.second == next.all; });
  *this = std::move(next);
}

std::string to_text(const WatchRecord& record) {
  if (record.others.empty()) return record.all;
  std::string text(word_for(record.all));
  for (const auto& [part, value] : record.others)
    text.append("\n").append(word_for(value)).append(" ").append(part);
  return text;
}

WatchRecord parse_watch_record(std::string_view text) {
  text = base::trim(text);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return {.all = value_of(text)};
  WatchRecord record{.all = value_of(text.substr(0, end))};
  for (const std::string_view line : base::split(text.substr(end + 1), '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return {.all = std::string(kDamaged)};
    record.others.insert_or_assign(std::string(line.substr(blank + 1)), value_of(line.substr(0, blank)));
  }
  return record;
}

base::Result<std::optional<WatchRecord>> read_watch_record(const std::string& path) {
  auto text = base::read_file(path, kLargestRecord);
  if (text) return std::optional(parse_watch_record(*text));
  if (text.error().code() == base::ErrorCode::not_found) return std::optional<WatchRecord>();
  if (text.error().code() == base::ErrorCode::limit)
    return std::optional(WatchRecord{.all = std::string(kDamaged)});
  return std::move(text).error().with_context("reading a watch record");
}

base::Result<void> write_watch_record(int folder, const std::string& name, const WatchRecord& record,
                                      bool synced) {
  const auto failed = [&](std::string_view what) -> base::Result<void> {
    const int reason = errno;
    ::unlinkat(folder, kScratch, 0);
    return base::os_error(reason, std::string(what) + " " + name);
  };
  const std::string text = to_text(record);
  ::unlinkat(folder, kScratch, 0);  // of a run that was killed
  const base::UniqueFd file(
      ::openat(folder, kScratch, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failed("creating");
  // So few bytes are written whole or not at all.
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written >= 0 && written != static_cast<ssize_t>(text.size())) errno = ENOSPC;
  if (written != static_cast<ssize_t>(text.size())) return failed("writing");
  if (synced && ::fsync(file.get()) != 0) return failed("syncing");
  if (::renameat(folder, kScratch, folder, name.c_str()) != 0) return failed("renaming");
  return {};
}

}  // namespace agent::engine
