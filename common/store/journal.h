#ifndef COMMON_STORE_JOURNAL_H_
#define COMMON_STORE_JOURNAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::store {

struct JournalEntry {
  std::int64_t position = 0;
  std::string record;
};

// Records in the order in which they were appended, by many writers, until they are trimmed. As
// durable as the event log of the same store. Thread-safe; calls may touch a disk or a network.
// Errors of every method: UNAVAILABLE the store cannot be reached (try again); DATA_LOSS.
class Journal {
 public:
  virtual ~Journal() = default;

  // Appends all or none, in order, and returns the position of the last. Positions begin with 1,
  // grow by one and are never reused. A call that failed with UNAVAILABLE may have been carried
  // out; a retry then stores the records twice. INVALID_ARGUMENT without a record, or with one of
  // more than kMaxRecordBytes.
  virtual absl::StatusOr<std::int64_t> Append(absl::string_view journal,
                                              absl::Span<const std::string> records) = 0;
  // Entries after `after`, oldest first, at most `limit`. Empty without any.
  virtual absl::StatusOr<std::vector<JournalEntry>> Read(absl::string_view journal,
                                                         std::int64_t after, int limit) = 0;
  // Forgets the entries up to `position`.
  virtual absl::Status Trim(absl::string_view journal, std::int64_t position) = 0;
};

constexpr std::size_t kMaxRecordBytes = std::size_t{8} << 20;

// INVALID_ARGUMENT when a journal would not take these.
absl::Status CheckRecords(absl::string_view journal, absl::Span<const std::string> records);

}  // namespace galen::store

#endif  // COMMON_STORE_JOURNAL_H_
