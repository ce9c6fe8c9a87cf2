#include "update/journal.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "update/layout.hpp"

namespace update {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kFirstLine = "opsagent-update 1";
constexpr std::string_view kLastLine = "end";  // without it a part is missing
constexpr std::size_t kLargestJournal = 64 * 1024;
constexpr std::size_t kLongestValue = 4096;
constexpr std::int64_t kLongestTrial = 24 * 3600;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

// A value is the rest of its line.
std::string one_line(std::string_view text, std::size_t most) {
  std::string line(text.substr(0, most));
  std::ranges::replace_if(line, is_control, ' ');
  return line;
}

// What is kept of a value is what would be written again. Control characters no version writes; reasons a
// later one may allow to be longer, and that is no damage.
bool take_text(std::string& into, std::string_view value, std::size_t kept = kLongestValue) {
  into = value.substr(0, kept);
  return value.size() <= kLongestValue && std::ranges::none_of(value, is_control);
}

bool take_folder(std::string& into, std::string_view value) {
  into = value;
  return value.empty() || Layout::is_name(value);
}

template <class Number>
bool take_number(Number& into, std::string_view value, std::int64_t most) {
  const auto number = base::parse_integer(value);
  if (!number || *number < 0 || *number > most) return false;
  into = static_cast<Number>(*number);
  return true;
}

bool take_flag(bool& into, std::string_view value) {
  into = value == "yes";
  return value == "yes" || value == "no";
}

struct Field {
  std::string_view key;
  bool (*take)(Record& record, std::string_view value);
  std::string (*text)(const Record& record);
};

std::string flag(bool value) {
  return value ? "yes" : "no";
}

// Every key once, in the order in which they are written.
constexpr std::array kFields{
    Field{"phase",
          [](Record& r, std::string_view v) {
            const auto phase = protocol::update_phase_of(v);
            if (phase) r.phase = *phase;
            return phase.has_value();
          },
          [](const Record& r) { return std::string(name_of(r.phase)); }},
    Field{"action", [](Record& r, std::string_view v) { return take_text(r.action_id, v); },
          [](const Record& r) { return r.action_id; }},
    Field{"version", [](Record& r, std::string_view v) { return take_text(r.version, v); },
          [](const Record& r) { return r.version; }},
    Field{"from", [](Record& r, std::string_view v) { return take_folder(r.from, v); },
          [](const Record& r) { return r.from; }},
    Field{"to", [](Record& r, std::string_view v) { return take_folder(r.to, v); },
          [](const Record& r) { return r.to; }},
    Field{"release", [](Record& r, std::string_view v) { return take_number(r.release, v, INT64_MAX); },
          [](const Record& r) { return std::to_string(r.release); }},
    Field{"sha256", [](Record& r, std::string_view v) { return take_text(r.sha256, v); },
          [](const Record& r) { return r.sha256; }},
    Field{"attempts", [](Record& r, std::string_view v) { return take_number(r.attempts, v, INT32_MAX); },
          [](const Record& r) { return std::to_string(r.attempts); }},
    Field{"deadline",
          [](Record& r, std::string_view v) {
            std::int64_t seconds = 0;
            const bool fine = take_number(seconds, v, kLongestTrial) && seconds > 0;
            r.deadline = std::chrono::seconds(seconds);
            return fine;
          },
          [](const Record& r) { return std::to_string(r.deadline.count()); }},
    Field{"reason", [](Record& r, std::string_view v) { return take_text(r.reason, v, kLongestReason); },
          [](const Record& r) { return r.reason; }},
    Field{"retryable", [](Record& r, std::string_view v) { return take_flag(r.retryable, v); },
          [](const Record& r) { return flag(r.retryable); }},
    Field{"reported", [](Record& r, std::string_view v) { return take_flag(r.is_reported, v); },
          [](const Record& r) { return flag(r.is_reported); }},
};

Error damaged(std::string_view what) {
  return Error(ErrorCode::invalid, "the update journal is damaged: " + std::string(what));
}

}  // namespace

bool is_on_trial(const Record& record) {
  return record.phase >= Phase::armed && record.phase <= Phase::trial;
}

std::string to_text(const Record& record) {
  std::string text(kFirstLine);
  text += '\n';
  for (const Field& field : kFields) {
    text += field.key;
    text += ' ';
    text += one_line(field.text(record), field.key == "reason" ? kLongestReason : kLongestValue);
    text += '\n';
  }
  return text + record.others + std::string(kLastLine) + '\n';
}

Result<Record> parse_record(std::string_view text) {
  const std::vector<std::string_view> lines = base::split(text, '\n');
  // The last newline makes an empty piece.
  if (lines.size() < 3 || !lines.back().empty() || lines[lines.size() - 2] != kLastLine)
    return damaged("its end is missing");
  if (lines.front() != kFirstLine) return damaged("it does not begin with '" + std::string(kFirstLine) + "'");
  Record record;
  std::array<bool, kFields.size()> seen{};
  for (std::size_t i = 1; i + 2 < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const std::size_t blank = line.find(' ');
    if (blank == 0 || blank == std::string_view::npos) return damaged("line " + std::to_string(i + 1));
    std::size_t at = 0;
    while (at < kFields.size() && kFields[at].key != line.substr(0, blank))
      ++at;
    if (at == kFields.size()) {
      record.others.append(line).append("\n");
      continue;
    }
    if (seen[at] || !kFields[at].take(record, line.substr(blank + 1)))
      return damaged("line " + std::to_string(i + 1) + ", " + std::string(kFields[at].key));
    seen[at] = true;
  }
  for (std::size_t at = 0; at < kFields.size(); ++at)
    if (!seen[at]) return damaged("it has no " + std::string(kFields[at].key));
  return record;
}

std::string journal_path(const std::string& state_dir) {
  return state_dir + "/update/journal";
}

Result<std::optional<Record>> read_journal(const std::string& state_dir) {
  auto text = base::read_file(journal_path(state_dir), kLargestJournal);
  if (!text && text.error().code() == ErrorCode::not_found) return std::optional<Record>();
  if (!text) return std::move(text).error();
  auto record = parse_record(*text);
  if (!record) return std::move(record).error().with_context(journal_path(state_dir));
  return std::optional(std::move(*record));
}

Result<void> write_journal(const std::string& state_dir, const Record& record) {
  const std::string folder = state_dir + "/update";
  if (::mkdir(folder.c_str(), 0700) == 0) {
    if (auto synced = base::sync_folder_of(folder); !synced) return synced;
  } else if (errno != EEXIST) {
    return base::os_error(errno, "making " + folder);
  }
  return base::write_durable_file(journal_path(state_dir), to_text(record));
}

}  // namespace update
