#include <sqlite3.h>

#include <utility>

#include "common/base/status_macros.h"
#include "common/store/sqlite_parts.h"

namespace galen::store {
namespace {

// Times are microseconds since 1970.
constexpr char kTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS work (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    key TEXT NOT NULL,
    payload BLOB NOT NULL,
    worker TEXT NOT NULL DEFAULT '',
    taken INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    UNIQUE (queue, key));
  CREATE TABLE IF NOT EXISTS kept_values (
    space TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, expires INTEGER NOT NULL,
    PRIMARY KEY (space, key)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS rates (
    key TEXT PRIMARY KEY, tokens TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS nodes (
    name TEXT PRIMARY KEY, record BLOB NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal_heads (
    journal TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journals (
    journal TEXT NOT NULL, position INTEGER NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (journal, position)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS records (
    space TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (space, key)) WITHOUT ROWID;
)sql";

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteTables>> SqliteTables::Open(const std::string& file) {
  std::unique_ptr<SqliteTables> tables(new SqliteTables(file));
  const int code =
      sqlite3_open_v2(file.c_str(), &tables->db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return SqliteError(tables->db_, code, file);
  sqlite3_extended_result_codes(tables->db_, 1);
  sqlite3_busy_timeout(tables->db_, 5000);
  GALEN_RETURN_IF_ERROR(
      tables->Run(/*synchronous=*/true, [](Access& access) { return access.Execute(kTables); }));
  return tables;
}

SqliteTables::~SqliteTables() { sqlite3_close_v2(db_); }

absl::Status SqliteTables::Access::Execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(db_, code, file_);
}

std::int64_t SqliteTables::Access::Changes() const { return sqlite3_changes(db_); }

absl::Status SqliteTables::Run(bool synchronous, absl::FunctionRef<absl::Status(Access&)> work) {
  MutexLock lock(mu_);
  Access access(db_, file_);
  GALEN_RETURN_IF_ERROR(
      access.Execute(synchronous ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  GALEN_RETURN_IF_ERROR(access.Execute("BEGIN IMMEDIATE"));
  absl::Status status = work(access);
  if (status.ok()) status = access.Execute("COMMIT");
  if (!status.ok()) access.Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace galen::store
