#ifndef SERVICES_ADVISOR_ADVISOR_H_
#define SERVICES_ADVISOR_ADVISOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/advisor/known_mismatches.h"
#include "common/advisor/learner.h"
#include "common/advisor/online.h"
#include "common/advisor/signs.h"
#include "common/base/clock.h"
#include "common/base/current.h"
#include "common/base/mutex.h"
#include "common/store/store.h"
#include "galen/advisor/v1/advisor.pb.h"
#include "services/advisor/confirmations.h"

namespace galen::advisor {

// The knowledge that the advisor works with.
struct Book {
  KnownMismatches known;
  BuildUpSigns signs;
  static absl::StatusOr<std::shared_ptr<const Book>> Load(
      const std::vector<std::string>& directories);
};

// What advisor.proto says, without gRPC. Recorded runs are a journal in the store, patterns and
// what was revoked a record beside it, and so is how confirmations stand: any number of advisors
// share a store, and each learns the same from it. Thread-safe. RegisterJob touches no store,
// ReportProgress only when a check may be due.
class Advisor {
 public:
  struct Options {
    std::int64_t keep = 1'000'000;    // records of the journal that stay readable
    std::int64_t learn_after = 1000;  // new runs, and a hundredth of those that there are
    std::size_t most_jobs = 100'000;  // whose confirmation is remembered
    LearnerOptions learner;
    AlarmOptions alarm;
  };

  // `store` and `clock` must outlive the advisor.
  Advisor(store::Store& store, Current<Book> book, const Clock& clock, Options options);

  // Reads what the journal has that was not read yet, and the patterns. To be called once before
  // others, and now and then (other advisors write, too). UNAVAILABLE, DATA_LOSS: the store.
  absl::Status Follow();

  absl::StatusOr<v1::RegisterJobResponse> RegisterJob(const v1::RegisterJobRequest& request) const;
  absl::StatusOr<v1::ReportProgressResponse> ReportProgress(
      const v1::ReportProgressRequest& request);
  absl::StatusOr<v1::ReportTestResponse> ReportTest(const v1::ReportTestRequest& request);
  absl::StatusOr<v1::ReportRunsResponse> ReportRuns(const v1::ReportRunsRequest& request);
  absl::StatusOr<v1::LearnResponse> Learn();
  v1::PatternSet Patterns() const;
  absl::StatusOr<v1::Pattern> Revoke(const v1::RevokePatternRequest& request);
  absl::StatusOr<v1::Pattern> Restore(const v1::RestorePatternRequest& request);

 private:
  // What jobs are answered by; replaced as a whole.
  struct Served {
    v1::PatternSet set;
    std::int64_t record = 0;  // the store's version of it; 0: there is none
    // Mismatches in use by "archetype\ncontext".
    absl::flat_hash_map<std::string, std::vector<const v1::Pattern*>> mismatches;
    Learned learned;
  };
  static std::shared_ptr<const Served> Serve(v1::PatternSet set, std::int64_t record,
                                             const Learned& learned);
  absl::Status ReadJournal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadPatterns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status LearnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Puts `set` in place of what is served, in the store first. ABORTED: another advisor was faster.
  absl::Status Put(v1::PatternSet set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  store::Store& store_;
  const Current<Book> book_;
  const Clock& clock_;
  const Options options_;

  Mutex mu_;
  Learner learner_ ABSL_GUARDED_BY(mu_);
  Learned learned_ ABSL_GUARDED_BY(mu_);
  std::int64_t position_ ABSL_GUARDED_BY(mu_) = 0;  // of the journal, read up to
  std::int64_t first_ ABSL_GUARDED_BY(mu_) = 0;     // the first one that was read
  std::int64_t learned_runs_ ABSL_GUARDED_BY(mu_) = 0;
  Current<Served> served_;

  Confirmations confirmations_;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_ADVISOR_H_
