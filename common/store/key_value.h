#ifndef COMMON_STORE_KEY_VALUE_H_
#define COMMON_STORE_KEY_VALUE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::store {

// Values that can be made again: compiled knowledge, answers of language models. May forget a value
// before its time (a crash, a full memory); never gives one that is too old. `space` separates
// the users. Thread-safe. Errors of every method: UNAVAILABLE; DATA_LOSS.
class KeyValue {
 public:
  virtual ~KeyValue() = default;

  // Keeps `value` until `now + ttl`, and replaces an earlier value. INVALID_ARGUMENT when `ttl` is
  // not positive or the value has more than kMaxValueBytes.
  virtual absl::Status Put(absl::string_view space, absl::string_view key, absl::string_view value,
                           absl::Time now, absl::Duration ttl) = 0;
  // Nothing when the value does not exist or has expired.
  virtual absl::StatusOr<std::optional<std::string>> Get(absl::string_view space,
                                                         absl::string_view key, absl::Time now) = 0;
  virtual absl::Status Remove(absl::string_view space, absl::string_view key) = 0;
};

constexpr std::size_t kMaxValueBytes = std::size_t{16} << 20;

}  // namespace galen::store

#endif  // COMMON_STORE_KEY_VALUE_H_
