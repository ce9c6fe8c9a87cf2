#include "agent/engine/watches/watched_folder.hpp"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/files/folder_walk.hpp"
#include "base/sha256.hpp"

namespace agent::engine {

namespace {

using base::Result;

std::string too_much(std::string_view path, const std::string& what) {
  return "Cannot watch " + std::string(path) + ": " + what + ". Watch the files or folders in it that matter";
}

class Digester {
 public:
  Digester(std::string_view path, base::Tree& tree, const FolderLimits& limits, const DigestOfFile& digest_of)
      : path_(path), tree_(tree), limits_(limits), digest_of_(digest_of) {}

  Result<void> add(const base::WalkEntry& entry) {
    const std::string below = entry.path();  // "/a/b"
    if (rows_.size() >= limits_.entries)
      return limit("more than " + std::to_string(limits_.entries) + " files and folders are below it");
    if (static_cast<std::size_t>(std::ranges::count(below, '/')) > limits_.depth)
      return limit("folders in it are nested more than " + std::to_string(limits_.depth) + " deep");
    Row row{.name = below};
    if (S_ISREG(entry.info.st_mode)) {
      WatchedPath file{
          .end = base::UniqueFd(::openat(entry.folder, entry.name, O_PATH | O_NOFOLLOW | O_CLOEXEC))};
      if (!file.end || ::fstat(file.end.get(), &file.st) != 0) return {};  // vanished just now
      auto is = content(file, below);
      if (!is) return std::move(is).error();
      row.is = "file " + *is;
    } else if (S_ISLNK(entry.info.st_mode)) {
      auto is = link(entry, below);
      if (!is) return std::move(is).error();
      row.is = std::move(*is);
    } else {
      row.is = entry.is_mount ? "mount" : "kind " + std::to_string(entry.info.st_mode & S_IFMT);
    }
    rows_.push_back(std::move(row));
    return {};
  }

  // Whatever the order in which the folder lists them.
  std::string finish() {
    std::ranges::sort(rows_, {}, &Row::name);
    base::Sha256 sha;
    sha.add("folder");
    for (const Row& row : rows_)
      for (const std::string* part : {&row.name, &row.is}) {
        sha.add(std::to_string(part->size()) + ":");
        sha.add(*part);
      }
    return sha.finish();
  }

 private:
  struct Row {
    std::string name;
    std::string is;
  };

  base::Error limit(const std::string& what) const {
    return base::Error(base::ErrorCode::limit, too_much(path_, what));
  }

  Result<std::string> content(const WatchedPath& file, const std::string& below) {
    if (!S_ISREG(file.st.st_mode)) return std::string();
    bytes_ += file.st.st_size;
    if (file.st.st_size > limits_.bytes || bytes_ > limits_.bytes)
      return limit("the files below it have more than " + std::to_string(limits_.bytes / 1024 / 1024) +
                   " MiB together");
    return digest_of_(file, std::string(path_) + below);
  }

  Result<std::string> link(const base::WalkEntry& entry, const std::string& below) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(entry.folder, entry.name, target.data(), target.size());
    if (length < 0) return std::string("link");  // replaced just now
    std::string is = "link " + std::string(target.data(), static_cast<std::size_t>(length));
    auto end = tree_.follow(std::string(path_) + below);
    if (!end) return is;  // dangling, or not to be followed: then it counts by where it points
    WatchedPath file{.end = std::move(*end)};
    if (::fstat(file.end.get(), &file.st) != 0) return is;
    auto digest = content(file, below);
    if (!digest) return digest;
    return is + " " + *digest;
  }

  std::string_view path_;
  base::Tree& tree_;
  const FolderLimits& limits_;
  const DigestOfFile& digest_of_;
  std::vector<Row> rows_;
  off_t bytes_ = 0;
};

}  // namespace

Result<std::string> folder_digest(const WatchedPath& folder, std::string_view path, base::Tree& tree,
                                  const FolderLimits& limits, base::Interrupt& interrupt,
                                  const DigestOfFile& digest_of) {
  Digester digester(path, tree, limits, digest_of);
  auto walked = base::walk_below(folder.end.get(), {}, interrupt,
                                 [&](const base::WalkEntry& entry) { return digester.add(entry); });
  if (!walked) return std::move(walked).error();
  return digester.finish();
}

}  // namespace agent::engine
