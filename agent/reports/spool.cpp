#include "agent/reports/spool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "base/token.hpp"

namespace agent::reports {

namespace {

using base::Result;
using base::UniqueFd;
using Item = SpoolSegment::Item;

// Never removed, so that the numbers do not go back and the newest keys are known.
constexpr std::size_t kNewestSegments = 2;
constexpr std::size_t kLargestSmallFile = 4096;
constexpr std::size_t kUidBytes = 16;
constexpr std::size_t kMostProblems = 100;  // until somebody asks
constexpr const char* kMarks = "marks";
constexpr const char* kUid = "uid";

// Waits for an owner that is on its way out.
Result<void> lock(int folder_fd, const std::string& folder) {
  constexpr int kTries = 20;
  constexpr int kPauseMs = 100;
  for (int tries = 1; ::flock(folder_fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return base::os_error(errno, "cannot lock " + folder);
    if (tries == kTries) return base::Error(base::ErrorCode::exists, folder + " is in use by another agent");
    ::poll(nullptr, 0, kPauseMs);
  }
  return {};
}

std::optional<SpoolRecord> read(const SpoolSegment::File& file, const Item& item) {
  std::string bytes(item.size, '\0');
  if (::pread(file->get(), bytes.data(), bytes.size(), static_cast<off_t>(item.offset)) !=
      static_cast<ssize_t>(bytes.size()))
    return {};
  return parse_record(bytes);
}

}  // namespace

Spool::Spool(std::string folder, SpoolLimits limits, UniqueFd folder_fd)
    : folder_(std::move(folder)),
      limits_(limits),
      folder_fd_(std::move(folder_fd)),
      appended_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Spool::~Spool() {
  (void)store_marks();  // without it some reports are sent again
}

Result<std::unique_ptr<Spool>> Spool::open(const std::string& folder, SpoolLimits limits) {
  const std::string context = "opening the report spool";
  if (auto made = base::make_private_folder(folder); !made)
    return std::move(made).error().with_context(context);
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return base::os_error(errno, folder).with_context(context);
  if (auto locked = lock(fd.get(), folder); !locked) return std::move(locked).error().with_context(context);
  std::unique_ptr<Spool> spool(new Spool(folder, limits, std::move(fd)));
  if (!spool->appended_) return base::os_error(errno, "eventfd").with_context(context);
  if (auto loaded = spool->load(); !loaded) return std::move(loaded).error().with_context(context);
  return spool;
}

Result<void> Spool::load() {
  std::vector<std::uint64_t> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error))
    if (const auto first = SpoolSegment::first_seq_of(entry->path().filename().native()))
      names.push_back(*first);
  if (error) return base::os_error(error.value(), folder_);
  std::ranges::sort(names);

  // Numbers that are lost may have been used: whoever starts again from 1 must not be the same.
  if (names.empty()) {
    if (auto renewed = renew_uid(); !renewed) return renewed;
    return start_segment(1);
  }
  if (auto loaded = load_uid(); !loaded) return loaded;
  if (auto loaded = load_marks(); !loaded) return loaded;

  for (const std::uint64_t first : names) {
    auto segment = SpoolSegment::load(folder_fd_.get(), first);
    if (!segment) return std::move(segment).error();
    last_seq_ = std::max(last_seq_, first - 1);
    if (!segment->items().empty()) last_seq_ = std::max(last_seq_, segment->items().back().seq);
    segments_.push_back(std::move(*segment));
  }
  if (segments_.back().size() == 0 && segments_.back().torn() == 0) {
    segments_.pop_back();  // killed while it was made
    if (auto started = start_segment(last_seq_ + 1); !started) return started;
  } else if (const std::uint64_t torn = segments_.back().torn(); torn > 0) {
    // What is not whole was most likely never read by anybody; if it was, its numbers are used.
    problems_.push_back(std::to_string(torn) + " bytes at the end of the report spool are damaged");
    last_seq_ += most_records_in(torn);
    if (auto started = start_segment(last_seq_ + 1); !started) return started;
  } else if (::fdatasync(segments_.back().file()->get()) != 0) {
    // Written before we were killed, perhaps not synced: it must be on disk before it is sent.
    return base::os_error(errno, "cannot sync the report spool");
  }
  offered_seq_ = last_seq_;
  marks_.acknowledged = std::min(marks_.acknowledged, last_seq_);
  for (std::size_t number = 0; number < segments_.size(); ++number)
    mend(number);
  remove_acknowledged();
  return {};
}

// Says what is damaged in a file, counts it, and takes it out, so that it is said once.
void Spool::mend(std::size_t number) {
  const SpoolSegment& segment = segments_[number];
  const bool has_next = number + 1 < segments_.size();
  const bool is_empty = segment.size() == 0 && segment.torn() == 0;
  if (segment.damage().empty() && segment.torn() == 0 && !(is_empty && has_next)) return;
  for (const SpoolSegment::Damage& damage : segment.damage())
    note_lost(std::to_string(damage.bytes) + " bytes of " + folder_ + "/" + segment.name() + ", from byte " +
                  std::to_string(damage.offset) + " on,",
              damage.from_seq, damage.before_seq, damage.bytes);
  // What is torn in the newest was said above. Before the last start it was the newest that was torn: then it
  // was cut off, unless we were killed just before that.
  const bool was_newest = number + 2 == segments_.size() && segments_.back().items().empty();
  if (has_next && (segment.torn() > 0 || is_empty) && !was_newest)
    note_lost((is_empty ? "all" : std::to_string(segment.torn()) + " bytes at the end") + " of " + folder_ +
                  "/" + segment.name(),
              segment.next_seq(), segments_[number + 1].first_seq(),
              is_empty ? limits_.segment_bytes : segment.torn());
  // First the count, as when something is dropped.
  (void)store_marks();
  auto whole = segment.rewritten(folder_fd_.get(), segment.items());
  if (whole)
    segments_[number] = std::move(*whole);
  else
    problems_.push_back(whole.error().message());
}

void Spool::note_lost(const std::string& what, std::uint64_t from_seq, std::uint64_t before_seq,
                      std::uint64_t bytes) {
  const std::uint64_t first = std::max({from_seq, marks_.acknowledged + 1, marks_.all_dropped_through + 1});
  const std::uint64_t lost = first < before_seq ? std::min(before_seq - first, most_records_in(bytes)) : 0;
  marks_.dropped.damaged += lost;
  const std::string numbers = lost == 0 ? "no report that the backend does not have is lost"
                              : lost == 1
                                  ? "a report is lost, number " + std::to_string(first)
                                  : "up to " + std::to_string(lost) + " reports are lost, numbers " +
                                        std::to_string(first) + " to " + std::to_string(before_seq - 1);
  problems_.push_back("the report spool is damaged: " + what + " cannot be read; " + numbers +
                      ". Look at the disk (dmesg, smartctl)");
}

Result<void> Spool::load_marks() {
  auto text = base::read_file(folder_ + "/" + kMarks, kLargestSmallFile);
  if (!text && text.error().code() == base::ErrorCode::not_found) return {};
  if (!text && text.error().code() != base::ErrorCode::io) return std::move(text).error();
  if (const auto marks = text ? parse_marks(*text) : std::nullopt)
    marks_ = *marks;
  else
    problems_.push_back(folder_ + "/" + kMarks + " is damaged: some reports may be sent again");
  return {};
}

Result<void> Spool::load_uid() {
  auto text = base::read_file(folder_ + "/" + kUid, kLargestSmallFile);
  if (!text && text.error().code() != base::ErrorCode::not_found &&
      text.error().code() != base::ErrorCode::io)
    return std::move(text).error();
  const std::string_view uid = text ? base::trim(*text) : std::string_view();
  if (uid.empty()) return renew_uid();
  uid_ = uid;
  return {};
}

Result<void> Spool::renew_uid() {
  const std::string uid = base::random_hex(kUidBytes);
  if (auto stored = store(kUid, uid + "\n"); !stored) return stored;
  const std::lock_guard guard(mutex_);
  uid_ = uid;
  return {};
}

// A small file: as it was or as it is to be, whatever happens.
Result<void> Spool::store(const char* name, std::string_view text) const {
  return base::write_durable_file(folder_ + "/" + name, text);
}

Result<void> Spool::store_marks() {
  SpoolMarks marks;
  {
    const std::lock_guard guard(mutex_);
    marks = marks_;
  }
  return store(kMarks, to_text(marks));
}

Result<void> Spool::append(std::span<const Entry> entries) {
  const std::lock_guard appending(append_mutex_);
  std::string bytes;
  std::vector<const Entry*> added;
  std::vector<Item> items;
  std::unordered_set<std::string_view> keys;
  for (const Entry& entry : entries) {
    if (entry.key.size() > kLongestKey || entry.payload.size() > kLargestPayload)
      return base::Error(base::ErrorCode::limit, "a report is too large for the report spool");
    if (!entry.key.empty() && (knows(entry.key) || !keys.insert(entry.key).second)) continue;
    const std::size_t at = bytes.size();
    const std::uint64_t seq = last_seq_ + 1 + items.size();
    append_record(bytes, seq, entry.importance, entry.key, entry.payload);
    items.push_back({.seq = seq,
                     .offset = at,
                     .size = static_cast<std::uint32_t>(bytes.size() - at),
                     .importance = entry.importance});
    added.push_back(&entry);
  }
  if (items.empty()) return {};

  // All of one call go to one file: so the newest files hold what was appended last.
  if (auto room = make_room(bytes.size()); !room) return room;
  if (segments_.back().size() >= limits_.segment_bytes)
    if (auto started = start_segment(last_seq_ + 1); !started) return started;
  SpoolSegment& newest = segments_.back();
  const std::uint64_t start = newest.size();
  if (auto written = newest.write(bytes); !written) return written;
  {
    const std::lock_guard guard(mutex_);
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].offset += start;
      newest.add(items[i], added[i]->key);
    }
    last_seq_ = items.back().seq;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t signalled = ::write(appended_.get(), &one, sizeof one);
  remove_acknowledged();
  return {};
}

Result<void> Spool::start_segment(std::uint64_t first_seq) {
  auto segment = SpoolSegment::create(folder_fd_.get(), first_seq);
  if (!segment) return std::move(segment).error();
  {
    const std::lock_guard guard(mutex_);
    segments_.push_back(std::move(*segment));
  }
  (void)store_marks();  // now and then is enough
  return {};
}

Result<void> Spool::make_room(std::uint64_t wanted) {
  if (wanted > limits_.most_bytes)
    return base::Error(base::ErrorCode::limit, "more reports at once than the report spool has room for");
  remove_acknowledged();
  if (bytes() + wanted <= limits_.most_bytes) return {};
  // Some more of those that matter least, so that the next append finds room.
  const std::uint64_t slack = limits_.most_bytes / 8;
  while (bytes() + wanted + slack > limits_.most_bytes) {
    auto dropped = drop_oldest_kept();
    if (!dropped) return std::move(dropped).error();
    if (!*dropped) break;
  }
  while (bytes() + wanted > limits_.most_bytes) {
    auto dropped = drop_oldest_segment();
    if (!dropped) return std::move(dropped).error();
    if (!*dropped) break;  // the newest file is empty
  }
  return {};
}

// Of the oldest file that has any. False: there are none.
Result<bool> Spool::drop_oldest_kept() {
  const auto is_droppable = [&](const Item& item) {
    return item.importance == Importance::kept && !marks_.hides(item);
  };
  std::size_t at = 0;
  std::vector<Item> rest;
  {
    const std::lock_guard guard(mutex_);
    while (at < segments_.size() && std::ranges::none_of(segments_[at].items(), is_droppable))
      ++at;
    if (at == segments_.size()) return false;
  }
  // The newest is being written to.
  if (at + 1 == segments_.size())
    if (auto started = start_segment(last_seq_ + 1); !started) return std::move(started).error();
  {
    const std::lock_guard guard(mutex_);
    for (const Item& item : segments_[at].items()) {
      if (is_droppable(item)) ++marks_.dropped.kept;
      if (item.importance != Importance::kept) rest.push_back(item);
    }
    marks_.kept_dropped_through = segments_[at].items().back().seq;
  }
  // First the count: whoever is killed now must not drop them again. If it cannot be written, because the
  // disk is full, room is worth more than an exact count.
  (void)store_marks();
  auto rewritten = segments_[at].rewritten(folder_fd_.get(), rest);
  if (!rewritten) return std::move(rewritten).error();
  const std::lock_guard guard(mutex_);
  for (const Item& item : rest)
    if (!marks_.hides(item) &&
        std::ranges::find(rewritten->items(), item.seq, &Item::seq) == rewritten->items().end())
      note_unreadable({segments_[at].file(), item, segments_[at].first_seq()});
  segments_[at] = std::move(*rewritten);
  return true;
}

// False: there is none but an empty one.
Result<bool> Spool::drop_oldest_segment() {
  if (segments_.size() == 1) {
    if (segments_.front().items().empty()) return false;
    if (auto started = start_segment(last_seq_ + 1); !started) return std::move(started).error();
  }
  {
    const std::lock_guard guard(mutex_);
    const std::vector<Item>& items = segments_.front().items();
    for (const Item& item : items)
      if (!marks_.hides(item))
        ++(item.importance == Importance::kept ? marks_.dropped.kept : marks_.dropped.others);
    if (!items.empty()) marks_.all_dropped_through = std::max(marks_.all_dropped_through, items.back().seq);
  }
  (void)store_marks();
  if (auto removed = segments_.front().remove(folder_fd_.get()); !removed) return std::move(removed).error();
  const std::lock_guard guard(mutex_);
  segments_.pop_front();
  return true;
}

void Spool::remove_acknowledged() {
  while (segments_.size() > kNewestSegments) {
    {
      const std::lock_guard guard(mutex_);
      const auto is_hidden = [&](const Item& item) { return marks_.hides(item); };
      if (!std::ranges::all_of(segments_.front().items(), is_hidden)) return;
    }
    if (!segments_.front().remove(folder_fd_.get())) return;  // next time
    const std::lock_guard guard(mutex_);
    segments_.pop_front();
  }
}

bool Spool::knows(const std::string& key) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(segments_, [&](const SpoolSegment& segment) { return segment.knows(key); });
}

std::vector<SpoolRecord> Spool::read_after(std::uint64_t seq, std::size_t most_records,
                                           std::size_t most_bytes) {
  std::uint64_t appends = 0;
  [[maybe_unused]] const ssize_t got = ::read(appended_.get(), &appends, sizeof appends);
  std::vector<SpoolRecord> records;
  while (records.empty()) {
    const std::vector<Place> places = places_after(seq, most_records, most_bytes);
    if (places.empty()) break;
    seq = places.back().item.seq;
    for (const Place& place : places) {  // outside the lock
      if (auto record = read(place.file, place.item)) {
        records.push_back(std::move(*record));
        continue;
      }
      const std::lock_guard guard(mutex_);
      note_unreadable(place);
    }
  }
  if (records.empty()) return records;
  const std::lock_guard guard(mutex_);
  offered_seq_ = std::max(offered_seq_, records.back().seq);
  return records;
}

// With mutex_ held. Once for each: the backend is not told of it a second time.
void Spool::note_unreadable(const Place& place) {
  if (!unreadable_.insert(place.item.seq).second) return;
  ++marks_.dropped.damaged;
  if (problems_.size() < kMostProblems)
    problems_.push_back("report " + std::to_string(place.item.seq) + " is lost: " + folder_ + "/" +
                        SpoolSegment::name_of(place.segment) +
                        " cannot be read any more where it is. Look at the disk (dmesg, smartctl)");
}

std::vector<std::string> Spool::take_problems() {
  const std::lock_guard guard(mutex_);
  return std::exchange(problems_, {});
}

std::vector<Spool::Place> Spool::places_after(std::uint64_t seq, std::size_t most_records,
                                              std::size_t most_bytes) const {
  std::vector<Place> places;
  std::size_t size = 0;
  const std::lock_guard guard(mutex_);
  for (const SpoolSegment& segment : segments_) {
    const std::vector<Item>& items = segment.items();
    for (auto item = std::ranges::upper_bound(items, seq, {}, &Item::seq); item != items.end(); ++item) {
      if (marks_.hides(*item) || unreadable_.contains(item->seq)) continue;
      size += item->size;
      if (places.size() == most_records || (!places.empty() && size > most_bytes)) return places;
      places.push_back({segment.file(), *item, segment.first_seq()});
    }
  }
  return places;
}

void Spool::acknowledge(std::uint64_t seq) {
  {
    const std::lock_guard guard(mutex_);
    marks_.acknowledged = std::max(marks_.acknowledged, std::min(seq, last_seq_));
  }
  // Whoever appends right now removes them afterwards; nobody waits for a disk here.
  if (append_mutex_.try_lock()) {
    const std::lock_guard appending(append_mutex_, std::adopt_lock);
    remove_acknowledged();
  }
}

std::uint64_t Spool::last_seq() const {
  const std::lock_guard guard(mutex_);
  return last_seq_;
}

std::uint64_t Spool::offered_seq() const {
  const std::lock_guard guard(mutex_);
  return offered_seq_;
}

std::uint64_t Spool::acknowledged() const {
  const std::lock_guard guard(mutex_);
  return marks_.acknowledged;
}

std::uint64_t Spool::bytes() const {
  const std::lock_guard guard(mutex_);
  std::uint64_t sum = 0;
  for (const SpoolSegment& segment : segments_)
    sum += segment.size();
  return sum;
}

SpoolDropped Spool::dropped() const {
  const std::lock_guard guard(mutex_);
  return marks_.dropped;
}

std::string Spool::uid() const {
  const std::lock_guard guard(mutex_);
  return uid_;
}

}  // namespace agent::reports
