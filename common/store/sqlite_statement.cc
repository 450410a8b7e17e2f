#include "common/store/sqlite_statement.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"

namespace galen::store {

absl::Status SqliteError(sqlite3* db, int code, absl::string_view file) {
  const std::string fact = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          absl::StrCat(file, ": the store is damaged (", fact,
                       "): restore it from a backup, or recover what is left with `sqlite3 ", file,
                       " .recover` into a new file; nothing was deleted"));
    case SQLITE_NOTADB:
      return absl::DataLossError(
          absl::StrCat(file, ": not a store of galen (", fact,
                       "): name another file, or move this one away; nothing was changed"));
    case SQLITE_FULL:
      return absl::UnavailableError(absl::StrCat(file, ": the disk is full: free space on it"));
    case SQLITE_CANTOPEN:
      return absl::UnavailableError(absl::StrCat(file, ": cannot be opened (", fact,
                                                 "): create its directory and make it writable"));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::UnavailableError(
          absl::StrCat(file, ": cannot be written (", fact, "): give this user write access"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(
          absl::StrCat(file, ": held by another process for too long: try again"));
    case SQLITE_TOOBIG:
      return absl::InvalidArgumentError(absl::StrCat(file, ": an event is too large to store"));
    default:
      return absl::UnavailableError(absl::StrCat(file, ": ", fact));
  }
}

Statement::~Statement() { sqlite3_finalize(statement_); }

absl::Status Statement::Prepare(sqlite3* db, absl::string_view file, absl::string_view sql) {
  db_ = db;
  file_ = std::string(file);
  const int code = sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(db, code, file);
}

Statement::Run::~Run() {
  sqlite3_reset(statement_.statement_);
  sqlite3_clear_bindings(statement_.statement_);
}

void Statement::Run::Bind(int parameter, std::int64_t value) {
  bind_code_ |= sqlite3_bind_int64(statement_.statement_, parameter, value);
}

void Statement::Run::Bind(int parameter, absl::string_view text) {
  bind_code_ |= sqlite3_bind_text64(statement_.statement_, parameter, text.data(), text.size(),
                                    SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::Run::BindBlob(int parameter, absl::string_view bytes) {
  bind_code_ |= sqlite3_bind_blob64(statement_.statement_, parameter, bytes.data(), bytes.size(),
                                    SQLITE_STATIC);
}

absl::StatusOr<bool> Statement::Run::Next() {
  // Binding fails only for a text beyond SQLite's size limit, or when memory runs out.
  const int code = bind_code_ != SQLITE_OK ? SQLITE_TOOBIG : sqlite3_step(statement_.statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(statement_.db_, code, statement_.file_);
}

absl::Status Statement::Run::Done() { return Next().status(); }

std::int64_t Statement::Run::Int(int column) const {
  return sqlite3_column_int64(statement_.statement_, column);
}

std::string Statement::Run::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.statement_, column);
  const int size = sqlite3_column_bytes(statement_.statement_, column);
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

}  // namespace galen::store
