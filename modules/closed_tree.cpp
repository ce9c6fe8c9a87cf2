#include "modules/closed_tree.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/files/others.hpp"
#include "base/files/private_folder.hpp"

namespace modules {

namespace {

namespace fs = std::filesystem;

base::Error open_to_others(const std::string& path) {
  return {base::ErrorCode::permission,
          path +
              " can be changed by others: what is in it would run as this user. Give it to root, and: "
              "chmod go-w " +
              path};
}

// What others can change is not followed; what is ours may lead within the folder.
base::Result<void> check_link(const fs::path& link, const std::string& folder) {
  std::error_code wrong;
  const std::string end = fs::weakly_canonical(link, wrong).string();
  if (!wrong && (end == folder || end.starts_with(folder + "/"))) return {};
  return base::Error(base::ErrorCode::permission, link.string() + " is a link that leads out of " + folder +
                                                      "; put the file itself there");
}

}  // namespace

base::Result<std::string> closed_tree(const std::string& folder) {
  auto way = base::open_guarded_folder(folder);
  if (!way) return std::move(way).error();
  std::error_code wrong;
  std::size_t count = 0;
  for (fs::recursive_directory_iterator entry(way->path, wrong), end; !wrong && entry != end;
       entry.increment(wrong)) {
    if (++count > kMostFiles)
      return base::Error(base::ErrorCode::limit,
                         way->path + " has more than " + std::to_string(kMostFiles) + " files");
    const std::string path = entry->path().string();
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) return base::os_error(errno, path);
    if (S_ISLNK(found.st_mode)) {
      if (base::is_other(found.st_uid)) return open_to_others(path);
      if (auto fine = check_link(entry->path(), way->path); !fine) return std::move(fine).error();
      continue;
    }
    if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
      return base::Error(base::ErrorCode::invalid, path + " is neither a file nor a folder");
    if (S_ISDIR(found.st_mode) ? !base::open_guarded_folder(path) : base::others_may_have_open(found))
      return open_to_others(path);
  }
  if (wrong) return base::Error(base::ErrorCode::io, way->path + ": " + wrong.message());
  return std::move(way->path);
}

}  // namespace modules
