#ifndef COMMON_STORE_SQLITE_EVENT_FILE_H_
#define COMMON_STORE_SQLITE_EVENT_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct sqlite3;

namespace galen::store {

struct CloseSqlite {
  void operator()(sqlite3* db) const;
};
using SqliteConnection = std::unique_ptr<sqlite3, CloseSqlite>;

// A connection to `file`, which is made when there is none. UNAVAILABLE.
absl::StatusOr<SqliteConnection> ConnectToSqlite(const std::string& file);

// A connection to a file of event logs. Creates the tables of a new file and migrates an older
// format. UNAVAILABLE when it cannot be opened or written; DATA_LOSS when it is damaged, is not a
// store of galen, or was written by a newer galen: then it is not changed.
absl::StatusOr<SqliteConnection> OpenEventFile(const std::string& file);

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_EVENT_FILE_H_
