#include "backend/store/sqlite/sqlite.hpp"

#include <sqlite3.h>

#include <utility>

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Only somebody outside (a backup, a person with the sqlite3 program) can hold the lock this long.
constexpr int kBusyTimeoutMs = 10'000;
// The log is moved into the database when it has this many pages (64 MiB), a few seconds of full load.
constexpr std::string_view kSettings =
    "PRAGMA foreign_keys=ON; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY; PRAGMA "
    "wal_autocheckpoint=16384;";

ErrorCode code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ErrorCode::no_space;
    case SQLITE_READONLY:
      return ErrorCode::read_only;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorCode::permission;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::timed_out;
    case SQLITE_CONSTRAINT:
      return ErrorCode::exists;
    case SQLITE_TOOBIG:
      return ErrorCode::limit;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_ERROR:
      return ErrorCode::internal;
    default:
      return ErrorCode::io;
  }
}

bool is_damaged(int code) {
  return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

}  // namespace

Error Database::error(int code, std::string_view doing) const {
  std::string text = handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  if (is_damaged(code))
    text +=
        ". The database file is damaged: stop opsbackend, keep a copy of the file, and put a backup in its "
        "place, or save what can be read with \"sqlite3 FILE .recover | sqlite3 NEW\"";
  return Error(code_of(code), std::move(text)).with_context(doing);
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  // The reader opens for writing, too: only so can it use the log's index after a crash. query_only keeps it
  // from changing anything.
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == Mode::write ? SQLITE_OPEN_CREATE : 0);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return database.error(code, path);
  if (auto configured = database.configure(mode); !configured)
    return std::move(configured).error().with_context(path);
  return database;
}

Result<void> Database::configure(Mode mode) {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  if (auto done = execute(std::string(kSettings)); !done) return done;
  if (mode == Mode::read_only) return execute("PRAGMA query_only=ON");
  {
    Query journal(*this, "PRAGMA journal_mode=WAL");
    auto row = journal.next();
    if (!row) return std::move(row).error();
    if (!*row || journal.view(0) != "wal")
      return Error(ErrorCode::unsupported,
                   "no write-ahead log is possible here (is it a network file system?)");
  }
  return execute("PRAGMA synchronous=FULL");
}

Database::~Database() {
  for (auto& [sql, prepared] : prepared_)
    sqlite3_finalize(prepared.statement);
  sqlite3_close(handle_);
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      depth_(other.depth_),
      lost_(std::move(other.lost_)),
      prepared_(std::exchange(other.prepared_, {})) {}

Result<void> Database::execute(const std::string& sql) {
  if (lost_) return *lost_;
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return {};
  Error failed = error(code, "database");
  look_for_lost_transaction(failed);
  return failed;
}

void Database::look_for_lost_transaction(const Error& error) {
  if (depth_ > 0 && !lost_ && sqlite3_get_autocommit(handle_) != 0) lost_ = error;
}

Result<void> Database::transact(const std::function<Result<void>()>& work) {
  const bool is_outermost = depth_ == 0;
  // Immediate: the write lock is taken now, not in the middle, where waiting for it would not be possible.
  auto begun = run(is_outermost ? "BEGIN IMMEDIATE" : "SAVEPOINT step");
  if (!begun) return std::move(begun).error();
  ++depth_;
  Result<void> outcome = work();
  if (outcome && !lost_) {
    auto ended = run(is_outermost ? "COMMIT" : "RELEASE step");
    if (!ended) outcome = std::move(ended).error();
  }
  if (lost_) {
    outcome = *lost_;                                             // also of work that has not noticed it
  } else if (!outcome && sqlite3_get_autocommit(handle_) == 0) {  // a failed commit may have ended it
    (void)run(is_outermost ? "ROLLBACK" : "ROLLBACK TO step");
    if (!is_outermost) (void)run("RELEASE step");
  }
  --depth_;
  if (is_outermost) lost_.reset();
  return outcome;
}

std::int64_t Database::last_row_id() const {
  return sqlite3_last_insert_rowid(handle_);
}

std::int64_t Database::changes() const {
  return sqlite3_changes64(handle_);
}

Query::Query(Database& database, std::string_view sql, Texts texts) : database_(database), texts_(texts) {
  const auto found = database.prepared_.try_emplace(std::string(sql)).first;
  Database::Prepared& prepared = found->second;
  const auto prepare = [&](sqlite3_stmt*& to, unsigned flags) {
    note(sqlite3_prepare_v3(database.handle_, sql.data(), static_cast<int>(sql.size()), flags, &to, nullptr));
  };
  if (prepared.in_use) {
    prepare(statement_, 0);
    return;
  }
  if (!prepared.statement) prepare(prepared.statement, SQLITE_PREPARE_PERSISTENT);
  if (!prepared.statement) return;
  prepared.in_use = true;
  cached_ = &prepared;
  statement_ = prepared.statement;
}

Query::~Query() {
  if (!cached_) {
    sqlite3_finalize(statement_);
    return;
  }
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  cached_->in_use = false;
}

void Query::note(int code) {
  if (code != SQLITE_OK && !error_) error_ = database_.error(code, "database");
}

Result<bool> Query::next() {
  if (database_.lost_) return *database_.lost_;
  if (error_) return *error_;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Error failed = database_.error(code, "database");
  database_.look_for_lost_transaction(failed);
  return failed;
}

void Query::bind(std::nullptr_t) {
  if (!error_) note(sqlite3_bind_null(statement_, ++bound_));
}

void Query::bind(std::int64_t value) {
  if (!error_) note(sqlite3_bind_int64(statement_, ++bound_, value));
}

void Query::bind(double value) {
  if (!error_) note(sqlite3_bind_double(statement_, ++bound_, value));
}

void Query::bind(std::string_view text) {
  // An empty view may have no data, which would be NULL.
  const char* data = text.data() ? text.data() : "";
  if (!error_)
    note(sqlite3_bind_text64(statement_, ++bound_, data, text.size(),
                             texts_ == Texts::copied ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8));
}

std::int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Query::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string_view Query::view(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (!text) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::size_t Query::text_bytes() const {
  std::size_t bytes = 0;
  for (int column = 0; column < sqlite3_column_count(statement_); ++column)
    if (sqlite3_column_type(statement_, column) == SQLITE_TEXT)
      bytes += static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes;
}

}  // namespace backend::store::sqlite
