#ifndef COMMON_LOG_ANALYSIS_TRIAGE_STEP_TRACK_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_STEP_TRACK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/triage/catalogue.h"
#include "common/log_analysis/triage/series.h"
#include "common/log_analysis/triage/step_line.h"

namespace galen::triage {

// The steps that one process reported. A step counts once, even if it is reported repeatedly. A
// step lower than the last begins a new run (a restart) if the next one continues from it;
// otherwise it is a late report.
class StepsOfWriter {
 public:
  // Effect of one report.
  struct Added {
    std::int64_t steps = 0;  // number of new steps; 0: already known
    std::int64_t place = 0;  // position of the step in its run, 1 and up
  };

  // `seconds`: of the step; with `interval`: mean of the steps since the last report.
  Added Add(std::int64_t step, std::optional<double> seconds, bool interval,
            std::int64_t first_step);
  // Ends the log: a last step that went back begins a run.
  void Finish();

  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  std::int64_t reported() const { return reported_; }
  std::int64_t runs() const { return runs_; }
  // Sum over all runs, each step once.
  double seconds() const { return seconds_.Get(); }
  bool timed() const { return timed_; }

 private:
  struct Waiting {
    std::int64_t step = -1;
    std::optional<double> seconds;
  };
  void Count(std::optional<double> seconds, std::int64_t steps);
  void BeginRun(std::int64_t step, std::optional<double> seconds, bool interval);
  // Counts the steps of the first report of a run, whose number is known from the second report.
  void SettleFirst(std::int64_t distance, std::int64_t first_step);

  std::int64_t first_ = -1;  // of the last run
  std::int64_t last_ = -1;   // of the last run
  std::int64_t first_ever_ = -1;
  std::int64_t reported_ = 0;
  std::int64_t in_run_ = 0;
  std::int64_t runs_ = 0;
  ExactSum seconds_;
  bool timed_ = false;
  std::int64_t interval_ = 0;        // minimum of steps between reports; 0: unknown
  std::optional<double> unsettled_;  // seconds of the first report of the run
  Waiting back_;                     // a step that went back
};

// All reports of one format in all logs.
class StepTrack {
 public:
  static constexpr std::size_t kMaxWriters = 65'536;
  static constexpr std::size_t kHead = 96;

  // Position of a report.
  struct Place {
    std::size_t log = 0;
    std::int64_t line = 0;
    std::string head;  // the beginning of the line, which may have its time
  };

  // `format` and `limits` must outlive this.
  StepTrack(const StepFormat& format, const Limits& limits) : format_(format), limits_(limits) {}

  // `stamp`: returns the time of the line; called only if the format has no step times. Returns the
  // number of steps that the line added.
  template <typename Stamp>
  std::int64_t Add(const StepLine& step, std::size_t log, std::int64_t line, absl::string_view text,
                   absl::string_view prefix, Stamp stamp);
  void Finish();

  const StepFormat& format() const { return format_; }
  std::int64_t reports() const { return reports_; }
  std::int64_t total() const { return total_; }
  std::optional<double> batch() const { return batch_; }

  struct OfWriter {
    std::size_t log = 0;
    std::string prefix;
    StepsOfWriter steps;
    // The run's own clock at the last report, if it has one.
    double elapsed = -1;
  };
  const std::vector<OfWriter>& writers() const { return writers_; }
  // Number of writers beyond kMaxWriters.
  std::int64_t writers_left_out() const { return left_out_; }
  // The writer with most known steps; null: there is no writer.
  const OfWriter* reference() const;

  // Series of the first writer.
  const Series& seconds() const { return seconds_; }
  const Series& tokens_per_gpu() const { return tokens_per_gpu_; }
  const Series& tokens() const { return tokens_; }
  const Series& samples() const { return samples_; }
  // Whether samples() is computed from the batch and the time of a step.
  bool samples_derived() const { return samples_derived_; }
  const Series& tflops() const { return tflops_; }
  const Series& mfu() const { return mfu_; }

  const Place& last_place() const { return last_; }
  // The first step with a loss that is not finite, and its place; nothing: there is none.
  struct BadLoss {
    std::int64_t step = -1;
    Place place;
    std::string prefix;
    std::int64_t count = 0;
    std::string text;
  };
  const std::optional<BadLoss>& bad_loss() const { return bad_loss_; }

 private:
  OfWriter* WriterOf(std::size_t log, absl::string_view prefix);
  void NoteBadLoss(const StepLine& step, std::size_t log, std::int64_t line, absl::string_view text,
                   absl::string_view prefix);
  bool NeedsStamp(const StepLine& step) const {
    return !format_.serving && !step.Has(Quantity::kSeconds) &&
           !step.Has(Quantity::kMilliseconds) && !step.Has(Quantity::kElapsed);
  }
  std::int64_t AddTimed(const StepLine& step, OfWriter& writer, std::optional<absl::Time> time);

  const StepFormat& format_;
  const Limits& limits_;
  std::int64_t reports_ = 0;
  std::int64_t total_ = -1;
  std::optional<double> batch_;
  std::vector<OfWriter> writers_;
  absl::flat_hash_map<std::string, std::size_t> index_;
  std::size_t last_writer_ = 0;
  std::int64_t left_out_ = 0;
  std::optional<absl::Time> last_time_;  // of the first writer
  Series seconds_;
  Series tokens_per_gpu_;
  Series tokens_;
  Series samples_;
  bool samples_derived_ = false;
  Series tflops_;
  Series mfu_;
  Place last_;
  std::optional<BadLoss> bad_loss_;
};

template <typename Stamp>
std::int64_t StepTrack::Add(const StepLine& step, std::size_t log, std::int64_t line,
                            absl::string_view text, absl::string_view prefix, Stamp stamp) {
  OfWriter* const writer = WriterOf(log, prefix);
  ++reports_;
  if (const auto loss = step.Get(Quantity::kLoss); loss.has_value() && !(*loss - *loss == 0)) {
    NoteBadLoss(step, log, line, text, prefix);
  }
  if (writer == nullptr) return 0;
  std::optional<absl::Time> time;
  if (writer == writers_.data() && NeedsStamp(step)) time = stamp(text);
  const std::int64_t added = AddTimed(step, *writer, time);
  if (added > 0 || format_.serving) {
    last_.log = log;
    last_.line = line;
    last_.head.assign(text.data(), text.size() < kHead ? text.size() : kHead);
  }
  return added;
}

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_STEP_TRACK_H_
