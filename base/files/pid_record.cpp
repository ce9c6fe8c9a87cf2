#include "base/files/pid_record.hpp"

#include <unistd.h>

#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace base {

namespace {

constexpr std::size_t kRecord = 16;

}  // namespace

void write_own_pid(int file) {
  std::string record = std::to_string(::getpid()) + "\n";
  record.insert(0, kRecord - record.size(), ' ');
  const bool is_whole = ::pwrite(file, record.data(), kRecord, 0) == static_cast<ssize_t>(kRecord);
  // What is left of an older one, or of half a write, is nobody's.
  [[maybe_unused]] const int cut = ::ftruncate(file, is_whole ? kRecord : 0);
}

std::optional<pid_t> read_pid(const std::string& path) {
  constexpr std::size_t kLongest = 64;
  const auto text = read_file(path, kLongest);
  if (!text || !text->ends_with('\n')) return std::nullopt;
  const auto pid = parse_integer(trim(*text));
  if (!pid || *pid <= 0) return std::nullopt;
  return static_cast<pid_t>(*pid);
}

}  // namespace base
