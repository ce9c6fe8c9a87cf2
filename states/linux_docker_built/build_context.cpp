#include "states/linux_docker_built/build_context.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace states::linux_docker_built {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kBlock = 512;
constexpr std::size_t kPiece = 128 * kBlock;
constexpr int kDeepest = 200;
constexpr std::size_t kLongestLink = 4096;

// Octal as tar has it; numbers that do not fit in base 256.
void put_number(char* field, std::size_t size, std::uint64_t number) {
  if (number < std::uint64_t(1) << (3 * (size - 1))) {
    std::snprintf(field, size, "%0*llo", static_cast<int>(size - 1), static_cast<unsigned long long>(number));
    return;
  }
  for (std::size_t i = size; i-- > 1; number >>= 8)
    field[i] = static_cast<char>(number & 0xff);
  field[0] = static_cast<char>(0x80);
}

struct Header {
  std::string_view path, link;
  char type = '0';
  unsigned mode = 0;
  std::uint64_t size = 0;
  std::int64_t time = 0;
};

std::string block_of(const Header& header) {
  std::array<char, kBlock> block{};
  const auto put = [&](std::size_t at, std::string_view text, std::size_t size) {
    std::ranges::copy(text.substr(0, size), block.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(0, header.path, 100);
  put_number(block.data() + 100, 8, header.mode);
  put_number(block.data() + 108, 8, 0);
  put_number(block.data() + 116, 8, 0);
  put_number(block.data() + 124, 12, header.size);
  put_number(block.data() + 136, 12, static_cast<std::uint64_t>(std::max<std::int64_t>(header.time, 0)));
  put(148, "        ", 8);
  block[156] = header.type;
  put(157, header.link, 100);
  put(257, std::string_view("ustar  \0", 8), 8);  // GNU's, which has long names
  unsigned sum = 0;
  for (const char c : block)
    sum += static_cast<unsigned char>(c);
  std::snprintf(block.data() + 148, 8, "%06o", sum);
  block[155] = ' ';
  return {block.data(), block.size()};
}

std::string padding(std::uint64_t size) {
  return std::string(static_cast<std::size_t>((kBlock - size % kBlock) % kBlock), '\0');
}

// A name that is too long for the header comes before it, as a member of its own.
std::string long_name(char type, const std::string& text) {
  if (text.size() < 100) return {};
  const std::string bytes = text + std::string(1, '\0');
  return block_of({.path = "././@LongLink", .type = type, .mode = 0644, .size = bytes.size()}) + bytes +
         padding(bytes.size());
}

// Below the folder and through no link, whatever others make of it meanwhile.
base::UniqueFd open_below(int folder, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return base::UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
}

}  // namespace

Result<BuildContext> BuildContext::open(base::UniqueFd folder, const IgnoreRules& rules,
                                        base::Interrupt& interrupt) {
  BuildContext context(std::move(folder));
  if (auto listed = context.list(context.folder_.get(), "", 0, rules, interrupt); !listed)
    return std::move(listed).error();
  return context;
}

Result<void> BuildContext::list(int folder, const std::string& path, int depth, const IgnoreRules& rules,
                                base::Interrupt& interrupt) {
  if (depth > kDeepest) return Error(ErrorCode::limit, path + " is too deep");
  if (interrupt.requested()) return Error(ErrorCode::cancelled, "Cancelled");
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (!open) return base::os_error(errno, "reading " + (path.empty() ? "the folder" : path));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") {
      if (names.size() == kMostMembers)
        return Error(ErrorCode::limit, "more than " + std::to_string(kMostMembers) + " files");
      names.emplace_back(name);
    }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string inside = path.empty() ? name : path + "/" + name;
    const bool is_ignored = rules.ignores(inside);
    struct stat st {};
    if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return base::os_error(errno, inside);
    }
    if (is_ignored && (!S_ISDIR(st.st_mode) || rules.may_skip_folders())) continue;
    Member member{.path = inside, .mode = st.st_mode & 07777U, .time = st.st_mtim.tv_sec};
    if (S_ISREG(st.st_mode)) {
      member.size = static_cast<std::uint64_t>(st.st_size);
    } else if (S_ISLNK(st.st_mode)) {
      std::string target(kLongestLink, '\0');
      const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
      if (length < 0) return base::os_error(errno, inside);
      target.resize(static_cast<std::size_t>(length));
      member.type = '2';
      member.link = std::move(target);
    } else if (S_ISDIR(st.st_mode)) {
      member.type = '5';
    } else {
      continue;
    }
    const bool is_folder = member.type == '5';
    bytes_ += member.size;
    if (!is_ignored) members_.push_back(std::move(member));
    if (members_.size() > kMostMembers)
      return Error(ErrorCode::limit, "more than " + std::to_string(kMostMembers) + " files");
    if (bytes_ > kLargestFolder)
      return Error(ErrorCode::limit, "more than " + std::to_string(kLargestFolder) + " bytes");
    if (!is_folder) continue;
    const base::UniqueFd below = open_below(folder, name, O_RDONLY | O_DIRECTORY);
    if (!below) return base::os_error(errno, inside);
    if (auto listed = list(below.get(), inside, depth + 1, rules, interrupt); !listed) return listed;
  }
  return {};
}

Result<std::string> BuildContext::next() {
  if (left_ > 0) return read_on();
  file_.reset();
  if (at_ < members_.size()) return begin_member();
  if (has_ended_) return std::string();
  has_ended_ = true;
  return std::string(2 * kBlock, '\0');
}

Result<std::string> BuildContext::begin_member() {
  const Member& member = members_[at_++];
  if (member.type == '0') {
    file_ = open_below(folder_.get(), member.path, O_RDONLY);
    if (!file_) return base::os_error(errno, "reading " + member.path);
    struct stat st {};
    if (::fstat(file_.get(), &st) != 0) return base::os_error(errno, "reading " + member.path);
    if (!S_ISREG(st.st_mode))
      return Error(ErrorCode::exists, member.path + " is something else than it was a moment ago");
    left_ = member.size;
  }
  const std::string path = member.path + (member.type == '5' ? "/" : "");
  return long_name('K', member.link) + long_name('L', path) +
         block_of({path, member.link, member.type, member.mode, member.size, member.time});
}

Result<std::string> BuildContext::read_on() {
  const Member& member = members_[at_ - 1];
  std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(left_, kPiece)), '\0');
  ssize_t got = 0;
  do {
    got = ::read(file_.get(), piece.data(), piece.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return base::os_error(errno, "reading " + member.path);
  if (got == 0) return Error(ErrorCode::io, member.path + " became shorter while it was read");
  piece.resize(static_cast<std::size_t>(got));
  left_ -= static_cast<std::uint64_t>(got);
  if (left_ == 0) piece += padding(member.size);
  return piece;
}

}  // namespace states::linux_docker_built
