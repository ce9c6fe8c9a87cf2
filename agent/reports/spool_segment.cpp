#include "agent/reports/spool_segment.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/files/file_read.hpp"
#include "base/fnv.hpp"

namespace agent::reports {

namespace {

using base::Result;
using base::UniqueFd;

constexpr std::string_view kHeader = "opsagent spool 1\n";
constexpr std::string_view kSuffix = ".spool";
constexpr std::size_t kNameDigits = 20;
constexpr const char* kScratch = "segment.tmp";
constexpr std::size_t kLargestSegment = 1024 * 1024 * 1024;

// Before a record's body: its size and checksum. In the body, before key and payload: seq, importance, size
// of the key.
constexpr std::size_t kFrame = 4 + 8;
constexpr std::size_t kBodyStart = 8 + 1 + 2;

// Numbers are little-endian, whatever the machine: a state folder may be moved.
template <class T>
void put(std::string& to, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    to += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
}

template <class T>
T get(std::string_view from, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[at + i])) << (8 * i);
  return static_cast<T>(number);
}

Result<void> write_at(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::os_error(errno, "cannot write the report spool");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<void> sync(int fd) {
  if (::fdatasync(fd) != 0) return base::os_error(errno, "cannot sync the report spool");
  return {};
}

// The record at the start of these bytes, as long as its frame says.
std::optional<std::string_view> first_record(std::string_view bytes) {
  if (bytes.size() < kFrame + kBodyStart) return {};
  const std::size_t body = get<std::uint32_t>(bytes, 0);
  if (body < kBodyStart || body > bytes.size() - kFrame) return {};
  return bytes.substr(0, kFrame + body);
}

// What can be read of a file with blocks that cannot: those are zeros.
Result<std::string> read_around_bad_blocks(int fd, const std::string& name) {
  constexpr std::size_t kBlock = 4096;
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < 0) return base::os_error(errno, "cannot read the report spool's " + name);
  if (static_cast<std::size_t>(size) > kLargestSegment)
    return base::Error(base::ErrorCode::limit, "the report spool's " + name + " is too large");
  std::string text(static_cast<std::size_t>(size), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t wanted = std::min(kBlock - at % kBlock, text.size() - at);
    const ssize_t got = ::pread(fd, text.data() + at, wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EIO) return base::os_error(errno, "cannot read the report spool's " + name);
    if (got == 0) break;
    at += got < 0 ? wanted : static_cast<std::size_t>(got);
  }
  return text;
}

struct FoundRecord {
  std::size_t offset = 0;
  std::size_t size = 0;
  SpoolRecord record;
};

// The first whole record from here on, with this number or a later one. Mostly it is here. Where it is not,
// the size that is said here may be the damage, so every place is tried. No part of a payload is taken for a
// record: payloads are JSON, which has no control characters, and no record is without one (its importance).
std::optional<FoundRecord> next_record(std::string_view text, std::size_t from, std::uint64_t least_seq) {
  for (std::size_t at = from; at < text.size(); ++at) {
    const auto bytes = first_record(text.substr(at));
    if (!bytes) continue;
    // Looked at before the checksum, which costs a pass over all of it.
    const std::uint64_t seq = get<std::uint64_t>(*bytes, kFrame);
    const auto importance = get<std::uint8_t>(*bytes, kFrame + 8);
    if (seq < least_seq || importance > static_cast<std::uint8_t>(Importance::normal)) continue;
    auto record = parse_record(*bytes);
    if (record) return FoundRecord{at, bytes->size(), std::move(*record)};
  }
  return std::nullopt;
}

}  // namespace

void append_record(std::string& to, std::uint64_t seq, Importance importance, std::string_view key,
                   std::string_view payload) {
  const std::size_t frame = to.size();
  to.append(kFrame, '\0');
  put(to, seq);
  put(to, static_cast<std::uint8_t>(importance));
  put(to, static_cast<std::uint16_t>(key.size()));
  to += key;
  to += payload;
  const std::string_view body = std::string_view(to).substr(frame + kFrame);
  std::string numbers;
  put(numbers, static_cast<std::uint32_t>(body.size()));
  put(numbers, base::fnv1a(body));
  std::memcpy(to.data() + frame, numbers.data(), kFrame);
}

std::optional<SpoolRecord> parse_record(std::string_view bytes) {
  const auto whole = first_record(bytes);
  if (!whole || whole->size() != bytes.size()) return {};
  const std::string_view body = bytes.substr(kFrame);
  if (base::fnv1a(body) != get<std::uint64_t>(bytes, 4)) return {};
  const std::size_t key_size = get<std::uint16_t>(body, 9);
  const auto importance = get<std::uint8_t>(body, 8);
  if (key_size > kLongestKey || kBodyStart + key_size > body.size() ||
      importance > static_cast<std::uint8_t>(Importance::normal))
    return {};
  return SpoolRecord{.seq = get<std::uint64_t>(body, 0),
                     .importance = static_cast<Importance>(importance),
                     .key = std::string(body.substr(kBodyStart, key_size)),
                     .payload = std::string(body.substr(kBodyStart + key_size))};
}

std::uint64_t most_records_in(std::uint64_t bytes) {
  constexpr std::uint64_t kSmallest = kFrame + kBodyStart;
  return (bytes + kSmallest - 1) / kSmallest;
}

std::string SpoolSegment::name_of(std::uint64_t first_seq) {
  char digits[kNameDigits + 1];
  std::snprintf(digits, sizeof digits, "%0*llu", static_cast<int>(kNameDigits),
                static_cast<unsigned long long>(first_seq));
  return std::string(digits) + std::string(kSuffix);
}

std::optional<std::uint64_t> SpoolSegment::first_seq_of(std::string_view file_name) {
  if (file_name.size() != kNameDigits + kSuffix.size() || !file_name.ends_with(kSuffix)) return {};
  const char* const end = file_name.data() + kNameDigits;
  std::uint64_t seq = 0;
  const auto [stopped, error] = std::from_chars(file_name.data(), end, seq);
  if (error != std::errc() || stopped != end) return {};
  return seq;
}

Result<SpoolSegment> SpoolSegment::create(int folder, std::uint64_t first_seq) {
  const std::string name = name_of(first_seq);
  // One of this name that is there has no record: it was being made when we were killed.
  UniqueFd fd(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return base::os_error(errno, "cannot create the report spool's " + name);
  SpoolSegment segment(first_seq, std::move(fd));
  auto made = segment.write(kHeader);
  if (made && ::fsync(folder) != 0) made = base::os_error(errno, "cannot sync the report spool's folder");
  if (!made) {
    ::unlinkat(folder, name.c_str(), 0);
    return std::move(made).error();
  }
  segment.size_ = kHeader.size();
  return segment;
}

Result<SpoolSegment> SpoolSegment::load(int folder, std::uint64_t first_seq) {
  const std::string name = name_of(first_seq);
  UniqueFd fd(::openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return base::os_error(errno, "cannot open the report spool's " + name);
  auto text = base::read_all(fd.get(), kLargestSegment, name);
  // A bad block costs what is in it, not the agent's start.
  if (!text && text.error().code() == base::ErrorCode::io) text = read_around_bad_blocks(fd.get(), name);
  if (!text) return text.error();
  SpoolSegment segment(first_seq, std::move(fd));
  std::uint64_t at = text->starts_with(kHeader) ? kHeader.size() : 0;
  segment.size_ = at;
  while (at < text->size()) {
    auto next = next_record(*text, at, segment.next_seq());
    if (!next) break;
    if (next->offset > at)
      segment.damage_.push_back({.offset = at,
                                 .bytes = next->offset - at,
                                 .from_seq = segment.next_seq(),
                                 .before_seq = next->record.seq});
    at = next->offset + next->size;
    segment.add({.seq = next->record.seq,
                 .offset = next->offset,
                 .size = static_cast<std::uint32_t>(next->size),
                 .importance = next->record.importance},
                std::move(next->record.key));
  }
  segment.torn_ = text->size() - at;
  return segment;
}

Result<void> SpoolSegment::write(std::string_view bytes) {
  const int fd = file_->get();
  const auto cut = [&] { return ::ftruncate(fd, static_cast<off_t>(size_)) == 0; };
  if (tail_is_dirty_ && !cut()) return base::os_error(errno, "cannot shorten the report spool");
  tail_is_dirty_ = false;
  auto written = write_at(fd, bytes, size_);
  if (written) written = sync(fd);
  if (!written) tail_is_dirty_ = !cut();
  return written;
}

void SpoolSegment::add(const Item& item, std::string key) {
  items_.push_back(item);
  size_ = item.offset + item.size;
  if (!key.empty()) keys_.insert(std::move(key));
}

Result<SpoolSegment> SpoolSegment::rewritten(int folder, const std::vector<Item>& items) const {
  UniqueFd fd(::openat(folder, kScratch, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return base::os_error(errno, "cannot rewrite the report spool's " + name());
  SpoolSegment copy(first_seq_, std::move(fd));
  copy.keys_ = keys_;
  std::string bytes(kHeader);
  for (const Item& item : items) {
    const std::size_t at = bytes.size();
    bytes.resize(at + item.size);
    errno = 0;
    if (::pread(file_->get(), bytes.data() + at, item.size, static_cast<off_t>(item.offset)) !=
        static_cast<ssize_t>(item.size)) {
      if (errno != EIO && errno != 0)
        return base::os_error(errno, "cannot read the report spool's " + name());
      bytes.resize(at);
      continue;
    }
    copy.items_.push_back(item);
    copy.items_.back().offset = at;
  }
  auto written = copy.write(bytes);
  if (written && ::renameat(folder, kScratch, folder, name().c_str()) != 0)
    written = base::os_error(errno, "cannot replace the report spool's " + name());
  if (!written) {
    ::unlinkat(folder, kScratch, 0);
    return std::move(written).error();
  }
  copy.size_ = bytes.size();
  return copy;
}

Result<void> SpoolSegment::remove(int folder) const {
  if (::unlinkat(folder, name().c_str(), 0) != 0 && errno != ENOENT)
    return base::os_error(errno, "cannot remove the report spool's " + name());
  return {};
}

}  // namespace agent::reports
