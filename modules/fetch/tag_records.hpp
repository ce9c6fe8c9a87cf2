// TagRecords: which commit each tag of each repository stood for when it was last believed. What makes a
// moved tag visible, and what is used when nobody can be asked. One file, modules/tags.json of the state
// folder: see docs/formats.md. One thread at a time, under the store's lock.
#pragma once

#include <cstdint>
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
  // No file: nothing is known. One that is damaged is an error: forgetting would let tags move.
  static base::Result<TagRecords> load(const std::string& path);

  const TagRecord* find(std::string_view repository, std::string_view tag) const;
  // On disk when it returns. Beyond 1000, those that were not seen for longest are forgotten.
  base::Result<void> store(TagRecord record);

 private:
  explicit TagRecords(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::vector<TagRecord> records_;
};

}  // namespace modules::fetch
