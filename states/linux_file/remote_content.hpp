// Content that comes from a server: what it would be, as far as a plan can know, and the note of what was
// written, so that a file which is as the server has it costs one short question.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/downloads/download.hpp"

namespace states::linux_file {

// What a server has, compared with the file that is there.
struct RemoteContent {
  bool is_same = false;
  bool is_noted = false;               // of content that is the same: the note need not be written again
  std::optional<std::string> bytes{};  // small content, which apply need not fetch again
  std::string size = "";               // for people: "12 bytes", "more than 12 bytes"
  downloads::Seen seen{};
  downloads::Validators validators{};
};

// Asks the server, and reads the file only where it must. Writes nothing. `keep`: content of so many bytes is
// kept. Errors: "Cannot download …", those of reading the file.
base::Result<RemoteContent> compare_with_remote(const std::string& url, const std::string& path,
                                                const struct stat& found, std::size_t keep, Context& context);

// Whether the file has this checksum; reads all of it.
base::Result<bool> has_checksum(const std::string& path, const downloads::Checksum& checksum,
                                Context& context);

// Notes that the file at `path` now has what the server calls by these validators.
void note_remote(const std::string& url, const std::string& path, const downloads::Seen& seen,
                 const downloads::Validators& validators, ApplyContext& context);

}  // namespace states::linux_file
