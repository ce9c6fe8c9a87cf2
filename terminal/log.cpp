// The only file that includes spdlog. It is used header-only, so that commands that log nothing load no
// library for it.
#include "terminal/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "base/values/redactor.hpp"
#include "terminal/wrap.hpp"

namespace terminal {

namespace {

constexpr std::size_t kLogFileSize = 10 * 1024 * 1024;
constexpr std::size_t kLogFiles = 5;  // with the one that is being written
constexpr mode_t kLogFileMode = 0640;
constexpr mode_t kLogFolderMode = 0755;
// No event needs more. Whoever quotes a peer cuts what it says much shorter; this is for what nobody thought
// of.
constexpr std::size_t kLongestLine = 16 * 1024;
constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%e%z %-7l %v";

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// "<6>": how the journal wants to be told the priority.
class PriorityFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    constexpr std::string_view kError = "<3>", kWarning = "<4>", kInfo = "<6>", kDebug = "<7>";
    const std::string_view priority = message.level >= spdlog::level::err    ? kError
                                      : message.level >= spdlog::level::warn ? kWarning
                                      : message.level >= spdlog::level::info ? kInfo
                                                                             : kDebug;
    out.append(priority.data(), priority.data() + priority.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PriorityFlag>(); }
};

// Before the file is opened, by its name, at the start and whenever it is rotated. Where others cannot write,
// nobody puts a link or a file of his choice there meanwhile.
base::Result<void> check_place(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  const auto folder = base::open_guarded_folder(slash == std::string::npos ? "."
                                                : slash == 0               ? "/"
                                                                           : file.substr(0, slash),
                                                kLogFolderMode);
  if (!folder) return folder.error();
  struct stat st {};
  if (::fstatat(folder->end.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return base::os_error(errno, file);
  }
  if (S_ISREG(st.st_mode) && st.st_uid == ::geteuid() && st.st_nlink == 1) return {};
  return base::Error(base::ErrorCode::exists,
                     "what is there is not a file of our own with one name; move it away, or name another");
}

std::unique_ptr<spdlog::formatter> journal_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PriorityFlag>('*').set_pattern("%*%v");
  return formatter;
}

}  // namespace

struct Log::Sinks {
  std::shared_ptr<base::Redactor> redactor;
  spdlog::logger logger{""};
};

Log::Log(std::unique_ptr<Sinks> sinks) : sinks_(std::move(sinks)) {}
Log::~Log() = default;
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;

base::Result<Log> Log::open(LogLevel level, const std::string& file,
                            std::shared_ptr<base::Redactor> redactor) {
  auto sinks = std::make_unique<Sinks>();
  sinks->redactor = std::move(redactor);
  spdlog::logger& logger = sinks->logger;
  auto console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (is_journal(STDERR_FILENO, std::getenv("JOURNAL_STREAM")))
    console->set_formatter(journal_formatter());
  else
    console->set_pattern(kPattern);
  logger.sinks().push_back(std::move(console));
  if (!file.empty()) {
    if (auto fine = check_place(file); !fine)
      return std::move(fine).error().with_context("cannot log to " + file);
    try {
      spdlog::file_event_handlers handlers;
      handlers.before_open = [](const spdlog::filename_t& name) {
        if (auto fine = check_place(name); !fine) throw spdlog::spdlog_ex(fine.error().message());
      };
      handlers.after_open = [](const spdlog::filename_t&, std::FILE* opened) {
        [[maybe_unused]] const int set = ::fchmod(::fileno(opened), kLogFileMode);
      };
      auto rotating = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file, kLogFileSize,
                                                                             kLogFiles - 1, false, handlers);
      rotating->set_pattern(kPattern);
      logger.sinks().push_back(std::move(rotating));
    } catch (const std::exception& error) {
      return base::Error(base::ErrorCode::io, "cannot log to " + file + ": " + error.what());
    }
  }
  logger.set_level(level_of(level));
  logger.flush_on(spdlog::level::debug);
  return Log(std::move(sinks));
}

bool Log::writes(LogLevel level) const {
  return sinks_->logger.should_log(level_of(level));
}

void Log::write(LogLevel level, std::string_view text) {
  if (!writes(level)) return;
  // One event is one line, whatever programs print and peers send. Cut after the redactor, which needs
  // secrets whole.
  const std::string safe = sinks_->redactor ? sinks_->redactor->redact(text) : std::string(text);
  const std::string line = printable(join_lines(base::cut_text(safe, kLongestLine), "; "));
  sinks_->logger.log(level_of(level), spdlog::string_view_t(line));
}

bool is_journal(int fd, const char* journal_stream) {
  struct stat st {};
  if (!journal_stream || ::fstat(fd, &st) != 0) return false;
  return std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino) == journal_stream;
}

}  // namespace terminal
