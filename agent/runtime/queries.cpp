#include "agent/runtime/queries.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>

#include "base/files/file_read.hpp"
#include "base/output_text.hpp"
#include "base/programs/process.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/utc_text.hpp"
#include "base/values/json_text.hpp"

namespace agent::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::JsonText;
using base::Result;
using base::Value;

constexpr std::uint64_t kUsualRows = 200;
constexpr std::uint64_t kMostRows = 5000;
constexpr std::size_t kMostOutput = 1024 * 1024;

struct Question {
  const Value& args;
  std::uint64_t rows;
  const base::Redactor& redactor;
  base::Interrupt& interrupt;

  std::string text(std::string_view key) const {
    const Value* value = args.find(key);
    return value ? std::string(value->text()) : std::string();
  }
};

Result<std::string> output_of(std::vector<std::string> argv, base::Interrupt& interrupt) {
  base::Command command{.argv = std::move(argv), .env = base::clean_environment()};
  command.timeout = std::chrono::seconds(20);
  command.keep_head = kMostOutput;
  command.keep_tail = 0;
  command.interrupt = &interrupt;
  auto done = base::run(command);
  if (!done) return std::move(done).error();
  // A line that the limit has cut might show half a secret, which nobody would know for one.
  if (done->dropped_bytes > 0) done->output.resize(done->output.rfind('\n', kMostOutput - 1) + 1);
  std::string output = base::clean_output(done->output);
  if (!done->ok()) return Error(ErrorCode::io, std::string(base::trim(output)));
  return output;
}

Result<std::string> unit_name(const Question& question) {
  std::string name = question.text("unit");
  const bool fine =
      !name.empty() && name.size() <= 256 && !name.starts_with('-') &&
      std::ranges::all_of(name, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '/'; });
  if (!fine) return Error(ErrorCode::invalid, "'unit' must name a unit");
  return name;
}

Result<QueryAnswer> unit(const Question& question) {
  auto name = unit_name(question);
  if (!name) return std::move(name).error();
  auto shown = output_of({"systemctl", "show", "--no-pager",
                          "--property=Id,LoadState,ActiveState,SubState,UnitFileState,MainPID,Result,"
                          "ExecMainStatus,ActiveEnterTimestamp,NRestarts",
                          "--", *name},
                         question.interrupt);
  if (!shown) return std::move(shown).error();
  std::map<std::string, std::string> properties;
  for (const std::string_view line : base::split(*shown, '\n'))
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos)
      properties.emplace(line.substr(0, equals), question.redactor.redact(line.substr(equals + 1)));
  JsonText json;
  json.begin_object();
  for (const auto& [key, value] : properties)
    json.member(key, value);
  return QueryAnswer{.data = json.end_object().take()};
}

Result<QueryAnswer> journal(const Question& question) {
  std::vector<std::string> argv{"journalctl", "--no-pager", "--quiet", "--output=short-iso",
                                "--lines=" + std::to_string(question.rows)};
  if (question.args.find("unit")) {
    auto name = unit_name(question);
    if (!name) return std::move(name).error();
    argv.push_back("--unit=" + *name);
  }
  auto text = output_of(std::move(argv), question.interrupt);
  if (!text) return std::move(text).error();
  JsonText json;
  json.begin_object().key("lines").begin_list();
  std::uint64_t lines = 0;
  const std::string safe = question.redactor.redact(*text);
  for (const std::string_view line : base::split(safe, '\n'))
    if (!line.empty() && lines++ < question.rows) json.value(line);
  return QueryAnswer{.data = json.end_list().end_object().take(), .more = lines >= question.rows};
}

Result<QueryAnswer> file_hash(const Question& question) {
  constexpr off_t kLargest = off_t{4} * 1024 * 1024 * 1024;
  const std::string path = question.text("path");
  if (!path.starts_with('/')) return Error(ErrorCode::invalid, "'path' must be absolute");
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return base::os_error(errno, path);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return base::os_error(errno, path);
  if (!S_ISREG(st.st_mode)) return Error(ErrorCode::invalid, path + " is not a regular file");
  if (st.st_size > kLargest) return Error(ErrorCode::limit, path + " is larger than 4 GiB");
  base::Sha256 hash;
  std::vector<char> buffer(256 * 1024);
  for (ssize_t got = 0; (got = ::read(fd.get(), buffer.data(), buffer.size())) != 0;) {
    if (got < 0) return base::os_error(errno, path);
    if (question.interrupt.requested()) return Error(ErrorCode::cancelled, "the agent stops");
    hash.add({buffer.data(), static_cast<std::size_t>(got)});
  }
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(st.st_mode & 07777));
  JsonText json;
  json.begin_object().member("path", path).member("sha256", hash.finish()).member("size", st.st_size);
  json.member("mode", std::string_view(mode.data())).member("uid", st.st_uid).member("gid", st.st_gid);
  json.member("modified", base::utc_text(std::chrono::system_clock::from_time_t(st.st_mtime)));
  return QueryAnswer{.data = json.end_object().take()};
}

// Names only: command lines of other programs are full of other people's secrets.
Result<QueryAnswer> processes(const Question& question) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (!proc) return base::os_error(errno, "/proc");
  JsonText json;
  json.begin_object().key("processes").begin_list();
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(proc.get())) {
    const auto pid = base::parse_integer(entry->d_name);
    const auto status = pid ? base::read_file("/proc/" + std::to_string(*pid) + "/status", 64 * 1024)
                            : Result<std::string>(Error(ErrorCode::not_found, ""));
    if (!status) continue;
    if (++count > question.rows) break;
    json.begin_object().member("pid", *pid);
    for (const std::string_view line : base::split(*status, '\n')) {
      const auto value = base::trim(line.substr(std::min(line.find(':') + 1, line.size())));
      const auto number = [&] { return base::parse_integer(base::split_words(value).front()).value_or(0); };
      if (line.starts_with("Name:")) json.member("name", question.redactor.redact(value));
      if (line.starts_with("State:")) json.member("state", value.substr(0, 1));
      if (line.starts_with("PPid:")) json.member("parent", number());
      if (line.starts_with("Uid:")) json.member("uid", number());
      if (line.starts_with("VmRSS:")) json.member("rss_kb", number());
    }
    json.end_object();
  }
  return QueryAnswer{.data = json.end_list().end_object().take(), .more = count > question.rows};
}

struct Kind {
  std::string_view name;
  std::string_view permission;
  Result<QueryAnswer> (*answer)(const Question&);
};
constexpr std::array kKinds{
    Kind{"unit", "query:unit", unit},
    Kind{"journal", "query:journal", journal},
    Kind{"file_hash", "query:file", file_hash},
    Kind{"processes", "query:processes", processes},
};

}  // namespace

bool is_query_allowed(std::string_view kind, const std::vector<std::string>& allow) {
  const auto found = std::ranges::find(kKinds, kind, &Kind::name);
  return found != kKinds.end() && std::ranges::any_of(allow, [&](const std::string& given) {
           return given == "query" || given == found->permission;
         });
}

Result<QueryAnswer> answer_query(const QueryRequest& request, const base::Redactor& redactor,
                                 base::Interrupt& interrupt) {
  const auto kind = std::ranges::find(kKinds, std::string_view(request.kind), &Kind::name);
  if (kind == kKinds.end()) return Error(ErrorCode::invalid, "no such kind of query: '" + request.kind + "'");
  base::Arena arena;
  const std::string text = request.args.empty() ? "{}" : request.args;  // the values are views of it
  const auto parsed = base::parse_json(text, arena);
  const auto* args = std::get_if<Value>(&parsed);
  if (!args || !(args->is_object() || args->is_null()))
    return Error(ErrorCode::invalid, "the arguments of a query must be an object");
  const std::uint64_t rows = request.limit == 0 ? kUsualRows : std::min(request.limit, kMostRows);
  return kind->answer({.args = *args, .rows = rows, .redactor = redactor, .interrupt = interrupt});
}

}  // namespace agent::runtime
