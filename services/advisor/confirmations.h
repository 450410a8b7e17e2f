#ifndef SERVICES_ADVISOR_CONFIRMATIONS_H_
#define SERVICES_ADVISOR_CONFIRMATIONS_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/store/records.h"
#include "services/advisor/learning/online.h"

namespace galen::advisor {

// The state of the confirmations of jobs, in the store: so a check is requested once, by any number
// of advisors and after any restart. Bounded: jobs are kept in kBuckets records by the digest of
// their names; a full record forgets the job with the oldest update, and all forget entries older
// than kKeep. Thread-safe; calls touch the store.
class Confirmations {
 public:
  static constexpr std::size_t kBuckets = 4096;
  static constexpr absl::Duration kKeep = absl::Hours(24 * 30);

  // Both must outlive it. `most_jobs`: of all buckets together; at least one for each.
  Confirmations(store::Records& records, const Clock& clock, std::size_t most_jobs);

  // Calls `decide` with the state of the job (Stage::kQuiet: nothing is stored), and stores the new
  // state if it returns true: then it is in the store when this returns. `decide` is called again,
  // with the state of that moment, if another advisor was faster. UNAVAILABLE, DATA_LOSS: the
  // store; the decision of `decide` does not count then.
  absl::Status Change(const std::string& job, absl::FunctionRef<bool(Confirmation&)> decide);

 private:
  store::Records& records_;
  const Clock& clock_;
  const std::size_t most_of_a_bucket_;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_CONFIRMATIONS_H_
