#include "states/common_archive/extraction.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/private_folder.hpp"
#include "base/unique_fd.hpp"

namespace states::common_archive {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestInMemory = 8 * 1024 * 1024;
constexpr mode_t kFolderMode = 0755;  // of folders that the archive only implies

// To be asked once a member and once a piece: unpacking may take long.
Result<void> go_on(Context& context) {
  if (context.interrupt.requested()) return Error(ErrorCode::cancelled, "Cancelled while extracting");
  if (context.commands.time_left().count() <= 0)
    return Error(ErrorCode::timed_out, "Timed out while extracting");
  return {};
}

// The content of one member: in memory while it is small, then in a file without a name, which is mapped.
class MemberContent {
 public:
  explicit MemberContent(std::string folder) : folder_(std::move(folder)) {}
  ~MemberContent() { drop(); }
  MemberContent(const MemberContent&) = delete;

  void clear() {
    drop();
    small_.clear();
    file_.reset();
    size_ = 0;
  }

  Result<void> add(std::string_view bytes) {
    size_ += bytes.size();
    if (!file_ && size_ <= kLargestInMemory) {
      small_.append(bytes);
      return {};
    }
    if (!file_) {
      if (auto opened = spill(); !opened) return opened;
    }
    return write(bytes);
  }

  Result<std::string_view> view() {
    if (!file_) return std::string_view(small_);
    void* const at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.get(), 0);
    if (at == MAP_FAILED) return base::os_error(errno, "mapping a member of an archive");
    mapped_ = {static_cast<const char*>(at), size_};
    return mapped_;
  }

 private:
  Result<void> spill() {
    auto way = base::make_private_folder(folder_);
    if (!way) return std::move(way).error();
    file_.reset(::open(folder_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
    if (!file_) return base::os_error(errno, "making a file in " + folder_);
    auto written = write(small_);
    small_.clear();
    return written;
  }
  Result<void> write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return base::os_error(written < 0 ? errno : EIO, "writing in " + folder_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }
  void drop() {
    if (!mapped_.empty()) ::munmap(const_cast<char*>(mapped_.data()), mapped_.size());
    mapped_ = {};
  }

  const std::string folder_;
  std::string small_;
  base::UniqueFd file_;
  std::string_view mapped_;
  std::size_t size_ = 0;
};

// One extraction at work.
class Extraction {
 public:
  Extraction(const std::string& folder, ApplyContext& context)
      : folder_(folder), context_(context), content_(context.host.state_dir + "/downloads") {}

  Result<void> put(const Member& member, ArchiveReader& reader, MemberCheck& check) {
    auto inner = member_path(member.path);
    if (!inner) return std::move(inner).error();
    if (inner->empty()) return {};
    const std::string path = (folder_ == "/" ? "" : folder_) + "/" + *inner;
    if (auto made = make_way(*inner); !made) return made;
    switch (member.kind) {
      case MemberKind::folder:
        return make_folder(path, member.mode & 0777);
      case MemberKind::symlink:
        return put_link(path, member.link);
      case MemberKind::hard_link:
        return put_copy(path, member);
      case MemberKind::file:
        return put_file(path, member, reader, check);
      case MemberKind::other:
        break;
    }
    return Error(ErrorCode::internal, "a member that was refused before");
  }

 private:
  // The folders that lead to a member. `known_` has those that were there a moment ago.
  Result<void> make_way(std::string_view inner) {
    const std::size_t slash = inner.rfind('/');
    const std::string_view way =
        slash == std::string_view::npos ? std::string_view() : inner.substr(0, slash);
    if (way == known_) return {};
    for (std::size_t end = 0; end < way.size(); ++end) {
      end = std::min(way.find('/', end), way.size());
      const std::string path = (folder_ == "/" ? "" : folder_) + "/" + std::string(way.substr(0, end));
      if (auto made = make_folder(path, kFolderMode); !made) return made;
    }
    known_ = way;
    return {};
  }

  Result<void> make_folder(const std::string& path, mode_t mode) {
    auto found = context_.tree.look(path);
    if (!found) return std::move(found).error();
    if (!*found) return context_.files.make_folder(path, ours(mode | S_IRWXU));
    if (S_ISDIR((*found)->st_mode)) return {};
    return Error(ErrorCode::exists,
                 path + (S_ISLNK((*found)->st_mode) ? " is a symlink: nothing is extracted through links"
                                                    : " exists and is not a directory"));
  }

  Result<void> put_file(const std::string& path, const Member& member, ArchiveReader& reader,
                        MemberCheck& check) {
    content_.clear();
    auto read = reader.read([&](std::string_view piece) -> Result<void> {
      if (auto fine = go_on(context_); !fine) return fine;
      if (auto counted = check.count(piece.size()); !counted) return counted;
      return content_.add(piece);
    });
    if (!read) return read;
    auto bytes = content_.view();
    if (!bytes) return std::move(bytes).error();
    return write(path, *bytes, member.mode & 0777);
  }

  // A second name of a file becomes a file of its own.
  Result<void> put_copy(const std::string& path, const Member& member) {
    auto target = member_path(member.link);
    if (!target) return std::move(target).error();
    const std::string from = (folder_ == "/" ? "" : folder_) + "/" + *target;
    auto found = context_.tree.look(from);
    if (!found) return std::move(found).error();
    if (!*found || !S_ISREG((*found)->st_mode))
      return Error(ErrorCode::invalid, "damaged: " + path + " is a link to " + from + ", which is no file");
    content_.clear();
    Result<void> kept;
    auto read = context_.tree.read_pieces(from, [&](std::string_view piece) {
      if (kept) kept = content_.add(piece);
    });
    if (!read) return read;
    if (!kept) return kept;
    auto bytes = content_.view();
    if (!bytes) return std::move(bytes).error();
    return write(path, *bytes, (*found)->st_mode & 0777);
  }

  Result<void> write(const std::string& path, std::string_view bytes, mode_t mode) {
    auto found = context_.tree.look(path);
    if (!found) return std::move(found).error();
    if (*found && S_ISDIR((*found)->st_mode))
      return Error(ErrorCode::exists, path + " exists and is a directory");
    if (*found && S_ISREG((*found)->st_mode) && is_ours(**found, mode)) {
      auto same = context_.tree.has_content(path, bytes);
      if (!same) return std::move(same).error();
      if (*same) return {};
    }
    return context_.files.write_file(path, base::Seen(*found), bytes, ours(mode));
  }

  Result<void> put_link(const std::string& path, const std::string& destination) {
    auto found = context_.tree.look(path);
    if (!found) return std::move(found).error();
    if (*found && S_ISDIR((*found)->st_mode))
      return Error(ErrorCode::exists, path + " exists and is a directory");
    if (*found && S_ISLNK((*found)->st_mode)) {
      const auto present = context_.tree.read_link(path);
      if (present && *present == destination) return {};
    }
    return context_.files.make_link(path, base::Seen(*found), destination, ours(std::nullopt));
  }

  // What is extracted is the agent's own (root), as recipes expect, whoever made the archive.
  static base::Attributes ours(std::optional<mode_t> mode) {
    return {.uid = ::geteuid(), .gid = ::getegid(), .mode = mode};
  }
  static bool is_ours(const struct stat& found, mode_t mode) {
    return found.st_uid == ::geteuid() && found.st_gid == ::getegid() && (found.st_mode & 07777) == mode;
  }

  const std::string& folder_;
  ApplyContext& context_;
  MemberContent content_;
  std::string known_;
};

Error in_words(const Error& why) {
  return why.message().starts_with("damaged: ") ? why.with_context("Archive") : why;
}

}  // namespace

Result<std::uint64_t> check_archive(std::string_view bytes, const ArchiveLimits& limits, Context& context) {
  auto reader = ArchiveReader::open(bytes);
  if (!reader) return in_words(reader.error());
  MemberCheck check(bytes.size(), limits);
  while (true) {
    auto member = reader->next();
    if (!member) return in_words(member.error());
    if (!*member) break;
    if (auto fine = go_on(context); !fine) return std::move(fine).error();
    if (auto admitted = check.admit(**member); !admitted) return std::move(admitted).error();
    if ((*member)->kind != MemberKind::file) continue;
    // Counted, not believed: also finds out whether all of it can be unpacked, before the first file changes.
    auto read = reader->read([&](std::string_view piece) -> Result<void> {
      if (auto fine = go_on(context); !fine) return fine;
      return check.count(piece.size());
    });
    if (!read) return in_words(read.error());
  }
  if (check.members() == 0) return Error(ErrorCode::invalid, "Archive is empty");
  return check.members();
}

Result<void> extract_archive(std::string_view bytes, const std::string& folder, const ArchiveLimits& limits,
                             ApplyContext& context) {
  auto reader = ArchiveReader::open(bytes);
  if (!reader) return in_words(reader.error());
  MemberCheck check(bytes.size(), limits);
  Extraction extraction(folder, context);
  while (true) {
    auto member = reader->next();
    if (!member) return in_words(member.error());
    if (!*member) return {};
    if (auto fine = go_on(context); !fine) return fine;
    if (auto admitted = check.admit(**member); !admitted) return admitted;
    if (auto put = extraction.put(**member, *reader, check); !put) return in_words(put.error());
  }
}

}  // namespace states::common_archive
