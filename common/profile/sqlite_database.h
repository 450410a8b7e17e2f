#ifndef COMMON_PROFILE_SQLITE_DATABASE_H_
#define COMMON_PROFILE_SQLITE_DATABASE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace galen::profile {

// A database that somebody else wrote, opened for reading. Only its ordinary tables are known: a
// view or a virtual table may be anything. Not thread-safe.
class SqliteDatabase {
 public:
  // `operations`: of SQLite's machine, for all queries together; beyond it every query ends in
  // RESOURCE_EXHAUSTED. DATA_LOSS: it is not a database, or damaged.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path,
                                                              std::int64_t operations);
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> OfBytes(std::string bytes,
                                                                 std::int64_t operations);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  bool Has(const std::string& table) const { return tables_.count(table) > 0; }
  bool Has(const std::string& table, const std::string& column) const;
  // The names of tables that begin so.
  std::vector<std::string> TablesFrom(absl::string_view prefix) const;

  // The rows of one query. The database must outlive it.
  class Rows {
   public:
    Rows(Rows&& other) noexcept;
    ~Rows();
    // False when there are no more.
    absl::StatusOr<bool> Next();
    void Bind(std::int64_t value);  // of the only parameter; starts the query
    bool IsNull(int column) const;
    std::int64_t Number(int column) const;
    std::string Text(int column) const;  // its first 4 KiB

   private:
    friend class SqliteDatabase;
    Rows(SqliteDatabase& database, sqlite3_stmt* statement)
        : database_(database), statement_(statement) {}
    SqliteDatabase& database_;
    sqlite3_stmt* statement_;
  };
  absl::StatusOr<Rows> Query(const std::string& sql);

 private:
  SqliteDatabase(std::string bytes, std::int64_t operations)
      : bytes_(std::move(bytes)), left_(operations) {}
  absl::Status Start();
  absl::Status Trouble() const;
  static int OnProgress(void* self);

  std::string bytes_;  // of a database in memory
  std::int64_t left_;
  sqlite3* db_ = nullptr;
  std::map<std::string, std::set<std::string>> tables_;  // with their columns
};

}  // namespace galen::profile

#endif  // COMMON_PROFILE_SQLITE_DATABASE_H_
