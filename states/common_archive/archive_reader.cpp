#include "states/common_archive/archive_reader.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/output_text.hpp"

namespace states::common_archive {

struct ArchiveReader::State {
  ~State() { ::archive_read_free(archive); }
  struct archive* archive = nullptr;
};

namespace {

base::Error damaged(struct archive* archive) {
  const char* const why = ::archive_error_string(archive);
  return {base::ErrorCode::invalid,
          "damaged: " + base::clean_output(why ? why : "libarchive does not say why")};
}

std::string text(const char* bytes) {
  return bytes ? std::string(bytes) : std::string();
}

MemberKind kind_of(struct archive_entry* entry) {
  if (::archive_entry_hardlink(entry)) return MemberKind::hard_link;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return MemberKind::file;
    case AE_IFDIR:
      return MemberKind::folder;
    case AE_IFLNK:
      return MemberKind::symlink;
    default:
      return MemberKind::other;
  }
}

}  // namespace

ArchiveReader::ArchiveReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;

base::Result<ArchiveReader> ArchiveReader::open(std::string_view bytes) {
  auto state = std::make_unique<State>();
  state->archive = ::archive_read_new();
  if (!state->archive) return base::Error(base::ErrorCode::io, "no memory for an archive");
  struct archive* const archive = state->archive;
  ::archive_read_support_filter_gzip(archive);
  ::archive_read_support_filter_bzip2(archive);
  ::archive_read_support_filter_xz(archive);
  ::archive_read_support_format_tar(archive);
  ::archive_read_support_format_zip(archive);
  // Names are bytes: nothing is converted, whatever the locale says.
  ::archive_read_set_options(archive, "hdrcharset=BINARY");
  if (::archive_read_open_memory(archive, bytes.data(), bytes.size()) != ARCHIVE_OK) return damaged(archive);
  return ArchiveReader(std::move(state));
}

base::Result<std::optional<Member>> ArchiveReader::next() {
  struct archive_entry* entry = nullptr;
  const int got = ::archive_read_next_header(state_->archive, &entry);
  if (got == ARCHIVE_EOF) return std::optional<Member>();
  // A warning is about what we do not use (times, lists) or about names; those are checked by us.
  if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return damaged(state_->archive);
  Member member{.path = text(::archive_entry_pathname(entry)),
                .kind = kind_of(entry),
                .mode = ::archive_entry_perm(entry),
                .size = static_cast<std::uint64_t>(std::max<std::int64_t>(::archive_entry_size(entry), 0))};
  if (member.kind == MemberKind::symlink) member.link = text(::archive_entry_symlink(entry));
  if (member.kind == MemberKind::hard_link) member.link = text(::archive_entry_hardlink(entry));
  return std::optional(std::move(member));
}

base::Result<void> ArchiveReader::read(const std::function<base::Result<void>(std::string_view)>& take) {
  static constexpr char kZeros[64 * 1024] = {};
  std::uint64_t at = 0;
  while (true) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int got = ::archive_read_data_block(state_->archive, &block, &size, &offset);
    if (got == ARCHIVE_EOF) return {};
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return damaged(state_->archive);
    if (offset < 0 || static_cast<std::uint64_t>(offset) < at)
      return base::Error(base::ErrorCode::invalid, "damaged: a file that goes backwards");
    for (std::uint64_t gap = static_cast<std::uint64_t>(offset) - at; gap > 0;) {
      const std::size_t piece = std::min<std::uint64_t>(gap, sizeof kZeros);
      if (auto taken = take({kZeros, piece}); !taken) return taken;
      gap -= piece;
    }
    if (auto taken = take({static_cast<const char*>(block), size}); !taken) return taken;
    at = static_cast<std::uint64_t>(offset) + size;
  }
}

}  // namespace states::common_archive
