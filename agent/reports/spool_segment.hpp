// SpoolSegment: one file of the report spool, and how records are written in it. Format: see docs/formats.md.
//
// A segment is named after the first sequence number that may be in it, so even an empty one tells how far
// the numbers had come. Not thread-safe: Spool guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::reports {

// Results that say "as it should be" are the first to go when there is no room.
enum class Importance : std::uint8_t { kept, normal };

struct SpoolRecord {
  std::uint64_t seq = 0;
  Importance importance = Importance::normal;
  std::string key;      // the same for the same report; may be empty
  std::string payload;  // opaque
};

class SpoolSegment {
 public:
  struct Item {  // a record in the file
    std::uint64_t seq = 0;
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
    Importance importance = Importance::normal;
  };
  // Shared with readers: they may go on reading a file that has been removed or replaced.
  using File = std::shared_ptr<const base::UniqueFd>;

  // A new one, empty and on disk, in the folder that this descriptor is of.
  static base::Result<SpoolSegment> create(int folder, std::uint64_t first_seq);
  // One that is there. Damage costs the records that are damaged: those behind it are found again. What is
  // not whole at the end is torn().
  static base::Result<SpoolSegment> load(int folder, std::uint64_t first_seq);
  // The sequence number that a file is named after; nothing for other files.
  static std::optional<std::uint64_t> first_seq_of(std::string_view file_name);

  // Puts the bytes of whole records at the end and syncs them; add() then makes them count. On an Error the
  // file is as it was before; if not even that is possible, every further write() fails until it is.
  base::Result<void> write(std::string_view bytes);
  // The next of the records that write() has put there.
  void add(const Item& item, std::string key);
  // Writes the file anew with these of its records, and syncs it. Those that cannot be read (EIO) are left
  // out. What it was stays readable for who has it open.
  base::Result<SpoolSegment> rewritten(int folder, const std::vector<Item>& items) const;
  base::Result<void> remove(int folder) const;

  const File& file() const { return file_; }
  std::uint64_t first_seq() const { return first_seq_; }
  std::uint64_t size() const { return size_; }
  const std::vector<Item>& items() const { return items_; }
  bool knows(const std::string& key) const { return keys_.contains(key); }
  // Bytes after the last whole record, when it was loaded.
  std::uint64_t torn() const { return torn_; }
  // What could not be read before that.
  struct Damage {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t from_seq = 0;    // the records that were there had this number, or a later one, …
    std::uint64_t before_seq = 0;  // … and lower ones than this
  };
  const std::vector<Damage>& damage() const { return damage_; }
  // The number that comes after all that is whole.
  std::uint64_t next_seq() const { return items_.empty() ? first_seq_ : items_.back().seq + 1; }
  std::string name() const { return name_of(first_seq_); }
  // Of the file that begins with this number.
  static std::string name_of(std::uint64_t first_seq);

 private:
  SpoolSegment(std::uint64_t first_seq, base::UniqueFd fd)
      : first_seq_(first_seq), file_(std::make_shared<const base::UniqueFd>(std::move(fd))) {}

  std::uint64_t first_seq_;
  File file_;
  std::uint64_t size_ = 0;  // of the whole records
  std::uint64_t torn_ = 0;
  std::vector<Damage> damage_;
  bool tail_is_dirty_ = false;  // a failed write left something behind them
  std::vector<Item> items_;
  std::unordered_set<std::string> keys_;
};

inline constexpr std::size_t kLongestKey = 1024;
inline constexpr std::size_t kLargestPayload = 64 * 1024 * 1024;

// The bytes of one record, at the end of `to`. Key and payload are within their limits.
void append_record(std::string& to, std::uint64_t seq, Importance importance, std::string_view key,
                   std::string_view payload);
// The record that these bytes are; nothing when they are damaged.
std::optional<SpoolRecord> parse_record(std::string_view bytes);

// How many records there may have been in so many bytes.
std::uint64_t most_records_in(std::uint64_t bytes);

}  // namespace agent::reports
