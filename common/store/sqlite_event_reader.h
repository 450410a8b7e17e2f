#ifndef COMMON_STORE_SQLITE_EVENT_READER_H_
#define COMMON_STORE_SQLITE_EVENT_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/store/event_log.h"
#include "common/store/sqlite_fresh.h"

struct sqlite3;

namespace galen::store {

// The reads of SqliteEventLog, as EventLog documents them. Thread-safe.
class SqliteEventReader {
 public:
  // `mu` is held while the connection is used. Both must outlive the object.
  static absl::StatusOr<std::unique_ptr<SqliteEventReader>> Make(sqlite3* db, Mutex* mu,
                                                                 const std::string& file);
  ~SqliteEventReader();

  absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name,
                                                       std::int64_t after_sequence, int limit);
  absl::StatusOr<EventLog::Page> List(absl::string_view parent, int page_size,
                                      absl::string_view page_token);
  absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now);
  absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day);
  absl::StatusOr<EventLog::Oldest> ListOldest(absl::string_view parent, std::int64_t position,
                                              int limit);

 private:
  struct Statements;

  SqliteEventReader(Mutex* mu, std::string file);
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> ReadNow(absl::string_view name,
                                                          std::int64_t after_sequence, int limit);
  absl::Status MissingError(absl::string_view name);

  Mutex* const mu_;
  const std::string file_;
  const std::unique_ptr<Statements> statements_;
  FreshReader fresh_;
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_EVENT_READER_H_
