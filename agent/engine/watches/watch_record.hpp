// WatchRecord: of one watched path, what the parts of a state have reacted to; and the file that holds it.
//
// What somebody has reacted to is a digest in 64 hexadecimal digits (32 in records of the original agent,
// MD5), "" when nothing was there, or kPending: he has yet to react, whatever is there now. The file holds
// the digest alone and no newline, as that of the original agent does, as long as it is true of all. Else the
// first line is what holds for all who are not named, and a line for each other one is his digest, a blank
// and his name; "absent" is written for "".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace agent::engine {

inline constexpr std::string_view kPending = "pending";

struct WatchRecord {
  std::string all;
  std::map<std::string, std::string, std::less<>> others;

  const std::string& of(std::string_view part) const;
  // `parts`: all that the state has now. What is said of others is forgotten.
  void set(const std::vector<std::string>& changed, std::string_view value,
           const std::vector<std::string>& parts);
  bool operator==(const WatchRecord&) const = default;
};

std::string to_text(const WatchRecord& record);
WatchRecord parse_watch_record(std::string_view text);

// Nothing when there is none. One that is damaged equals no digest.
base::Result<std::optional<WatchRecord>> read_watch_record(const std::string& path);

// Replaces the file `name` in an open folder. `synced`: on disk when this returns, but for the folder. What
// is pending need not be: a power cut ends whoever has yet to react.
base::Result<void> write_watch_record(int folder, const std::string& name, const WatchRecord& record,
                                      bool synced);

}  // namespace agent::engine
