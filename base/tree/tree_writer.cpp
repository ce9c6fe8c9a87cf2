#include "base/tree/tree_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/files/file_read.hpp"
#include "base/files/folder_walk.hpp"
#include "base/files/others.hpp"
#include "base/text.hpp"
#include "base/tree/carry_over.hpp"
#include "base/tree/incoming_file.hpp"
#include "base/tree/inode_flags.hpp"
#include "base/tree/scratch_place.hpp"
#include "base/tree/tree_removal.hpp"

namespace base {

namespace {

// Between pieces somebody may ask to stop; what is small is always written whole.
constexpr std::size_t kPiece = 1024 * 1024;

Result<void> write_all(int fd, std::string_view content, const Tree& tree) {
  for (bool is_first = true; !content.empty(); is_first = false) {
    if (!is_first && tree.is_to_stop())
      return Error(ErrorCode::cancelled, "stopped before the whole file was written");
    const ssize_t written = ::write(fd, content.data(), std::min(content.size(), kPiece));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error(errno, "cannot write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// All that is in one file into another one.
Result<void> copy_all(int from, int to, const Tree& tree) {
  std::vector<char> buffer(kPiece);
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(errno, "cannot read");
    if (got == 0) return {};
    if (auto written = write_all(to, {buffer.data(), static_cast<std::size_t>(got)}, tree); !written)
      return written;
    if (tree.is_to_stop()) return Error(ErrorCode::cancelled, "stopped before the whole file was written");
  }
}

// Whether users can make hard links to files that are not theirs. Then a file in a user's folder may just as
// well be /etc/shadow. How many names it has does not tell: one can be taken away after we have opened it.
bool hard_links_are_unsafe() {
  const auto setting = read_file("/proc/sys/fs/protected_hardlinks", 16);
  return !setting || trim(*setting) == "0";
}

Error may_be_elsewhere(const std::string& path) {
  return {ErrorCode::permission, path +
                                     " may be a hard link to a file elsewhere, because others can write to "
                                     "its folder and fs.protected_hardlinks is 0; not changed"};
}

// The owner of a link that we have just made in a place where nobody else can touch it. That it is the one is
// looked at all the same: a link that leads elsewhere must not become ours to give.
Result<void> own_new_link(int folder, const char* name, const std::string& destination,
                          const Attributes& attributes) {
  const UniqueFd link(::openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!link || ::fstat(link.get(), &st) != 0) return os_error(errno, "cannot open the new link");
  std::string leads_to(destination.size() + 1, '\0');
  const ssize_t size =
      S_ISLNK(st.st_mode) ? ::readlinkat(link.get(), "", leads_to.data(), leads_to.size()) : ssize_t{-1};
  leads_to.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  if (st.st_uid != ::geteuid() || st.st_nlink != 1 || leads_to != destination)
    return Error(ErrorCode::exists, "the new link was replaced");
  const uid_t uid = attributes.uid.value_or(st.st_uid);
  const gid_t gid = attributes.gid.value_or(st.st_gid);
  if ((uid != st.st_uid || gid != st.st_gid) &&
      ::fchownat(link.get(), "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
    return os_error(errno, "cannot set the owner");
  return {};
}

}  // namespace

Error TreeWriter::explained(Error why, std::string_view path, Changing what) {
  // A mount point answers EBUSY.
  if (why.code() != ErrorCode::permission && why.code() != ErrorCode::io) return why;
  const SplitPath parts = split_path(path);
  const auto folder = tree_.folder(parts.folder);
  std::string locked = folder ? why_locked(*folder, std::string(parts.name), path, what) : std::string();
  return locked.empty() ? std::move(why) : Error(ErrorCode::permission, std::move(locked));
}

const std::string& TreeWriter::scratch_name() {
  if (scratch_name_.empty()) renew_scratch();
  return scratch_name_;
}

void TreeWriter::renew_scratch() {
  scratch_name_ = new_scratch_name();
}

std::string TreeWriter::scratch_path(std::string_view path) {
  const std::string_view folder = split_path(path).folder;
  return std::string(folder == "/" ? "" : folder) + "/" + scratch_name();
}

// After the change, never before it: a flush in between would take a change for synced that is yet to come.
Result<void> TreeWriter::note_change(int folder, bool link_is_gone) {
  auto noted = sync_.note(folder);
  if (link_is_gone) tree_.forget();  // folders that were reached through it
  return noted;
}

Result<void> TreeWriter::write_file(std::string_view path, const Seen& seen, std::string_view content,
                                    const Attributes& attributes) {
  const auto fill = [&](int fd) { return write_all(fd, content, tree_); };
  auto written = put_file(path, seen, fill, attributes);
  if (written) return written;
  return explained(std::move(written).error(), path, Changing::name)
      .with_context("writing " + std::string(path));
}

Result<void> TreeWriter::put_file(std::string_view path, const Seen& seen, const Fill& fill,
                                  const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error();
  const std::string name(parts.name);
  IncomingFile file(*folder, scratch_name());
  if (auto opened = file.open(attributes.mode); !opened) return opened;
  if (auto filled = fill(file.fd()); !filled) return filled;
  auto device = set_attributes_of_new(file.fd(), attributes);
  if (!device) return std::move(device).error();
  // What is new has no old content that a power cut could take: it is synced with its group. What replaces a
  // file is synced before the rename. (File systems that do not know how get the safe way, too.)
  if (seen.allows_nothing() && file.appear(name)) return sync_.note(*folder, *device);
  const UniqueFd old(::openat(*folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  const bool is_there = old && ::fstat(old.get(), &found) == 0;
  if (auto same = seen.check(is_there ? &found : nullptr, path); !same) return same;
  if (is_there && S_ISREG(found.st_mode)) {
    auto kept = what_carries_over(*folder, old.get(), found, attributes);
    if (!kept) return std::move(kept).error();
    if (auto carried = carry_over(*kept, old.get(), file.fd()); !carried) return carried;
  }
  if (auto replaced = file.replace(name); !replaced) return replaced;
  return note_change(*folder, is_there && S_ISLNK(found.st_mode));
}

Result<void> TreeWriter::make_folder(std::string_view path, const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  const std::string context = "creating " + std::string(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error().with_context(context);
  const std::string name(parts.name);
  auto place = ScratchPlace::make(*folder, scratch_name());
  if (!place) return explained(std::move(place).error(), path, Changing::name).with_context(context);
  if (::mkdirat(place->folder(), place->name(), 0700) != 0)
    return explained(os_error(errno, "cannot create the temporary " + scratch_name()), path, Changing::name)
        .with_context(context);
  place->filled();
  const UniqueFd made(
      ::openat(place->folder(), place->name(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made) return os_error(errno, "cannot open the new folder").with_context(context);
  if (auto set = set_attributes_of_new(made.get(), attributes); !set)
    return std::move(set).error().with_context(context);
  int renamed = ::renameat2(place->folder(), place->name(), *folder, name.c_str(), RENAME_NOREPLACE);
  // File systems that do not know the flag: a plain rename takes the place of an empty folder at most.
  if (renamed != 0 && (errno == EINVAL || errno == ENOSYS))
    renamed = ::renameat(place->folder(), place->name(), *folder, name.c_str());
  if (renamed != 0) return os_error(errno, "cannot rename").with_context(context);
  place->emptied();
  return note_change(made.get());
}

Result<void> TreeWriter::make_link(std::string_view path, const Seen& seen, std::string_view destination,
                                   const Attributes& attributes) {
  auto linked = put_link(path, seen, std::string(destination), attributes);
  if (linked) return linked;
  return explained(std::move(linked).error(), path, Changing::name)
      .with_context("linking " + std::string(path));
}

Result<void> TreeWriter::put_link(std::string_view path, const Seen& seen, const std::string& destination,
                                  const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error();
  const std::string name(parts.name);
  auto place = ScratchPlace::make(*folder, scratch_name());
  if (!place) return std::move(place).error();
  if (::symlinkat(destination.c_str(), place->folder(), place->name()) != 0)
    return os_error(errno, "cannot create the temporary " + scratch_name());
  place->filled();
  if (auto set = own_new_link(place->folder(), place->name(), destination, attributes); !set) return set;

  if (seen.is_nothing()) {
    if (::renameat2(place->folder(), place->name(), *folder, name.c_str(), RENAME_NOREPLACE) == 0) {
      place->emptied();
      return note_change(*folder);
    }
    if (errno != EEXIST && errno != EINVAL && errno != ENOSYS) return os_error(errno, "cannot rename");
  }
  struct stat old {};
  const bool is_there = ::fstatat(*folder, name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (auto same = seen.check(is_there ? &old : nullptr, path); !same) return same;
  if (::renameat(place->folder(), place->name(), *folder, name.c_str()) != 0)
    return os_error(errno, "cannot rename");
  place->emptied();
  return note_change(*folder, true);
}

Result<void> TreeWriter::set_attributes(std::string_view path, const Seen& seen,
                                        const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  const std::string context = "setting owner and mode of " + std::string(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error().with_context(context);
  const UniqueFd target(::openat(*folder, parts.name.empty() ? "." : std::string(parts.name).c_str(),
                                 O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  const bool is_there = target && ::fstat(target.get(), &st) == 0;
  if (!is_there && errno != ENOENT) return os_error(errno, context);
  if (auto same = seen.check(is_there ? &st : nullptr, path); !same)
    return std::move(same).error().with_context(context);
  if (!is_there) return os_error(ENOENT, context);
  if (S_ISLNK(st.st_mode)) return Error(ErrorCode::exists, context + ": it is a symlink");
  if (!S_ISDIR(st.st_mode) && others_can_write_to(*folder) && hard_links_are_unsafe())
    return may_be_elsewhere(std::string(path));
  if (auto set = set_attributes_of_found(target.get(), st, attributes); !set)
    return explained(std::move(set).error(), path, Changing::attributes).with_context(context);
  return note_change(*folder);
}

Result<void> TreeWriter::set_folder_attributes(std::string_view path, const Seen& seen,
                                               const Attributes& attributes) {
  const std::string context = "setting owner and mode of " + std::string(path);
  auto folder = tree_.folder(path);
  if (!folder) return std::move(folder).error().with_context(context);
  struct stat st {};
  if (::fstat(*folder, &st) != 0) return os_error(errno, context);
  if (auto same = seen.check(&st, path); !same) return std::move(same).error().with_context(context);
  if (auto set = set_attributes_of_found(*folder, st, attributes); !set)
    return explained(std::move(set).error(), path, Changing::attributes).with_context(context);
  return note_change(*folder);
}

Result<std::size_t> TreeWriter::set_attributes_below(std::string_view path, const Seen& seen,
                                                     const Choose& choose, Interrupt& interrupt) {
  auto folder = tree_.folder(path);
  if (!folder) return std::move(folder).error();
  struct stat top {};
  if (::fstat(*folder, &top) != 0) return os_error(errno, std::string(path));
  if (auto same = seen.check(&top, path); !same) return std::move(same).error();
  const bool unsafe_links = hard_links_are_unsafe();
  std::size_t changed = 0;
  std::size_t refused = 0;
  std::optional<Error> first_refusal;
  const auto visit = [&](const WalkEntry& entry) -> Result<void> {
    if (S_ISLNK(entry.info.st_mode) || entry.is_mount || !choose(entry.info)) return {};
    const UniqueFd target(::openat(entry.folder, entry.name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat st {};
    if (!target && errno == ENOENT) return {};
    if (!target || ::fstat(target.get(), &st) != 0) return os_error(errno, "cannot open " + entry.path());
    if (S_ISLNK(st.st_mode)) return {};
    const auto wanted = choose(st);  // of what is open, in case it was swapped
    if (!wanted) return {};
    if (unsafe_links && !S_ISDIR(st.st_mode) && others_can_write_to(entry.folder))
      return may_be_elsewhere(entry.path());
    auto set = set_attributes_of_found(target.get(), st, *wanted);
    if (set) {
      ++changed;
      return {};
    }
    Error why = std::move(set).error();
    if (why.code() == ErrorCode::permission)
      if (std::string locked = why_locked(entry.folder, entry.name, entry.path(), Changing::attributes);
          !locked.empty())
        why = Error(ErrorCode::permission, std::move(locked));
    why = std::move(why).with_context("setting owner and mode of " + entry.path());
    if (why.code() != ErrorCode::permission) return why;
    // Who holds one file open does not keep us from the others.
    if (refused++ == 0) first_refusal = std::move(why);
    return {};
  };
  auto walked = walk_below(*folder, path, interrupt, visit);
  if (auto noted = note_change(*folder); !noted) return std::move(noted).error();
  if (!walked) return std::move(walked).error();
  if (refused > 1)
    return std::move(*first_refusal).with_context(std::to_string(refused) + " were refused, the first");
  if (refused == 1) return std::move(*first_refusal);
  return changed;
}

Result<void> TreeWriter::remove(std::string_view path, const Seen& seen) {
  const SplitPath parts = split_path(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder)
    return folder.error().code() == ErrorCode::not_found ? Result<void>() : std::move(folder).error();
  const std::string name(parts.name);
  struct stat old {};
  if (::fstatat(*folder, name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<void>() : os_error(errno, "cannot remove " + std::string(path));
  if (auto same = seen.check(&old, path); !same) return same;
  if (::unlinkat(*folder, name.c_str(), 0) != 0 && errno != ENOENT)
    return explained(os_error(errno, "cannot remove " + std::string(path)), path, Changing::name);
  return note_change(*folder, S_ISLNK(old.st_mode));
}

Result<void> TreeWriter::write_again(std::string_view path) {
  const SplitPath parts = split_path(path);
  const std::string context = "writing " + std::string(path) + " to disk again";
  auto folder = tree_.folder(parts.folder);
  if (!folder &&
      (folder.error().code() == ErrorCode::not_found || folder.error().code() == ErrorCode::exists))
    return {};
  if (!folder) return std::move(folder).error().with_context(context);
  const std::string name(parts.name);
  struct stat st {};
  if (::fstatat(*folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<void>() : os_error(errno, context);
  if (!S_ISREG(st.st_mode)) return note_change(*folder);
  // A new file has new blocks: those of the old one may be lost, and what says where they are.
  const UniqueFd old(::openat(*folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat opened {};
  if (!old || ::fstat(old.get(), &opened) != 0) return os_error(errno, context);
  if (auto is_same = Seen(st).check(&opened, path); !is_same)
    return std::move(is_same).error().with_context(context);
  const Attributes same{.uid = st.st_uid, .gid = st.st_gid, .mode = st.st_mode & 07777};
  const auto fill = [&](int fd) { return copy_all(old.get(), fd, tree_); };
  auto written = put_file(path, Seen(st), fill, same);
  if (written) return written;
  return explained(std::move(written).error(), path, Changing::name).with_context(context);
}

Result<void> TreeWriter::remove_scratch(std::string_view scratch) {
  const SplitPath parts = split_path(scratch);
  auto folder = tree_.folder(parts.folder);
  if (!folder)
    return folder.error().code() == ErrorCode::not_found ? Result<void>() : std::move(folder).error();
  if (!clear_scratch(*folder, std::string(parts.name)))
    return os_error(errno, "cannot remove " + std::string(scratch));
  return {};
}

Result<void> TreeWriter::remove_tree(std::string_view path, const Seen& seen, Interrupt& interrupt) {
  const SplitPath parts = split_path(path);
  const std::string name(parts.name);
  if (name.empty()) return Error(ErrorCode::invalid, "the root is not removed");
  auto found = tree_.folder(parts.folder);
  if (!found) return std::move(found).error();
  const UniqueFd folder(::fcntl(*found, F_DUPFD_CLOEXEC, 0));  // forget() below must not close it
  tree_.forget();
  if (!folder) return os_error(errno, "cannot open " + std::string(parts.folder));
  UniqueFd top = open_subfolder(folder.get(), name.c_str());
  if (!top && errno == EXDEV)
    return Error(ErrorCode::exists, std::string(path) + " is a mount point, not removed");
  struct stat st {};
  if (!top || ::fstat(top.get(), &st) != 0) return os_error(errno, "cannot open " + std::string(path));
  if (auto same = seen.check(&st, path); !same) return same;
  if (auto emptied = empty_folder(std::move(top), std::string(path), interrupt); !emptied) return emptied;
  if (::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) != 0)
    return os_error(errno, "cannot remove " + std::string(path));
  return note_change(folder.get());
}

}  // namespace base
