#include "agent/engine/records/cursor.hpp"

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace agent::engine {

namespace {

constexpr std::size_t kLargestCursor = 1024;

}  // namespace

base::Result<void> Cursor::keep(const std::string& digest, std::size_t index) const {
  return base::write_durable_file(path_, digest + " " + std::to_string(index) + "\n");
}

std::optional<std::size_t> Cursor::find(const std::string& digest) const {
  const auto text = base::read_file(path_, kLargestCursor);
  if (!text) return std::nullopt;
  const auto words = base::split_words(*text);
  const auto index = words.size() == 2 && words[0] == digest ? base::parse_integer(words[1]) : std::nullopt;
  if (!index || *index < 0) return std::nullopt;
  return static_cast<std::size_t>(*index);
}

base::Result<void> Cursor::drop() const {
  return base::remove_lasting_file(path_);
}

}  // namespace agent::engine
