// SQLite behind Result: a database, statements that are prepared once, transactions that nest.
//
// A Database and all that comes from it belong to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace backend::store::sqlite {

class Query;

class Database {
 public:
  enum class Mode { write, read_only };

  // WAL, synchronous=FULL (a commit is on disk when it returns), foreign keys enforced.
  static base::Result<Database> open(const std::string& path, Mode mode);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) = delete;

  // One statement, or several separated by ";", without parameters and not prepared for later.
  base::Result<void> execute(const std::string& sql);

  // Runs a prepared statement to its end, rows ignored. Answers how many rows it changed.
  template <class... Args>
  base::Result<std::int64_t> run(std::string_view sql, const Args&... args);

  // See Store::transact(). SQLite may end a transaction by itself in the middle (a full disk, an error of the
  // disk). All that was in it is undone then, and every further statement in it fails with that error: each
  // would be committed on its own. The outermost call fails, whatever its work made of the error.
  base::Result<void> transact(const std::function<base::Result<void>()>& work);

  std::int64_t last_row_id() const;
  std::int64_t changes() const;  // rows that the last statement changed

 private:
  friend class Query;
  struct Prepared {
    sqlite3_stmt* statement = nullptr;
    bool in_use = false;
  };

  explicit Database(sqlite3* handle) : handle_(handle) {}
  base::Result<void> configure(Mode mode);
  base::Error error(int code, std::string_view doing) const;
  // After a statement of a transaction has failed: whether there still is one.
  void look_for_lost_transaction(const base::Error& error);

  sqlite3* handle_;
  int depth_ = 0;                    // of transact()
  std::optional<base::Error> lost_;  // why the transaction that we are in has ended
  std::unordered_map<std::string, Prepared> prepared_;
};

// A statement in use. Prepared when its text is seen for the first time; an error of preparing or binding
// comes out of next(). Texts given as parameters are copied.
class Query {
 public:
  template <class... Args>
  Query(Database& database, std::string_view sql, const Args&... args) : Query(database, sql, Texts::copied) {
    (bind(args), ...);
  }
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // True: there is a row, whose columns can be read until the next call. False: that was the last.
  base::Result<bool> next();

  std::int64_t integer(int column) const;
  std::uint64_t count(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  double real(int column) const;
  std::string_view view(int column) const;  // until the next call
  std::string text(int column) const { return std::string(view(column)); }
  bool is_null(int column) const;
  std::size_t text_bytes() const;  // of the row's texts together

  // One more parameter. For texts, see the constructor; for lists of parameters whose length varies.
  void bind(std::nullptr_t);
  void bind(std::int64_t value);
  void bind(int value) { bind(std::int64_t{value}); }
  void bind(unsigned value) { bind(std::int64_t{value}); }
  void bind(bool value) { bind(std::int64_t{value}); }
  void bind(std::uint64_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(double value);
  void bind(std::string_view text);
  void bind(const std::string& text) { bind(std::string_view(text)); }
  void bind(const char* text) { bind(std::string_view(text)); }
  template <class T>
  void bind(const std::optional<T>& value) {
    value ? bind(*value) : bind(nullptr);
  }

 private:
  friend class Database;
  enum class Texts { copied, kept };  // kept: they must live until the last next()
  Query(Database& database, std::string_view sql, Texts texts);
  void note(int code);

  Database& database_;
  Database::Prepared* cached_ = nullptr;  // null: a second use at the same time has a statement of its own
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  Texts texts_;
  std::optional<base::Error> error_;
};

template <class... Args>
base::Result<std::int64_t> Database::run(std::string_view sql, const Args&... args) {
  Query query(*this, sql, Query::Texts::kept);
  (query.bind(args), ...);
  while (true) {
    auto row = query.next();
    if (!row) return std::move(row).error();
    if (!*row) return changes();
  }
}

}  // namespace backend::store::sqlite
