// TagRecords: which commit each tag of each repository stood for when it was last believed. What makes a
// moved tag visible, and what is used when nobody can be asked. One file, modules/tags.json of the state
// folder: see docs/formats.md. One thread at a time, under the store's lock.
//
// Nothing is ever forgotten to make room: whoever may have tags fetched could otherwise fetch so many that
// another's tag moves unseen. When there are many, those that were not seen for longest become short: their
// names by hash, with commit and signer. Beyond the limits no new tag is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace modules::fetch {

struct TagRecord {
  std::string repository;
  std::string tag;
  std::string commit;     // 40 hexadecimal digits
  std::string signer;     // who has signed it, of those that were configured; "": nobody was asked for
  std::int64_t seen = 0;  // seconds since 1970: when it was last believed
};

class TagRecords {
 public:
  struct Limits {
    std::size_t whole = 1000;
    std::size_t brief = 20'000;   // short ones, besides
    std::size_t of_owner = 5000;  // of both, below one host and the first part of the path there
  };

  // No file: nothing is known. One that is damaged is an error: forgetting would let tags move.
  static base::Result<TagRecords> load(const std::string& path, const Limits& limits);
  static base::Result<TagRecords> load(const std::string& path) { return load(path, Limits()); }

  std::optional<TagRecord> find(std::string_view repository, std::string_view tag) const;
  // ErrorCode::no_space when this tag would be one too many, with what to do about it.
  base::Result<void> check_room(std::string_view repository, std::string_view tag) const;
  // On disk when it returns. What check_room() says comes from here, too.
  base::Result<void> store(TagRecord record);

 private:
  // A record that has become short.
  struct Brief {
    std::string owner;  // 16 hexadecimal digits
    std::string name;   // 32, of repository and tag
    std::string commit;
    std::string signer;
  };

  TagRecords(std::string path, const Limits& limits) : path_(std::move(path)), limits_(limits) {}
  void shorten_one();

  std::string path_;
  Limits limits_;
  std::vector<TagRecord> records_;
  std::vector<Brief> brief_;
};

}  // namespace modules::fetch
