// Archives by what is in them, a line for each entry: a letter for its type (tar's own), one for its mode,
// then, between tabs, its name (behind "PREFIX|" if it has one), its content, and the size that it claims in
// octal digits instead of the true one.
#include "tests/fuzz/archives.hpp"
#include "tests/support/release_archives.hpp"

namespace {

using release::testing::TarHeader;

std::string mode_of(char letter) {
  switch (letter) {
    case 'x':
      return "0000755";
    case 'r':
      return "0000644";
    case 's':
      return "0004755";
    default:
      return std::string(7, letter);
  }
}

std::string entry_of(std::string_view line) {
  if (line.size() < 2) return {};
  TarHeader header{.name = {}, .type = line[0], .mode = mode_of(line[1])};
  line.remove_prefix(2);
  std::string_view name = fuzz::next_part(line, '\t');
  if (name.find('|') != std::string_view::npos) header.prefix = fuzz::next_part(name, '|').substr(0, 155);
  header.name = name.substr(0, 100);
  const std::string content(fuzz::next_part(line, '\t'));
  header.size = line.substr(0, 12);
  return release::testing::tar_entry(header, content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  std::string tar;
  while (!text.empty())
    tar += entry_of(fuzz::next_part(text, '\n'));
  fuzz::check_archive(fuzz::stored_gzip(tar + release::testing::tar_end()));
  return 0;
}
