#ifndef COMMON_STORE_SQLITE_EVENT_LOG_H_
#define COMMON_STORE_SQLITE_EVENT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/store/event_log.h"
#include "common/store/sqlite_group_commit.h"
#include "common/store/sqlite_statement.h"

struct sqlite3;

namespace galen::store {

// Event logs in one SQLite file (write-ahead log beside it), for one or a few processes of one
// machine. Events are on the disk when Append() and Create() return; what threads append at the
// same time waits for the disk together. Thread-safe; who reads does not wait for who writes.
class SqliteEventLog final : public EventLog {
 public:
  // Opens `file`, and creates it when there is none; ":memory:" lives as long as the object.
  // UNAVAILABLE when it cannot be opened or written; DATA_LOSS when it is damaged, is no store of
  // galen, or was written by a newer galen. A file that is not understood is never changed.
  static absl::StatusOr<std::unique_ptr<SqliteEventLog>> Open(const std::string& file);
  ~SqliteEventLog() override;

  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) override;
  absl::StatusOr<std::int64_t> Append(const Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events) override;
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name,
                                                       std::int64_t after_sequence,
                                                       int limit) override;
  absl::StatusOr<Page> List(absl::string_view parent, int page_size,
                            absl::string_view page_token) override;
  absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now) override;
  absl::Status SetOver(absl::string_view name, bool over) override;
  absl::StatusOr<Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                     absl::Time now, absl::Duration ttl) override;
  absl::Status ReleaseLease(const Lease& lease) override;
  absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day) override;

 private:
  struct Writing;
  struct Reading;
  struct Row;

  explicit SqliteEventLog(std::string file);
  absl::StatusOr<sqlite3*> OpenFile() const;
  absl::Status CheckSchema();
  absl::Status PrepareAll();
  absl::Status Execute(const char* sql);
  absl::StatusOr<std::int64_t> Pragma(const char* sql);
  absl::StatusOr<Row> Find(Statement& find, absl::string_view name);
  absl::Status InsertEvent(std::int64_t diagnosis, std::int64_t sequence,
                           const v1::DiagnosisEvent& event);
  absl::Status AppendNow(const Lease& lease, std::int64_t expected_last,
                         absl::Span<const v1::DiagnosisEvent> events);
  absl::StatusOr<std::string> CreateNow(const v1::DiagnosisEvent& event);

  const std::string file_;
  // The connection that writes, and what it has prepared: for what GroupCommit runs.
  sqlite3* db_ = nullptr;
  Mutex writing_mu_;
  std::unique_ptr<Writing> writing_;
  GroupCommit group_;
  // The connection that reads, under a lock of its own; of a store in memory the same one.
  sqlite3* read_db_ = nullptr;
  Mutex reading_mu_;
  Mutex* read_mu_ = &reading_mu_;
  std::unique_ptr<Reading> reading_;
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_EVENT_LOG_H_
