// Intake: what a fetch brings, taken in byte by byte and believed only as far as its hashes go.
//
// The stream is what opsagent-fetch prints (docs/formats.md): which commit the name stands for, then objects.
// The first object must be the one that was named, every further one must have been referred to by an object
// that came before it, and each must have the id that it was referred to by. Trees come before blobs, so the
// whole tree is judged (names, links, depth, number) before the first byte of a file is written. What nothing
// refers to is refused; so is an end while something is missing.
//
// Blocks only as its sink does. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "modules/git/object.hpp"
#include "modules/git/signed_object.hpp"
#include "modules/git/tree.hpp"

namespace modules::git {

struct IntakeLimits {
  std::uint64_t entries = 100'000;           // files, links and folders
  std::uint64_t depth = 32;                  // of folders
  std::uint64_t path = 1024;                 // bytes of a path below the root
  std::uint64_t file = 128ULL << 20;         // bytes of one file
  std::uint64_t bytes = 256ULL << 20;        // of all files together, as they will stand on disk
  std::uint64_t tree_bytes = 64ULL << 20;    // of all tree objects together
  std::uint64_t signed_object = 1ULL << 20;  // bytes of a commit or a tag
  std::uint64_t tags = 4;                    // tags of tags
};

// What the server said that the name stands for.
struct Resolved {
  std::string ref;  // "refs/tags/v1", "refs/heads/main"
  ObjectId target;  // a tag object, or the commit itself
  ObjectId commit;
};

struct SnapshotEntry {
  std::string path;  // below the root
  EntryKind kind = EntryKind::file;
  ObjectId id;
};

// Where the content goes. An error ends the intake.
class SnapshotSink {
 public:
  virtual ~SnapshotSink() = default;
  // The name is resolved; called once, before any object.
  virtual base::Result<void> on_resolved(const Resolved& resolved) = 0;
  // All of the tree, each folder before what is in it; called once, before any file.
  virtual base::Result<void> on_tree(const std::vector<SnapshotEntry>& entries) = 0;
  // A file that stands at these places (indices of entries), of which there is at least one.
  virtual base::Result<void> begin_file(const std::vector<std::size_t>& places, std::uint64_t size) = 0;
  virtual base::Result<void> add_bytes(std::string_view bytes) = 0;
  virtual base::Result<void> end_file() = 0;
};

// What was taken in.
struct Snapshot {
  Resolved resolved;
  bool is_present = false;                   // the fetcher says that we have it: nothing but `resolved` came
  std::vector<SignedText> signed_texts;      // of the tags, outermost first, and of the commit
  std::map<std::string, std::string> links;  // path and target; all stay inside the tree
};

class Intake {
 public:
  // `tag`: what was asked for; a tag object must have this name.
  Intake(std::string tag, IntakeLimits limits, SnapshotSink& sink)
      : tag_(std::move(tag)), limits_(limits), sink_(sink) {}

  // After an error, nothing more is taken.
  base::Result<void> take(std::string_view bytes);
  // At the end of the stream.
  base::Result<Snapshot> finish();

  std::uint64_t objects() const { return objects_; }

 private:
  enum class Phase { greeting, resolving, signed_objects, trees, blobs, ended };

  base::Result<void> take_line(std::string_view line);
  base::Result<void> take_resolved(std::string_view line);
  base::Result<void> begin_object(std::string_view line);
  base::Result<void> check_expected(ObjectType type, const ObjectId& id, std::uint64_t size);
  base::Result<void> add_content(std::string_view bytes);
  base::Result<void> end_object();
  base::Result<void> end_tag();
  base::Result<void> end_commit();
  base::Result<void> end_tree();
  base::Result<void> lay_out();
  base::Result<void> lay_out_below(const ObjectId& tree, const std::string& path, std::uint64_t depth);

  const std::string tag_;
  const IntakeLimits limits_;
  SnapshotSink& sink_;

  Phase phase_ = Phase::greeting;
  std::string line_;  // the part of a line that has come
  bool failed_ = false;

  // The object that is coming.
  bool in_object_ = false;
  ObjectType type_ = ObjectType::blob;
  ObjectId id_;
  std::uint64_t left_ = 0;
  std::string content_;  // of what is not a file, and of links
  bool keeps_content_ = false, is_file_ = false;
  std::optional<ObjectHash> hash_;

  Snapshot snapshot_;
  ObjectId expected_;  // the next tag or commit
  std::uint64_t tags_ = 0, objects_ = 0, tree_bytes_ = 0, bytes_ = 0;
  ObjectId root_;
  std::set<ObjectId> wanted_trees_;
  std::map<ObjectId, std::vector<TreeEntry>> trees_;
  std::vector<SnapshotEntry> entries_;
  struct Places {
    std::vector<std::size_t> files, links;
  };
  std::map<ObjectId, Places> wanted_blobs_;
};

}  // namespace modules::git
