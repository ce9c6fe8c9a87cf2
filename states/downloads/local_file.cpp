#include "states/downloads/local_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/digest.hpp"
#include "base/files/others.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/tree/tree.hpp"
#include "base/unique_fd.hpp"
#include "states/downloads/download.hpp"

namespace states::downloads {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Error not_ours(const std::string& path, const std::string& why) {
  return {
      ErrorCode::permission,
      path + " can be changed by others (" + why +
          "), who would choose what is installed as root. Put it where only root can write; or " +
          "write its checksum behind the path, #sha256=… as sha256sum prints it for a copy that you trust"};
}

Error mismatch(const std::string& path, const Checksum& wanted, const std::string& got) {
  return {ErrorCode::invalid, "Checksum mismatch for " + path + ": wanted " + wanted.text() + ", got " +
                                  Checksum{wanted.kind, got}.text()};
}

// What is larger is no package, but somebody who fills the disk.
Result<void> check_size(const std::string& path, Context& context) {
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  if (*found && static_cast<std::uint64_t>((*found)->st_size) <= kLargest) return {};
  return *found ? Error(ErrorCode::limit, path + " is larger than " + std::to_string(kLargest) + " bytes")
                : Error(ErrorCode::not_found, path + " does not exist");
}

}  // namespace

Result<void> check_local(const std::string& path, const std::optional<Checksum>& checksum, Context& context) {
  if (checksum) {
    if (auto fine = check_size(path, context); !fine) return fine;
    base::Digest digest(checksum->kind);
    auto read = context.tree.read_pieces(path, [&](std::string_view piece) { digest.add(piece); });
    if (!read) return read;
    const std::string got = digest.finish();
    return got == checksum->hex ? Result<void>() : Result<void>(mismatch(path, *checksum, got));
  }
  auto real = context.tree.followed_path(path);
  if (!real) return std::move(real).error();
  auto folder = base::open_guarded_folder(context.host.root + std::string(base::split_path(*real).folder));
  if (!folder) return not_ours(path, folder.error().message());
  auto found = context.tree.look(*real);
  if (!found) return std::move(found).error();
  if (!*found) return Error(ErrorCode::not_found, path + " does not exist");
  if (base::others_may_have_open(**found))
    return not_ours(path, base::is_other((*found)->st_uid)
                              ? "it belongs to uid " + std::to_string((*found)->st_uid)
                              : "its mode lets others write to it");
  return {};
}

Result<OwnCopy> OwnCopy::make(const std::string& path, const Checksum& checksum, std::string_view ending,
                              ApplyContext& context) {
  if (auto fine = check_size(path, context); !fine) return std::move(fine).error();
  const std::string folder = context.host.state_dir + "/downloads";
  if (auto made = base::make_private_folder(folder); !made) return std::move(made).error();
  OwnCopy copy(folder + "/copy-" + base::sha256_hex(path).substr(0, 16) + std::string(ending));
  ::unlink(copy.path_.c_str());
  const base::UniqueFd to(::open(copy.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!to) return base::os_error(errno, "copying " + path);
  base::Digest digest(checksum.kind);
  Result<void> written;
  auto read = context.tree.read_pieces(path, [&](std::string_view piece) {
    digest.add(piece);
    while (written && !piece.empty()) {
      const ssize_t count = ::write(to.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0)
        written = base::os_error(count < 0 ? errno : EIO, "copying " + path);
      else
        piece.remove_prefix(static_cast<std::size_t>(count));
    }
  });
  if (!read) return std::move(read).error();
  if (!written) return std::move(written).error();
  if (const std::string got = digest.finish(); got != checksum.hex) return mismatch(path, checksum, got);
  return copy;
}

OwnCopy::~OwnCopy() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

OwnCopy::OwnCopy(OwnCopy&& other) noexcept : path_(std::exchange(other.path_, {})) {}

OwnCopy& OwnCopy::operator=(OwnCopy&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace states::downloads
