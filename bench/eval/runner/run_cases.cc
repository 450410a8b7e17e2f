#include "bench/eval/runner/run_cases.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"

namespace galen::eval {
namespace {

// State that the workers share.
struct Progress {
  Mutex mu;
  std::size_t next ABSL_GUARDED_BY(mu) = 0;
  absl::Status status ABSL_GUARDED_BY(mu);
};

}  // namespace

absl::StatusOr<std::vector<v1::CaseResult>> RunCases(
    const std::vector<v1::Case>& cases, const std::string& strategy, Mode mode, int jobs,
    const RunStore* store, const CaseFunctions& functions,
    const std::function<void(std::size_t at, const v1::CaseResult& result, bool kept)>& on_done) {
  std::vector<v1::CaseResult> results(cases.size());
  Progress progress;
  const auto take = [&]() -> std::optional<std::size_t> {
    const MutexLock lock(progress.mu);
    if (!progress.status.ok() || progress.next == cases.size()) return std::nullopt;
    return progress.next++;
  };
  const auto work = [&] {
    while (const std::optional<std::size_t> at = take()) {
      const v1::Case& a_case = cases[*at];
      std::optional<v1::CaseResult> kept;
      if (store != nullptr) {
        kept = store->Load(strategy, ModeName(mode), a_case.id(), functions.key_of(a_case));
      }
      const bool was_kept = kept.has_value();
      v1::CaseResult& result = results[*at];
      result = was_kept ? *std::move(kept) : functions.run(a_case, strategy, mode);
      absl::Status saved;
      if (store != nullptr && !was_kept && result.error().empty()) {
        saved = store->Save(result);
      }
      const MutexLock lock(progress.mu);
      if (!saved.ok()) progress.status = saved;
      on_done(*at, result, was_kept);
    }
  };
  std::vector<std::thread> workers;
  const auto wanted = std::min(static_cast<std::size_t>(std::max(jobs, 1)), cases.size());
  for (std::size_t i = 0; i < wanted; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  const MutexLock lock(progress.mu);
  if (!progress.status.ok()) return progress.status;
  return results;
}

}  // namespace galen::eval
