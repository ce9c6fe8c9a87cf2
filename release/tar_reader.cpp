#include "release/tar_reader.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// tar fills its last record of 20 blocks with zeros, after two that are the end mark: 21 at most, and room to
// see that nothing follows.
constexpr std::size_t kMostZeros = 22 * 512;

Error refused(const std::string& what) {
  return Error(ErrorCode::invalid, "the archive is not accepted: " + what);
}

// A field up to its NUL; nothing but NULs may follow.
std::optional<std::string_view> text_field(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view field = block.substr(at, size);
  const std::size_t end = std::min(field.find('\0'), size);
  if (field.find_first_not_of('\0', end) != std::string_view::npos) return std::nullopt;
  return field.substr(0, end);
}

// Octal digits, then NULs or blanks. GNU's binary form for large numbers is not one of these.
std::optional<std::uint64_t> number_field(std::string_view block, std::size_t at, std::size_t size) {
  std::string_view field = block.substr(at, size);
  const std::size_t digits = std::min(field.find_first_not_of("01234567"), size);
  if (digits == 0 || field.find_first_not_of(std::string_view("\0 ", 2), digits) != std::string_view::npos)
    return std::nullopt;
  std::uint64_t number = 0;
  for (const char digit : field.substr(0, digits))
    number = number * 8 + static_cast<std::uint64_t>(digit - '0');  // 12 digits at most: it fits
  return number;
}

bool has_right_checksum(std::string_view block) {
  constexpr std::size_t kAt = 148, kSize = 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i)
    sum += i >= kAt && i < kAt + kSize ? ' ' : static_cast<unsigned char>(block[i]);
  return number_field(block, kAt, kSize) == sum;
}

// "symbolic links", for the message.
std::string kind_of(char type) {
  switch (type) {
    case '1':
      return "a hard link";
    case '2':
      return "a symbolic link";
    case '3':
    case '4':
      return "a device";
    case '6':
      return "a fifo";
    case 'x':
    case 'g':
      return "a pax extension (make the archive with \"tar --format=ustar\")";
    case 'L':
    case 'K':
    case 'S':
      return "a GNU extension (make the archive with \"tar --format=ustar\")";
    default:
      return "neither a file nor a folder";
  }
}

bool is_plain_path(std::string_view path) {
  return !path.empty() && std::ranges::all_of(base::split(path, '/'), [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." &&
           std::ranges::all_of(part, [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
  });
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// For messages: names from archives may hold anything.
std::string shown(std::string_view path) {
  std::string text(path.substr(0, 100));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + text + "'";
}

}  // namespace

Result<TarReader> TarReader::open(const std::string& archive, ArchiveLimits limits) {
  auto stream = GzipReader::open(archive);
  if (!stream) return std::move(stream).error();
  return TarReader(std::move(*stream), limits);
}

Result<void> TarReader::read_exactly(std::span<char> to) {
  auto got = stream_.read(to);
  if (!got) return std::move(got).error();
  if (*got != to.size()) return refused("it ends too early");
  return {};
}

Result<TarEntry> TarReader::parse_header(std::string_view block) {
  if (!has_right_checksum(block)) return refused("an entry has a wrong checksum, or this is no tar archive");
  const char type = block[156];
  if (type != '0' && type != '\0' && type != '5')
    return refused(shown(block.substr(0, std::min<std::size_t>(block.find('\0'), 100))) + " is " +
                   kind_of(type));
  if (block.substr(257, 8) != std::string_view("ustar\00000", 8))
    return refused("it is not POSIX ustar: make it with \"tar --format=ustar\"");
  const auto name = text_field(block, 0, 100), prefix = text_field(block, 345, 155);
  const auto link = text_field(block, 157, 100);
  if (!name || !prefix || !link) return refused("a name has something behind its end");
  TarEntry entry;
  entry.path = (prefix->empty() ? "" : std::string(*prefix) + "/") + std::string(*name);
  const std::string what = shown(entry.path);
  entry.is_folder = type == '5';
  if (entry.is_folder && entry.path.ends_with('/')) entry.path.pop_back();
  if (!is_plain_path(entry.path))
    return refused("the name " + what + " is absolute, leads elsewhere or has characters that none needs");
  const auto mode = number_field(block, 100, 8), size = number_field(block, 124, 12);
  if (!mode || (*mode != 0755 && (*mode != 0644 || entry.is_folder)))
    return refused(what + " has a mode that is not 0755" + (entry.is_folder ? "" : " or 0644"));
  const auto uid = number_field(block, 108, 8), gid = number_field(block, 116, 8);
  if (!uid || !gid || *uid != 0 || *gid != 0)
    return refused(what + " has an owner that is not root: make it with \"tar --owner=0 --group=0\"");
  if (!size || (entry.is_folder && *size != 0) || !link->empty())
    return refused(what + " has a size or a link that it cannot have");
  entry.is_executable = *mode == 0755;
  entry.size = *size;
  return entry;
}

Result<void> TarReader::check_place(const TarEntry& entry) {
  if (files_.contains(entry.path) || folders_.contains(entry.path))
    return refused(shown(entry.path) + " is there twice");
  const std::size_t slash = entry.path.rfind('/');
  if (slash != std::string::npos && !folders_.contains(entry.path.substr(0, slash)))
    return refused(shown(entry.path) + " comes before its folder");
  if (files_.size() + folders_.size() >= limits_.entries)
    return Error(ErrorCode::limit,
                 "the archive has more than " + std::to_string(limits_.entries) + " entries");
  if (entry.size > limits_.bytes - total_)
    return Error(ErrorCode::limit,
                 "the archive is larger than " + std::to_string(limits_.bytes) + " bytes when unpacked");
  total_ += entry.size;
  (entry.is_folder ? folders_ : files_).insert(entry.path);
  return {};
}

// After the first block of zeros: a second one, then zeros to the end of the record.
Result<void> TarReader::check_end() {
  std::array<char, kMostZeros> rest;
  auto got = stream_.read(rest);
  if (!got) return std::move(got).error();
  if (*got < kBlock) return refused("it ends too early");
  if (*got == rest.size() || !is_zero({rest.data(), *got})) return refused("something follows its end");
  return {};
}

Result<std::optional<TarEntry>> TarReader::next() {
  while (left_ > 0) {
    auto skipped = read();
    if (!skipped) return std::move(skipped).error();
  }
  std::array<char, kBlock> block;
  const std::span padding(block.data(), padding_);
  padding_ = 0;
  if (auto got = read_exactly(padding); !got) return std::move(got).error();
  if (!is_zero({padding.data(), padding.size()})) return refused("a file has something behind its end");
  if (auto got = read_exactly(block); !got) return std::move(got).error();
  const std::string_view header(block.data(), block.size());
  if (is_zero(header)) {
    if (auto end = check_end(); !end) return std::move(end).error();
    return std::optional<TarEntry>();
  }
  auto entry = parse_header(header);
  if (!entry) return std::move(entry).error();
  if (auto place = check_place(*entry); !place) return std::move(place).error();
  left_ = entry->size;
  padding_ = (kBlock - entry->size % kBlock) % kBlock;
  return std::optional<TarEntry>(std::move(*entry));
}

Result<std::string_view> TarReader::read() {
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, chunk_.size()));
  if (auto got = read_exactly(std::span(chunk_.data(), size)); !got) return std::move(got).error();
  left_ -= size;
  return std::string_view(chunk_.data(), size);
}

}  // namespace release
