#include "states/linux_file/remote_content.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace states::linux_file {

namespace {

using base::Result;
using downloads::Seen;
using downloads::Validators;

constexpr std::size_t kLargestNote = 16 * 1024;

// What was noted when the file was written, or found to be right.
struct Note {
  std::string url_hash;  // an address may hold a secret
  Validators validators;
  Seen seen;
  std::string inode;  // of the file then
};

// Changes whenever the file does.
std::string inode_text(const struct stat& st) {
  const auto time = [](const timespec& t) {
    return std::to_string(t.tv_sec) + "." + std::to_string(t.tv_nsec);
  };
  return std::to_string(st.st_dev) + " " + std::to_string(st.st_ino) + " " + std::to_string(st.st_size) +
         " " + time(st.st_mtim) + " " + time(st.st_ctim);
}

std::string note_folder(const Context& context) {
  return context.host.state_dir + "/remote-files";
}

std::string note_path(const std::string& path, const Context& context) {
  return note_folder(context) + "/" + base::sha256_hex(context.host.root + "\n" + path).substr(0, 32);
}

std::optional<Note> read_note(const std::string& path, const Context& context) {
  const auto text = base::read_file(note_path(path, context), kLargestNote);
  if (!text) return std::nullopt;
  const auto lines = base::split(*text, '\n');
  if (lines.size() != 7) return std::nullopt;
  const auto size = base::parse_integer(lines[4]);
  if (!size || *size < 0) return std::nullopt;
  return Note{.url_hash = std::string(lines[0]),
              .validators = {std::string(lines[1]), std::string(lines[2])},
              .seen = {std::string(lines[3]), static_cast<std::uint64_t>(*size)},
              .inode = std::string(lines[5])};
}

Result<bool> has(const std::string& path, const struct stat& found, const Seen& seen, Context& context) {
  if (static_cast<std::uint64_t>(found.st_size) != seen.size) return false;
  base::Sha256 hash;
  auto read = context.tree.read_pieces(path, [&](std::string_view piece) { hash.add(piece); });
  if (!read) return std::move(read).error();
  return hash.finish() == seen.sha256;
}

// Whether the file is still what was noted of it.
Result<bool> still_holds(const Note& note, const std::string& path, const struct stat& found,
                         Context& context) {
  if (note.inode == inode_text(found)) return true;
  return has(path, found, note.seen, context);
}

std::string bytes_text(std::uint64_t size) {
  return std::to_string(size) + (size == 1 ? " byte" : " bytes");
}

bool same(const Validators& a, const Validators& b) {
  return a.etag == b.etag && a.last_modified == b.last_modified;
}

}  // namespace

Result<RemoteContent> compare_with_remote(const std::string& url, const std::string& path,
                                          const struct stat& found, std::size_t keep, Context& context) {
  if (const auto seen = downloads::seen_in_this_round(context, url)) {
    auto equal = has(path, found, *seen, context);
    if (!equal) return std::move(equal).error();
    return RemoteContent{.is_same = *equal, .is_noted = true, .size = bytes_text(seen->size), .seen = *seen};
  }
  const auto note = read_note(path, context);
  Validators known;
  if (note && note->url_hash == base::sha256_hex(url) && !note->validators.empty()) {
    auto holds = still_holds(*note, path, found, context);
    if (!holds) return std::move(holds).error();
    if (*holds) known = note->validators;
  }
  const auto size = static_cast<std::uint64_t>(found.st_size);
  const std::uint64_t most = std::max<std::uint64_t>(size, keep);
  auto look = downloads::look(url, known, most, keep, context);
  if (!look) return std::move(look).error();
  if (look->not_modified) return RemoteContent{.is_same = true, .is_noted = true};
  if (look->is_larger) return RemoteContent{.size = "more than " + bytes_text(most)};
  auto equal = has(path, found, look->seen, context);
  if (!equal) return std::move(equal).error();
  const bool noted = look->validators.empty() || (!known.empty() && same(known, look->validators));
  return RemoteContent{.is_same = *equal,
                       .is_noted = noted,
                       .bytes = std::move(look->content),
                       .size = bytes_text(look->seen.size),
                       .seen = look->seen,
                       .validators = std::move(look->validators)};
}

Result<bool> has_checksum(const std::string& path, const downloads::Checksum& checksum, Context& context) {
  base::Digest digest(checksum.kind);
  auto read = context.tree.read_pieces(path, [&](std::string_view piece) { digest.add(piece); });
  if (!read) return std::move(read).error();
  return digest.finish() == checksum.hex;
}

void note_remote(const std::string& url, const std::string& path, const Seen& seen,
                 const Validators& validators, ApplyContext& context) {
  downloads::remember_in_this_round(context, url, seen);
  if (validators.empty()) return;
  const auto found = context.tree.look(path);
  if (!found || !*found) return;
  // Read after it was looked at: its owner may have changed it since it was written, and would be believed
  // for as long as the server has nothing new.
  const auto same = has(path, **found, seen, context);
  if (!same || !*same || !base::make_private_folder(note_folder(context))) return;
  const std::string text = base::sha256_hex(url) + "\n" + validators.etag + "\n" + validators.last_modified +
                           "\n" + seen.sha256 + "\n" + std::to_string(seen.size) + "\n" +
                           inode_text(**found) + "\n";
  // Without a note the next round fetches the content once more, and that is all.
  static_cast<void>(base::write_durable_file(note_path(path, context), text));
}

}  // namespace states::linux_file
