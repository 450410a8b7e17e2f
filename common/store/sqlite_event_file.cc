#include "common/store/sqlite_event_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/store/sqlite_fresh.h"
#include "common/store/sqlite_statement.h"

namespace galen::store {
namespace {

constexpr int kApplicationId = 0x47414c4e;  // "GALN" in the file's header: whose file it is
// The size to which the write-ahead log is filled when the file is opened, which takes some
// milliseconds; beyond that it grows on demand.
constexpr off_t kWalBytes = off_t{4} << 20;
constexpr int kSchemaVersion = 2;  // 1: no fresh events beside those in their place

constexpr char kSchema[] = R"sql(
  CREATE TABLE diagnoses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    parent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,  -- of those in `events`
    over INTEGER NOT NULL DEFAULT 0,
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_token INTEGER NOT NULL DEFAULT 0,
    lease_expires INTEGER NOT NULL DEFAULT 0);  -- microseconds since 1970
  CREATE UNIQUE INDEX diagnoses_by_request ON diagnoses (parent, request_id)
    WHERE request_id <> '';
  CREATE INDEX diagnoses_by_parent ON diagnoses (parent, id);
  CREATE INDEX diagnoses_not_over ON diagnoses (lease_expires) WHERE over = 0;
  CREATE TABLE events (
    diagnosis INTEGER NOT NULL REFERENCES diagnoses (id),
    sequence INTEGER NOT NULL,
    event BLOB NOT NULL,  -- galen.v1.DiagnosisEvent
    PRIMARY KEY (diagnosis, sequence)) WITHOUT ROWID;
)sql";

// Beside the format's own tables, so that a galen which knows nothing of them still reads the file.
constexpr char kBeside[] = R"sql(
  CREATE TABLE IF NOT EXISTS model_accounts (
    parent TEXT NOT NULL,
    day TEXT NOT NULL,  -- UTC
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (parent, day)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS deleted_diagnoses (
    name TEXT PRIMARY KEY,
    time INTEGER NOT NULL) WITHOUT ROWID;  -- of the deletion, microseconds since 1970
)sql";

absl::Status Execute(const SqliteConnection& db, const std::string& file, const std::string& sql) {
  const int code = sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(db.get(), code, file);
}

absl::StatusOr<std::int64_t> Ask(const SqliteConnection& db, const std::string& file,
                                 absl::string_view sql) {
  Statement statement;
  GALEN_RETURN_IF_ERROR(statement.Prepare(db.get(), file, sql));
  Statement::Run run(statement);
  GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
  return row ? run.Int(0) : 0;
}

// One transaction: two processes that start at once must not both create the tables.
absl::Status MakeTables(const SqliteConnection& db, const std::string& file) {
  GALEN_RETURN_IF_ERROR(Execute(db, file, "BEGIN IMMEDIATE"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t tables,
                         Ask(db, file, "SELECT count(*) FROM sqlite_schema"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t application, Ask(db, file, "PRAGMA application_id"));
  GALEN_ASSIGN_OR_RETURN(std::int64_t version, Ask(db, file, "PRAGMA user_version"));
  if (tables == 0 && application == 0) {
    GALEN_RETURN_IF_ERROR(Execute(db, file, kSchema));
    GALEN_RETURN_IF_ERROR(
        Execute(db, file, absl::StrCat("PRAGMA application_id = ", kApplicationId)));
    version = 1;
  } else if (application != kApplicationId) {
    return absl::DataLossError(absl::StrCat(
        file, ": an SQLite file of another program: name another file; nothing was changed"));
  } else if (version < 1 || version > kSchemaVersion) {
    return absl::DataLossError(absl::StrCat(file, ": written in format ", version,
                                            ", this galen reads formats 1 to ", kSchemaVersion,
                                            ": run the galen that wrote it; nothing was changed"));
  }
  if (version == 1) {
    GALEN_RETURN_IF_ERROR(Execute(db, file, kFreshSchema));
    GALEN_RETURN_IF_ERROR(
        Execute(db, file, absl::StrCat("PRAGMA user_version = ", kSchemaVersion)));
  }
  GALEN_RETURN_IF_ERROR(Execute(db, file, kBeside));
  return Execute(db, file, "COMMIT");
}

// Writes zeros to where the write-ahead log will grow until it is written into the file for the
// first time. Making an event durable in a part of a file that was written before takes the disk
// half as long as at its end, since the file's length does not change. SQLite does not take zeros
// for a frame.
absl::Status PrepareWal(const SqliteConnection& db, const std::string& file) {
  // Nobody else appends to it meanwhile.
  GALEN_RETURN_IF_ERROR(Execute(db, file, "BEGIN IMMEDIATE"));
  const std::string wal = file + "-wal";
  const int fd = open(wal.c_str(), O_WRONLY | O_CLOEXEC);
  // For speed alone: the first event meets the same obstacle, such as a full disk, and reports it.
  if (fd >= 0) {
    const std::string zeros(std::size_t{64} << 10, '\0');
    off_t size = lseek(fd, 0, SEEK_END);
    while (size >= 0 && size < kWalBytes) {
      const ssize_t written = pwrite(fd, zeros.data(), zeros.size(), size);
      if (written <= 0) break;
      size += written;
    }
    static_cast<void>(fdatasync(fd));
    close(fd);
  }
  return Execute(db, file, "COMMIT");
}

}  // namespace

void CloseSqlite::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

absl::StatusOr<SqliteConnection> ConnectToSqlite(const std::string& file) {
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(file.c_str(), &opened,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteConnection db(opened);
  if (code != SQLITE_OK) return SqliteError(opened, code, file);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, 5000);
  return db;
}

absl::StatusOr<SqliteConnection> OpenEventFile(const std::string& file) {
  GALEN_ASSIGN_OR_RETURN(SqliteConnection db, ConnectToSqlite(file));
  GALEN_RETURN_IF_ERROR(MakeTables(db, file));
  GALEN_RETURN_IF_ERROR(Execute(db, file, "PRAGMA journal_mode = WAL"));
  GALEN_RETURN_IF_ERROR(Execute(db, file, "PRAGMA foreign_keys = ON"));
  // Pages that are reused at once need not be overwritten with zeros first, which is Debian's
  // default.
  GALEN_RETURN_IF_ERROR(Execute(db, file, "PRAGMA secure_delete = OFF"));
  // In pages of 4 KiB. A page that is in the log many times is written to the file once.
  GALEN_RETURN_IF_ERROR(Execute(db, file, "PRAGMA wal_autocheckpoint = 4096"));
  // Memory for the rows that move together (sqlite_fresh.h), with all pages that they touch.
  GALEN_RETURN_IF_ERROR(Execute(db, file, "PRAGMA cache_size = -8192"));
  if (file != ":memory:") GALEN_RETURN_IF_ERROR(PrepareWal(db, file));
  return db;
}

}  // namespace galen::store
