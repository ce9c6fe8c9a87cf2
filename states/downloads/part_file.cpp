#include "states/downloads/part_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace states::downloads {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
namespace fs = std::filesystem;

constexpr std::chrono::hours kKept(48);
constexpr std::size_t kLargestNote = 8 * 1024;
constexpr std::string_view kNote = ".from";

void remove_old(const std::string& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    const auto written = fs::last_write_time(at->path(), unknown);
    if (!unknown && now - written > kKept) fs::remove(at->path(), unknown);
  }
}

}  // namespace

Result<PartFile> PartFile::open(const std::string& folder, const std::string& url) {
  auto way = base::make_private_folder(folder);
  if (!way) return std::move(way).error();
  remove_old(folder);
  const std::string path = folder + "/" + base::sha256_hex(url).substr(0, 32) + ".part";
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) return base::os_error(errno, "opening " + path);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return base::os_error(errno, "looking at " + path);
  if (!S_ISREG(st.st_mode)) return Error(ErrorCode::exists, path + " is in the way: it is not a file");
  PartFile part(std::move(*way), path, std::move(fd));
  part.size_ = static_cast<std::uint64_t>(st.st_size);
  part.read_beginning();
  return part;
}

// A beginning without its note is of no use.
void PartFile::read_beginning() {
  const auto note = base::read_file(path_ + std::string(kNote), kLargestNote);
  const auto lines = note ? base::split(*note, '\n') : std::vector<std::string_view>();
  if (size_ == 0 || lines.size() != 3) {
    (void)start_over();
    return;
  }
  begun_ = {.etag = std::string(lines[0]), .last_modified = std::string(lines[1])};
  is_continued_ = true;
}

Result<void> PartFile::start_over() {
  is_continued_ = false;
  begun_ = {};
  size_ = 0;
  if (::ftruncate(fd_.get(), 0) != 0) return base::os_error(errno, "shortening " + path_);
  return {};
}

Result<void> PartFile::begin(std::uint64_t at, const transport::Validators& validators) {
  if (at > 0) return {};
  if (auto emptied = start_over(); !emptied) return emptied;
  begun_ = validators;
  const std::string note = validators.etag + "\n" + validators.last_modified + "\n";
  return base::write_durable_file(path_ + std::string(kNote), note);
}

Result<void> PartFile::take(std::string_view bytes) {
  if (auto written = write_all(bytes); !written) return written;
  if (on_progress) on_progress(size_);
  return {};
}

Result<void> PartFile::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return base::os_error(written < 0 ? errno : EIO, "writing " + path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

void PartFile::remove() {
  ::unlink(path_.c_str());
  ::unlink((path_ + std::string(kNote)).c_str());
}

}  // namespace states::downloads
