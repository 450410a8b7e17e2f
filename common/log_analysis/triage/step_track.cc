#include "common/log_analysis/triage/step_track.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::triage {

void StepsOfWriter::Count(std::optional<double> seconds, std::int64_t steps) {
  if (!seconds.has_value()) return;
  timed_ = true;
  seconds_.Add(*seconds * static_cast<double>(steps));
}

void StepsOfWriter::SettleFirst(std::int64_t distance, std::int64_t first_step) {
  if (!unsettled_.has_value()) return;
  // A run that began at the program's first step has at most the steps up to here.
  const std::int64_t begun = first_step >= 0 ? first_ - first_step + 1 : distance;
  Count(unsettled_, std::max<std::int64_t>(1, std::min(distance, begun)));
  unsettled_.reset();
}

void StepsOfWriter::BeginRun(std::int64_t step, std::optional<double> seconds, bool interval) {
  ++runs_;
  first_ = step;
  last_ = step;
  if (first_ever_ < 0) first_ever_ = step;
  in_run_ = 1;
  ++reported_;
  if (interval) {
    unsettled_ = seconds;
  } else {
    Count(seconds, 1);
  }
}

StepsOfWriter::Added StepsOfWriter::Add(std::int64_t step, std::optional<double> seconds,
                                        bool interval, std::int64_t first_step) {
  if (last_ < 0) {
    BeginRun(step, seconds, interval);
    return {1, 1};
  }
  if (step == last_) return {};
  if (step < last_) {
    if (back_.step < 0 || step <= back_.step) {
      back_ = {step, seconds};
      return {};
    }
    // It continues from the step that went back: a run began there.
    SettleFirst(1, first_step);
    const Waiting begun = std::exchange(back_, Waiting());
    BeginRun(begun.step, begun.seconds, interval);
    const Added added = Add(step, seconds, interval, first_step);
    return {added.steps + 1, added.place};
  }
  if (back_.step >= 0) back_ = Waiting();  // it came late
  const std::int64_t distance = step - last_;
  // If reports were lost, the mean covers only the usual number of steps.
  interval_ = interval_ == 0 ? distance : std::min(interval_, distance);
  SettleFirst(interval_, first_step);
  Count(seconds, interval ? interval_ : 1);
  last_ = step;
  ++reported_;
  ++in_run_;
  return {interval ? distance : 1, in_run_};
}

void StepsOfWriter::Finish() {
  if (back_.step >= 0 && last_ - back_.step > 1) {
    SettleFirst(1, -1);
    const Waiting begun = std::exchange(back_, Waiting());
    BeginRun(begun.step, begun.seconds, false);
  }
  SettleFirst(1, -1);
}

StepTrack::OfWriter* StepTrack::WriterOf(std::size_t log, absl::string_view prefix) {
  // Lines of one writer usually come together.
  if (last_writer_ < writers_.size() && writers_[last_writer_].log == log &&
      writers_[last_writer_].prefix == prefix) {
    return &writers_[last_writer_];
  }
  const auto [found, is_new] = index_.try_emplace(absl::StrCat(log, "\n", prefix), writers_.size());
  if (is_new) {
    if (writers_.size() >= kMaxWriters) {
      index_.erase(found);
      ++left_out_;
      return nullptr;
    }
    writers_.push_back({log, std::string(prefix), {}, -1});
  }
  last_writer_ = found->second;
  return &writers_[last_writer_];
}

void StepTrack::NoteBadLoss(const StepLine& step, std::size_t log, std::int64_t line,
                            absl::string_view text, absl::string_view prefix) {
  if (!bad_loss_.has_value()) {
    bad_loss_ = BadLoss{step.step,
                        {log, line, std::string(text.substr(0, kHead))},
                        std::string(prefix),
                        0,
                        CleanText(text.substr(0, 512), 512)};
  }
  ++bad_loss_->count;
}

std::int64_t StepTrack::AddTimed(const StepLine& step, OfWriter& writer,
                                 std::optional<absl::Time> time) {
  const bool is_first_writer = &writer == writers_.data();
  if (step.total >= 0) {
    total_ = step.total;
  } else if (step.step < writer.steps.last()) {
    total_ = -1;  // another run or phase, which declares none
  }
  if (step.Has(Quantity::kBatch)) batch_ = step.Get(Quantity::kBatch);
  std::optional<double> seconds = step.Seconds();  // of a step
  std::optional<double> span = seconds;            // that the report adds
  bool interval = format_.interval;
  const std::int64_t before = writer.steps.last();
  const std::int64_t steps = step.step - std::max<std::int64_t>(0, before);
  if (step.Has(Quantity::kElapsed)) {
    // The run's own clock, which a restart resets.
    if (step.step == 0) return 0;  // a bar that has only been drawn
    const double elapsed = *step.Get(Quantity::kElapsed);
    const bool goes_on = step.step > before && before >= 0 && elapsed >= writer.elapsed;
    span = goes_on ? elapsed - writer.elapsed : elapsed;
    seconds = *span / static_cast<double>(goes_on ? steps : step.step);
    if (step.step != before) writer.elapsed = elapsed;
    interval = false;
  } else if (is_first_writer && time.has_value()) {
    if (last_time_.has_value() && step.step > before && *time >= *last_time_) {
      span = absl::ToDoubleSeconds(*time - *last_time_);
      seconds = *span / static_cast<double>(steps);
    }
    if (step.step != before) last_time_ = time;
    interval = false;
  }
  StepsOfWriter::Added added;
  if (!format_.serving) {
    added = writer.steps.Add(step.step, span, interval, format_.first_step);
    if (added.steps == 0) return 0;
  } else {
    added = {1, reports_};
  }
  if (!is_first_writer) return added.steps;
  // A server has no steps: its reports are counted.
  const std::int64_t number = format_.serving ? reports_ : step.step;
  const bool warm = added.place > limits_.warmup_steps;
  if (seconds.has_value()) seconds_.Add(number, *seconds, warm);
  if (!step.Has(Quantity::kSamples) && step.Has(Quantity::kBatch) && seconds.value_or(0) > 0) {
    samples_.Add(number, *step.Get(Quantity::kBatch) / *seconds, warm);
    samples_derived_ = true;
  }
  const auto add = [&](Quantity quantity, Series& series) {
    if (const auto value = step.Get(quantity)) series.Add(number, *value, warm);
  };
  add(Quantity::kTokensPerGpu, tokens_per_gpu_);
  add(Quantity::kTokens, tokens_);
  add(Quantity::kSamples, samples_);
  add(Quantity::kTflops, tflops_);
  add(Quantity::kMfu, mfu_);
  return added.steps;
}

void StepTrack::Finish() {
  for (OfWriter& writer : writers_) writer.steps.Finish();
}

const StepTrack::OfWriter* StepTrack::reference() const {
  const OfWriter* best = nullptr;
  for (const OfWriter& writer : writers_) {
    if (best == nullptr || writer.steps.reported() > best->steps.reported()) best = &writer;
  }
  return best;
}

}  // namespace galen::triage
