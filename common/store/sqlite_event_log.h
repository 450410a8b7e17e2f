#ifndef COMMON_STORE_SQLITE_EVENT_LOG_H_
#define COMMON_STORE_SQLITE_EVENT_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/store/event_log.h"
#include "common/store/sqlite_event_file.h"
#include "common/store/sqlite_event_reader.h"
#include "common/store/sqlite_event_writer.h"

namespace galen::store {

// Event logs in one SQLite file (write-ahead log beside it), for one or a few processes of one
// machine. Events are on the disk when Append() and Create() return; simultaneous appends of
// several threads wait for the disk together. Thread-safe; readers do not wait for writers.
class SqliteEventLog final : public EventLog {
 public:
  // Opens `file`, and creates it when it does not exist; ":memory:" lives as long as the object.
  // UNAVAILABLE when it cannot be opened or written; DATA_LOSS when it is damaged, is not a store
  // of galen, or was written by a newer galen. A file that is not understood is never changed.
  static absl::StatusOr<std::unique_ptr<SqliteEventLog>> Open(const std::string& file);

  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) override;
  absl::StatusOr<std::int64_t> Append(const Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events) override;
  std::optional<absl::StatusOr<std::int64_t>> AppendLater(
      const Lease& lease, std::int64_t expected_last, absl::Span<const v1::DiagnosisEvent> events,
      OnAppended done) override;
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name,
                                                       std::int64_t after_sequence,
                                                       int limit) override;
  absl::StatusOr<Page> List(absl::string_view parent, int page_size,
                            absl::string_view page_token) override;
  absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now) override;
  absl::Status SetOver(absl::string_view name, std::int64_t last_sequence) override;
  absl::StatusOr<Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                     absl::Time now, absl::Duration ttl) override;
  absl::Status ReleaseLease(const Lease& lease) override;
  absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day) override;
  absl::StatusOr<Oldest> ListOldest(absl::string_view parent, std::int64_t position,
                                    int limit) override;
  absl::Status Delete(const Lease& lease, std::int64_t expected_last, absl::Time now) override;
  absl::Status FinishDeletion(absl::string_view name) override;

 private:
  SqliteEventLog() = default;

  // The connection that writes, and the one that reads, under locks of their own; of a store in
  // memory there is only the first.
  Mutex writing_mu_;
  SqliteConnection db_;
  std::unique_ptr<SqliteEventWriter> writer_;
  Mutex reading_mu_;
  SqliteConnection read_db_;
  std::unique_ptr<SqliteEventReader> reader_;
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_EVENT_LOG_H_
