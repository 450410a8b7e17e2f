#ifndef COMMON_STORE_SQLITE_FRESH_H_
#define COMMON_STORE_SQLITE_FRESH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/store/sqlite_statement.h"

namespace galen::store {

// Recently appended events are in table `fresh`, a row for each transaction, whatever their
// diagnoses: one row at the end costs the disk a page or two, where each event in the place of its
// diagnosis costs a page of its own. Once they reach a megabyte, or the file is closed, they move
// to table `events`, which keeps the events of a diagnosis together.
//
// An event is in one of the two, never in both; `diagnoses.last_sequence` is the last of `events`.
inline constexpr char kFreshSchema[] = R"sql(
  CREATE TABLE fresh (
    id INTEGER PRIMARY KEY,  -- only grows, also when the table is empty again
    records BLOB NOT NULL);  -- EncodeRecord(), one after the other
  CREATE TABLE fresh_moved (last INTEGER NOT NULL);  -- id of the last row that moved to `events`
  INSERT INTO fresh_moved VALUES (0);
)sql";

// One event of a diagnosis, as a row of `fresh` has it.
struct FreshRecord {
  std::int64_t diagnosis = 0;
  std::int64_t sequence = 0;
  absl::string_view event;  // galen.v1.DiagnosisEvent
};
void EncodeRecord(const FreshRecord& record, std::string& to);
// Calls `each` for all records of a row, with views of `records`. DATA_LOSS when the row is
// corrupt.
absl::Status DecodeRecords(absl::string_view records,
                           absl::FunctionRef<void(const FreshRecord&)> each);

// The side that writes, on the connection that does. Not thread-safe. All but Last() is called in a
// transaction, and Committed() or RolledBack() after it.
class FreshWriter {
 public:
  absl::Status Prepare(sqlite3* db, const std::string& file);

  // Must be called first. `changed`: another connection has written since the last call, so cached
  // data of the file may be wrong.
  absl::Status Begin(bool& changed);

  // The last event of the diagnosis, with `in_events` from diagnoses.last_sequence.
  std::int64_t Last(std::int64_t diagnosis, std::int64_t in_events) const;
  void Add(const FreshRecord& record);
  // Whether the current transaction adds events of the diagnosis.
  bool IsAdded(std::int64_t diagnosis) const { return added_last_.count(diagnosis) > 0; }
  // Writes the added records; moves all to `events` when they have become many.
  absl::Status Flush();
  absl::Status MoveAll();

  void Committed();
  void RolledBack();

 private:
  Statement version_, moved_, read_, insert_, insert_event_, set_last_, clear_, set_moved_;
  std::string file_;
  std::int64_t seen_version_ = -1;
  std::int64_t seen_ = 0;  // id of the last row that is known here
  std::size_t bytes_ = 0;  // of the rows since the last move, about
  // The last event of each diagnosis that has fresh ones; old entries do no harm.
  absl::flat_hash_map<std::int64_t, std::int64_t> last_;

  // Changes of the current transaction.
  std::string added_;
  absl::flat_hash_map<std::int64_t, std::int64_t> added_last_;
  bool moved_all_ = false;
};

// The side that reads: keeps what is in `fresh` in memory, by diagnosis. Not thread-safe.
class FreshReader {
 public:
  absl::Status Prepare(sqlite3* db, const std::string& file);

  // Reads the rows written since; call it in the transaction that also reads `events`.
  absl::Status Refresh();
  // Fresh events of the diagnosis, in order. Valid until the next Refresh().
  absl::Span<const std::string> Of(std::int64_t diagnosis) const;

 private:
  Statement moved_, read_;
  std::string file_;
  std::int64_t seen_ = 0;
  std::int64_t seen_moved_ = 0;
  absl::flat_hash_map<std::int64_t, std::vector<std::string>> by_diagnosis_;
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_FRESH_H_
