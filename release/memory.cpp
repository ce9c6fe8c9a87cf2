// The memory as a file: a line with the checksum of all that follows, lines "key value", the root's bytes.
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "release/document_text.hpp"
#include "release/trust.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kTitle = "opsagent trusted 1 ";

// Takes "NAME value\n" from the front; empty when there is another.
std::string_view take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || end <= name.size() || !text.starts_with(name) ||
      text[name.size()] != ' ')
    return {};
  const std::string_view value = text.substr(name.size() + 1, end - name.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  const auto number = base::parse_integer(text);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::optional<Memory> parse_lines(std::string_view text) {
  Memory memory;
  const auto floor = number_of(take_line(text, "floor"));
  const auto timestamp = number_of(take_line(text, "timestamp"));
  const auto time = parse_instant(take_line(text, "time"));
  if (!floor || !timestamp || !time) return std::nullopt;
  memory.floor = *floor;
  memory.timestamp = *timestamp;
  memory.trusted_time = *time;
  while (text.starts_with("seen ")) {
    const auto words = base::split(take_line(text, "seen"), ' ');
    const auto number = words.size() == 2 ? number_of(words[0]) : std::nullopt;
    if (!number || !is_sha256(words[1]) || memory.seen.size() == kMostSeen) return std::nullopt;
    memory.seen.emplace(*number, words[1]);
  }
  const auto size = number_of(take_line(text, "root"));
  if (!size || *size != text.size() || *size > kLargestDocument) return std::nullopt;
  memory.root = text;
  return memory;
}

}  // namespace

std::string to_text(const Memory& memory) {
  std::string text = "floor " + std::to_string(memory.floor) + "\ntimestamp " +
                     std::to_string(memory.timestamp) + "\ntime " + to_text(memory.trusted_time) + "\n";
  for (const auto& [number, hash] : memory.seen)
    text += "seen " + std::to_string(number) + " " + hash + "\n";
  text += "root " + std::to_string(memory.root.size()) + "\n" + memory.root;
  return std::string(kTitle) + base::sha256_hex(text) + "\n" + text;
}

Result<Memory> parse_memory(std::string_view text) {
  constexpr std::size_t kStart = kTitle.size() + 64 + 1;
  if (text.starts_with(kTitle) && text.size() > kStart && text[kStart - 1] == '\n') {
    const std::string_view lines = text.substr(kStart);
    // One text for each memory: numbers with zeros in front, or a release that is there twice, nobody wrote.
    if (text.substr(kTitle.size(), 64) == base::sha256_hex(lines))
      if (auto memory = parse_lines(lines); memory && to_text(*memory) == text) return std::move(*memory);
  }
  return Error(ErrorCode::invalid,
               "the memory of what was trusted is damaged; nothing is updated without it. Bring it back from "
               "a backup, or remove it if you are sure that this machine runs what it should: it then begins "
               "anew with the pinned root");
}

}  // namespace release
