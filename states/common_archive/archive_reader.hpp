// ArchiveReader: the members of an archive, one after the other, as libarchive reads them. The only part that
// sees libarchive.
//
// Reads tar and zip, and gzip, bzip2 and xz around a tar; nothing else is switched on, because every format
// more is code that strangers' bytes run through. What it says of members is the archive's word: check it
// (member_check.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace states::common_archive {

enum class MemberKind { file, folder, symlink, hard_link, other };

struct Member {
  std::string path;  // as the archive has it, bytes
  MemberKind kind = MemberKind::file;
  mode_t mode = 0;         // permissions, set-user-id bits included
  std::string link;        // where a link leads
  std::uint64_t size = 0;  // as announced; 0 where it is not
};

class ArchiveReader {
 public:
  // `bytes` outlive the reader.
  static base::Result<ArchiveReader> open(std::string_view bytes);
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;

  // The next member; nothing after the last. An error: "damaged: …".
  base::Result<std::optional<Member>> next();
  // The bytes of the member that next() has told of, in pieces and with the gaps of sparse files as zeros.
  // An error of `take` ends it and is its error.
  base::Result<void> read(const std::function<base::Result<void>(std::string_view)>& take);

 private:
  struct State;
  explicit ArchiveReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace states::common_archive
