#ifndef COMMON_STORE_RECORDS_H_
#define COMMON_STORE_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::store {

struct Record {
  std::string key;
  std::string value;
  std::int64_t version = 0;  // grows by one with each change, from 1
};

// Values that are kept until they are removed, with compare-and-swap: several processes may try a
// change, and exactly one wins. `space` separates the users. As durable as the event log of the
// same store. Thread-safe; calls may touch a disk or a network. Errors of every method: UNAVAILABLE
// the store cannot be reached (try again: the change may have been made); DATA_LOSS;
// INVALID_ARGUMENT a key of more than kMaxRecordKey bytes or none, a value of more than
// kMaxRecordValue.
class Records {
 public:
  virtual ~Records() = default;

  virtual absl::StatusOr<std::optional<Record>> Get(absl::string_view space,
                                                    absl::string_view key) = 0;
  // Replaces version `seen` (0: the key must not exist) with `value` and returns the new version.
  // ABORTED when the stored version is another one. Putting the same value in the same place again
  // succeeds, so a caller that must win alone includes its own name in the value.
  virtual absl::StatusOr<std::int64_t> Put(absl::string_view space, absl::string_view key,
                                           absl::string_view value, std::int64_t seen) = 0;
  // Removes version `seen`; OK also when the key does not exist. ABORTED when the stored version is
  // another one.
  virtual absl::Status Remove(absl::string_view space, absl::string_view key,
                              std::int64_t seen) = 0;
  // Those whose key is greater than `after` ("" for all), by key, at most `limit`.
  virtual absl::StatusOr<std::vector<Record>> List(absl::string_view space, absl::string_view after,
                                                   int limit) = 0;
};

constexpr std::size_t kMaxRecordKey = 1024;
constexpr std::size_t kMaxRecordValue = std::size_t{1} << 20;

// INVALID_ARGUMENT when no store would take it.
absl::Status CheckRecord(absl::string_view space, absl::string_view key, absl::string_view value);

}  // namespace galen::store

#endif  // COMMON_STORE_RECORDS_H_
