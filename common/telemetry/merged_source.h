#ifndef COMMON_TELEMETRY_MERGED_SOURCE_H_
#define COMMON_TELEMETRY_MERGED_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

// Several sources as one: all are asked at the same time, and their answers are one answer. A
// series that two of them have counts once: the more complete one, with its gaps filled from the
// other. They need not name it by the same labels: if one has further labels (those that a store
// adds to what it collects), and each of the two has no other such series, the two are one.
//
// If a source does not answer, or two disagree about a series, the answer is incomplete and names
// the source. A source that cannot be reached, or takes too long, is not asked again for a while.
// If no source answers, the error of the first one is returned, with the others in its message.
class MergedSource final : public Source {
 public:
  struct Options {
    // Time limit of one source for one question; at most a quarter of the time that is left.
    absl::Duration most_time = absl::Seconds(20);
    absl::Duration pause = absl::Minutes(1);  // before one is asked again
    std::function<absl::Time()> now;          // on SteadyNow()'s scale; none: that
  };

  explicit MergedSource(std::vector<std::shared_ptr<Source>> sources);
  MergedSource(std::vector<std::shared_ptr<Source>> sources, Options options);

  std::string name() const override;
  // Whether all of them do.
  bool evaluates() const override;
  absl::StatusOr<Answer> Instant(const std::string& query, absl::Time at,
                                 const Call& call) override;
  absl::StatusOr<Answer> RangeOf(const std::string& query, const Range& range,
                                 const Call& call) override;
  absl::StatusOr<Answer> Samples(const std::string& selector, absl::Time start, absl::Time end,
                                 const Call& call) override;
  absl::StatusOr<Answer> SeriesOf(const std::string& selector, absl::Time start, absl::Time end,
                                  const Call& call) override;
  absl::StatusOr<std::vector<std::string>> LabelValues(const std::string& label,
                                                       const std::string& selector,
                                                       absl::Time start, absl::Time end,
                                                       const Call& call, bool* complete) override;

 private:
  // Why a source is not asked now.
  struct Silent {
    absl::Time until = absl::InfinitePast();
    absl::Status why;
  };

  template <typename T>
  std::vector<absl::StatusOr<T>> AskAll(
      const std::function<absl::StatusOr<T>(Source&, std::size_t, const Call&)>& ask,
      const Call& call);
  absl::StatusOr<Answer> Merged(
      const std::function<absl::StatusOr<Answer>(Source&, std::size_t, const Call&)>& ask,
      bool evaluated, const Call& call);

  const std::vector<std::shared_ptr<Source>> sources_;
  const Options options_;
  Mutex mu_;
  std::vector<Silent> silent_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_MERGED_SOURCE_H_
