#ifndef SERVICES_ADVISOR_CONFIRMATIONS_H_
#define SERVICES_ADVISOR_CONFIRMATIONS_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/advisor/online.h"
#include "common/base/clock.h"
#include "common/store/records.h"

namespace galen::advisor {

// How the confirmations of jobs stand, in the store: so that a check is asked for once, however
// often advisors are started anew and however many there are. Bounded: jobs are kept in kBuckets
// records by the digest of their names; one that is full forgets the job that nothing was heard of
// for longest, and all forget what is older than kKeep. Thread-safe; calls touch the store.
class Confirmations {
 public:
  static constexpr std::size_t kBuckets = 4096;
  static constexpr absl::Duration kKeep = absl::Hours(24 * 30);

  // Both must outlive it. `most_jobs`: of all buckets together; at least one of each.
  Confirmations(store::Records& records, const Clock& clock, std::size_t most_jobs);

  // Calls `decide` with how the job stands (Stage::kQuiet: nothing is kept of it), and keeps what
  // it made of that when it returns true: then it is in the store when this returns. `decide` is
  // called anew, with what stands there then, when somebody else was faster. UNAVAILABLE,
  // DATA_LOSS: the store; nothing that `decide` decided counts then.
  absl::Status Change(const std::string& job, absl::FunctionRef<bool(Confirmation&)> decide);

 private:
  store::Records& records_;
  const Clock& clock_;
  const std::size_t most_of_a_bucket_;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_CONFIRMATIONS_H_
