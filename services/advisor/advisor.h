#ifndef SERVICES_ADVISOR_ADVISOR_H_
#define SERVICES_ADVISOR_ADVISOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/hot_swap.h"
#include "common/base/mutex.h"
#include "common/store/store.h"
#include "galen/advisor/v1/advisor.pb.h"
#include "services/advisor/confirmations.h"
#include "services/advisor/learning/known_mismatches.h"
#include "services/advisor/learning/learner.h"
#include "services/advisor/learning/online.h"
#include "services/advisor/learning/signs.h"
#include "services/advisor/retention.h"

namespace galen::advisor {

// The knowledge that the advisor works with.
struct AdvisorKnowledge {
  KnownMismatches known;
  BuildUpSigns signs;
  static absl::StatusOr<std::shared_ptr<const AdvisorKnowledge>> Load(
      const std::vector<std::string>& directories);
};

// The methods of advisor.proto, without gRPC. Recorded runs are a journal in the store; patterns,
// revocations and the state of confirmations are records beside it. Any number of advisors share a
// store, and each learns the same from it. Thread-safe. RegisterJob touches no store,
// ReportProgress only when a check may be due.
class Advisor {
 public:
  struct Options {
    // Records of the journal that stay readable, the runs in them, and their bytes.
    std::int64_t keep = 1'000'000;
    std::int64_t keep_runs = 10'000'000;
    std::int64_t keep_bytes = std::int64_t{4} << 30;
    std::int64_t learn_after = 1000;  // new runs, and a hundredth of the existing ones
    std::size_t most_jobs = 100'000;  // whose confirmation is remembered
    LearnerOptions learner;
    AlarmOptions alarm;
  };

  // `store` and `clock` must outlive the advisor.
  Advisor(store::Store& store, HotSwap<AdvisorKnowledge> knowledge, const Clock& clock,
          Options options);

  // Reads new records of the journal, and the patterns. Must be called once before other methods,
  // and regularly (other advisors write, too). UNAVAILABLE, DATA_LOSS: the store.
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
  // The model that answers are based on; replaced as a whole.
  struct Served {
    v1::PatternSet set;
    std::int64_t record = 0;  // the store's version of it; 0: none
    // Mismatches in use by "archetype\ncontext".
    absl::flat_hash_map<std::string, std::vector<const v1::Pattern*>> mismatches;
    Learned learned;
    std::shared_ptr<const AdvisorKnowledge>
        knowledge;           // by the sign places that `learned` uses; never null
    std::int64_t model = 0;  // position of the journal up to which `learned` was read
  };
  // `set` with the model as it is.
  void Serve(v1::PatternSet set, std::int64_t record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes the model again from all runs that were read.
  void MakeModel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Loads the newest knowledge. If its signs have other places, all runs are read again.
  void TakeKnowledge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets which runs were new to the set in use.
  void ForgetLearned() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadJournal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadPatterns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status LearnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Replaces the served set by `set`, in the store first. ABORTED: another advisor was faster.
  absl::Status Put(v1::PatternSet set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  store::Store& store_;
  const HotSwap<AdvisorKnowledge> knowledge_;
  const Clock& clock_;
  const Options options_;

  Mutex mu_;
  std::shared_ptr<const AdvisorKnowledge> learner_knowledge_ ABSL_GUARDED_BY(mu_);  // never null
  std::unique_ptr<Learner> learner_ ABSL_GUARDED_BY(mu_);                           // never null
  std::int64_t unknown_signs_ ABSL_GUARDED_BY(mu_) =
      0;                                            // in runs that were read, by learner_knowledge_
  std::int64_t unusable_ ABSL_GUARDED_BY(mu_) = 0;  // runs that were read
  std::int64_t position_ ABSL_GUARDED_BY(mu_) = 0;  // of the journal, read up to
  std::int64_t first_ ABSL_GUARDED_BY(mu_) = 0;     // the first one that was read
  Retention retention_ ABSL_GUARDED_BY(mu_);
  std::int64_t trimmed_ ABSL_GUARDED_BY(mu_) = 0;
  // Records that the set in use was not learned from, with their runs; and their sum.
  std::deque<std::pair<std::int64_t, std::int64_t>> fresh_ ABSL_GUARDED_BY(mu_);
  std::int64_t fresh_runs_ ABSL_GUARDED_BY(mu_) = 0;

  Learned learned_ ABSL_GUARDED_BY(mu_);                                          // the model
  std::shared_ptr<const AdvisorKnowledge> model_knowledge_ ABSL_GUARDED_BY(mu_);  // as in Served
  // Position of the journal that the model includes; 0: never.
  std::int64_t model_position_ ABSL_GUARDED_BY(mu_) = 0;
  HotSwap<Served> served_;

  Confirmations confirmations_;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_ADVISOR_H_
