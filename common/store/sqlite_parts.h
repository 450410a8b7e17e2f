#ifndef COMMON_STORE_SQLITE_PARTS_H_
#define COMMON_STORE_SQLITE_PARTS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/store/journal.h"
#include "common/store/key_value.h"
#include "common/store/node_table.h"
#include "common/store/rate_limits.h"
#include "common/store/records.h"
#include "common/store/sqlite_statement.h"
#include "common/store/work_queue.h"

struct sqlite3;

namespace galen::store {

// A second connection to the file of a SqliteEventLog, with tables of its own beside the events. An
// older galen ignores these tables and does not conflict with them. Thread-safe.
class SqliteTables {
 public:
  // The file must be a store of galen already (SqliteEventLog::Open made sure of that), or
  // ":memory:". UNAVAILABLE; DATA_LOSS.
  static absl::StatusOr<std::unique_ptr<SqliteTables>> Open(const std::string& file);
  ~SqliteTables();

  // One statement with texts and numbers, in the order of their parameters, for a run of it.
  class Access {
   public:
    Access(sqlite3* db, const std::string& file) : db_(db), file_(file) {}
    absl::Status Prepare(Statement& statement, absl::string_view sql) {
      return statement.Prepare(db_, file_, sql);
    }
    absl::Status Execute(const char* sql);
    std::int64_t Changes() const;

   private:
    sqlite3* const db_;
    const std::string& file_;
  };
  // Runs `work` in one transaction, alone: it is kept when `work` returns OK. On the disk when this
  // returns, if `synchronous`; else a crash of the machine may lose the last writes.
  absl::Status Run(bool synchronous, absl::FunctionRef<absl::Status(Access&)> work);

 private:
  explicit SqliteTables(std::string file) : file_(std::move(file)) {}

  const std::string file_;
  Mutex mu_;
  sqlite3* db_ = nullptr;
};

// `tables` must outlive each.
std::unique_ptr<WorkQueue> MakeSqliteWorkQueue(SqliteTables& tables);
std::unique_ptr<KeyValue> MakeSqliteKeyValue(SqliteTables& tables);
std::unique_ptr<RateLimits> MakeSqliteRateLimits(SqliteTables& tables);
std::unique_ptr<NodeTable> MakeSqliteNodeTable(SqliteTables& tables);
std::unique_ptr<Journal> MakeSqliteJournal(SqliteTables& tables);
std::unique_ptr<Records> MakeSqliteRecords(SqliteTables& tables);

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_PARTS_H_
