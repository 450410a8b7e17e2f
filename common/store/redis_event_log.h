#ifndef COMMON_STORE_REDIS_EVENT_LOG_H_
#define COMMON_STORE_REDIS_EVENT_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/store/event_log.h"
#include "common/store/redis/client.h"
#include "common/store/redis_keys.h"

namespace galen::store {

// Event logs as Redis streams, for any number of processes on any number of machines. How safe an
// acknowledged write is depends on Redis's settings (docs/store.md). Each change is one script, so
// it happens wholly or not at all; a change whose reply got lost is repeated, and Redis recognises
// the repetition. Thread-safe: calls of many threads share connections and go out together.
class RedisEventLog final : public EventLog {
 public:
  // `client` must outlive the log.
  explicit RedisEventLog(redis::Client& client);

  // Beside what every EventLog says: INVALID_ARGUMENT an event of more than kMaxEventBytes.
  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) override;
  absl::StatusOr<std::int64_t> Append(const Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events) override;
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
  enum class Made { kNow, kForThisRequest, kTaken };

  // ALREADY_EXISTS when a diagnosis of this name was deleted.
  absl::StatusOr<Made> Make(const v1::DiagnosisEvent& event, const std::string& name,
                            const std::string& create_id);
  absl::StatusOr<std::vector<bool>> Exist(const std::vector<std::string>& names);
  absl::StatusOr<std::vector<std::string>> OldDaysOf(absl::string_view name, absl::Time now);

  redis::Client& client_;
  const RedisKeys keys_;
};

constexpr std::size_t kMaxEventBytes = std::size_t{16} << 20;

}  // namespace galen::store

#endif  // COMMON_STORE_REDIS_EVENT_LOG_H_
