#include "common/profile/sqlite_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"

namespace galen::profile {
namespace {

constexpr int kOperationsAtOnce = 10'000;
constexpr int kMostValue = 1 << 20;
constexpr int kMostSql = 64 << 10;
constexpr int kMostText = 4096;
constexpr std::size_t kMostTables = 4096;

// `path` in a URI: what is not a letter, a digit or a path's own sign is escaped.
std::string UriOf(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("/._-", c)) {
      uri += c;
    } else {
      absl::StrAppendFormat(&uri, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return uri + "?mode=ro&immutable=1";
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                                     std::int64_t operations) {
  auto database = std::unique_ptr<SqliteDatabase>(new SqliteDatabase("", operations));
  if (sqlite3_open_v2(UriOf(path).c_str(), &database->db_,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    return database->Trouble();
  }
  GALEN_RETURN_IF_ERROR(database->Start());
  return database;
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OfBytes(std::string bytes,
                                                                        std::int64_t operations) {
  constexpr std::size_t kVersions = 18;  // of the file format: 2 asks for a write-ahead log
  if (bytes.size() > kVersions + 1) bytes[kVersions] = bytes[kVersions + 1] = 1;
  auto database = std::unique_ptr<SqliteDatabase>(new SqliteDatabase(std::move(bytes), operations));
  if (sqlite3_open_v2(":memory:", &database->db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK ||
      sqlite3_deserialize(database->db_, "main",
                          reinterpret_cast<unsigned char*>(database->bytes_.data()),
                          static_cast<sqlite3_int64>(database->bytes_.size()),
                          static_cast<sqlite3_int64>(database->bytes_.size()),
                          SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    return database->Trouble();
  }
  GALEN_RETURN_IF_ERROR(database->Start());
  return database;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(db_); }

absl::Status SqliteDatabase::Start() {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, kMostValue);
  sqlite3_limit(db_, SQLITE_LIMIT_SQL_LENGTH, kMostSql);
  sqlite3_limit(db_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_progress_handler(db_, kOperationsAtOnce, OnProgress, this);
  for (const char* const pragma :
       {"PRAGMA cell_size_check = ON", "PRAGMA query_only = ON", "PRAGMA automatic_index = OFF",
        "PRAGMA temp_store = MEMORY", "PRAGMA mmap_size = 0"}) {
    if (sqlite3_exec(db_, pragma, nullptr, nullptr, nullptr) != SQLITE_OK) return Trouble();
  }
  GALEN_ASSIGN_OR_RETURN(Rows tables,
                         Query("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT "
                               "LIKE 'CREATE VIRTUAL%'"));
  std::vector<std::string> names;
  while (names.size() < kMostTables) {
    GALEN_ASSIGN_OR_RETURN(const bool more, tables.Next());
    if (!more) break;
    names.push_back(tables.Text(0));
  }
  for (const std::string& name : names) {
    // A name with other signs is not one that a profiler writes.
    if (!std::all_of(name.begin(), name.end(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
        })) {
      continue;
    }
    GALEN_ASSIGN_OR_RETURN(Rows columns, Query(absl::StrCat("PRAGMA table_info(\"", name, "\")")));
    std::set<std::string>& into = tables_[name];
    for (;;) {
      GALEN_ASSIGN_OR_RETURN(const bool more, columns.Next());
      if (!more) break;
      into.insert(columns.Text(1));
    }
  }
  return absl::OkStatus();
}

int SqliteDatabase::OnProgress(void* self) {
  auto* const database = static_cast<SqliteDatabase*>(self);
  database->left_ -= kOperationsAtOnce;
  return database->left_ < 0 ? 1 : 0;
}

absl::Status SqliteDatabase::Trouble() const {
  const int code = sqlite3_errcode(db_);
  if (code == SQLITE_INTERRUPT) {
    return absl::ResourceExhaustedError("the database takes too long to read");
  }
  return absl::DataLossError(
      absl::StrCat("the database cannot be read (", sqlite3_errmsg(db_), ")"));
}

bool SqliteDatabase::Has(const std::string& table, const std::string& column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.count(column) > 0;
}

std::vector<std::string> SqliteDatabase::TablesFrom(absl::string_view prefix) const {
  std::vector<std::string> found;
  for (const auto& [name, columns] : tables_) {
    if (absl::StartsWith(name, prefix)) found.push_back(name);
  }
  return found;
}

absl::StatusOr<SqliteDatabase::Rows> SqliteDatabase::Query(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return Trouble();
  return Rows(*this, statement);
}

SqliteDatabase::Rows::Rows(Rows&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

SqliteDatabase::Rows::~Rows() { sqlite3_finalize(statement_); }

absl::StatusOr<bool> SqliteDatabase::Rows::Next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_.Trouble();
}

void SqliteDatabase::Rows::Bind(std::int64_t value) {
  sqlite3_reset(statement_);
  sqlite3_bind_int64(statement_, 1, value);
}

bool SqliteDatabase::Rows::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t SqliteDatabase::Rows::Number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string SqliteDatabase::Rows::Text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  const int size = std::min(sqlite3_column_bytes(statement_, column), kMostText);
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text), size);
}

}  // namespace galen::profile
