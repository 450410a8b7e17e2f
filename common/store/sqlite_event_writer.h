#ifndef COMMON_STORE_SQLITE_EVENT_WRITER_H_
#define COMMON_STORE_SQLITE_EVENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/store/event_log.h"
#include "common/store/sqlite_fresh.h"
#include "common/store/sqlite_group_commit.h"

struct sqlite3;

namespace galen::store {

// The writes of SqliteEventLog, as EventLog documents them. Thread-safe.
class SqliteEventWriter {
 public:
  // `mu` is held while the connection is used. Both must outlive the object.
  static absl::StatusOr<std::unique_ptr<SqliteEventWriter>> Make(sqlite3* db, Mutex* mu,
                                                                 const std::string& file);
  ~SqliteEventWriter();

  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event);
  absl::StatusOr<std::int64_t> Append(const Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events);
  void AppendLater(const Lease& lease, std::int64_t expected_last,
                   absl::Span<const v1::DiagnosisEvent> events, EventLog::OnAppended done);
  absl::Status SetOver(absl::string_view name, std::int64_t last_sequence);
  absl::StatusOr<Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                     absl::Time now, absl::Duration ttl);
  absl::Status ReleaseLease(const Lease& lease);
  absl::Status Delete(const Lease& lease, std::int64_t expected_last, absl::Time now);

 private:
  struct Statements;
  // A diagnosis as stored.
  struct Row {
    std::int64_t id = 0;
    std::int64_t last_sequence = 0;  // of table `events`
    std::string lease_owner;
    std::int64_t lease_token = 0;
    std::int64_t lease_expires = 0;
    bool over = false;
  };

  explicit SqliteEventWriter(sqlite3* db);
  // These run in a transaction of the group.
  absl::StatusOr<Row*> Find(absl::string_view name);
  absl::StatusOr<std::optional<absl::Time>> DeletionTime(absl::string_view name);
  absl::Status MarkOver(Row& row, bool over);
  void Add(std::int64_t diagnosis, std::int64_t sequence, const v1::DiagnosisEvent& event);
  absl::Status AppendNow(const Lease& lease, std::int64_t expected_last,
                         absl::Span<const v1::DiagnosisEvent> events);
  absl::StatusOr<std::string> CreateNow(const v1::DiagnosisEvent& event);
  absl::Status DeleteNow(const Lease& lease, std::int64_t expected_last, absl::Time now);

  sqlite3* const db_;
  const std::unique_ptr<Statements> statements_;
  FreshWriter fresh_;
  // Cache of the file's rows by name, cleared when another process wrote, or a transaction failed.
  absl::flat_hash_map<std::string, Row> rows_;
  GroupCommit group_;
  bool is_open_ = false;
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_EVENT_WRITER_H_
