#include "agent/install/manifest.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace agent::install {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestManifest = 1024 * 1024;
constexpr std::size_t kMostFiles = 4096;  // as many as an archive may have

bool stays_below(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.back() == '/') return false;
  return std::ranges::none_of(base::split(path, '/'), [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

std::optional<ManifestFile> parse_file(const std::vector<std::string_view>& words) {
  if (words.size() != 5 || !base::is_sha256_hex(words[1]) || !stays_below(words[4])) return std::nullopt;
  const auto size = base::parse_integer(words[3]);
  if (!size || *size < 0 || (words[2] != "0755" && words[2] != "0644")) return std::nullopt;
  return ManifestFile{.sha256 = std::string(words[1]),
                      .mode = words[2] == "0755" ? mode_t{0755} : mode_t{0644},
                      .size = static_cast<std::uint64_t>(*size),
                      .path = std::string(words[4])};
}

// Reads no more than `size` bytes and one: a file that has grown differs anyway.
Result<std::string> hash_of(int fd, std::uint64_t size, const std::string& path) {
  base::Sha256 hash;
  std::array<char, 65536> piece;
  std::uint64_t total = 0;
  while (total <= size) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::os_error(errno, "reading " + path);
    if (got == 0) break;
    hash.add({piece.data(), static_cast<std::size_t>(got)});
    total += static_cast<std::uint64_t>(got);
  }
  return hash.finish();
}

// What is wrong with one file; empty: nothing.
std::string problem_of(const std::string& folder, const ManifestFile& file) {
  const std::string path = folder + "/" + file.path;
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) return base::os_error(errno, path).message();
  if (!S_ISREG(st.st_mode)) return path + " is not a file";
  if (static_cast<std::uint64_t>(st.st_size) != file.size)
    return path + " has " + std::to_string(st.st_size) + " bytes, and should have " +
           std::to_string(file.size);
  if ((st.st_mode & 0111) != (file.mode & 0111)) return path + " has another mode than it should";
  const auto hash = hash_of(fd.get(), file.size, path);
  if (!hash) return hash.error().message();
  return *hash == file.sha256 ? "" : path + " has other content than it should";
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  Manifest manifest;
  std::size_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words = base::split_words(line);
    if (words.empty()) continue;
    const auto wrong = [&] {
      return Error(ErrorCode::invalid, "line " + std::to_string(number) + " of the manifest is not one");
    };
    if (words[0] == "file") {
      auto file = parse_file(words);
      if (!file || manifest.files.size() >= kMostFiles) return wrong();
      manifest.files.push_back(std::move(*file));
    } else if (words[0] == "target") {
      if (words.size() != 3) return wrong();
      manifest.os = words[1];
      manifest.arch = words[2];
    } else if (words.size() == 2) {
      if (words[0] == "opsagent") manifest.version = words[1];
      if (words[0] == "glibc") manifest.glibc = words[1];
      if (words[0] == "commit") manifest.commit = words[1];
    }
  }
  if (manifest.version.empty() || manifest.files.empty())
    return Error(ErrorCode::invalid, "the manifest names no version or no files");
  return manifest;
}

Result<Manifest> read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifestName;
  const auto text = base::read_file(path, kLargestManifest);
  if (!text) return text.error();
  auto manifest = parse_manifest(*text);
  if (!manifest) return std::move(manifest).error().with_context(path);
  return manifest;
}

std::vector<std::string> check_files(const std::string& folder, const Manifest& manifest) {
  std::vector<std::string> problems;
  for (const ManifestFile& file : manifest.files)
    if (std::string problem = problem_of(folder, file); !problem.empty())
      problems.push_back(std::move(problem));
  return problems;
}

}  // namespace agent::install
