#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/timestamp.h"
#include "common/log_analysis/triage/collected.h"
#include "common/log_analysis/triage/courses.h"
#include "common/log_analysis/triage/missing_facts.h"
#include "common/log_analysis/triage/projection.h"
#include "common/log_analysis/triage/writer.h"

namespace galen::triage {
namespace {

// A straggler may report one step after a rank has failed.
constexpr std::int64_t kStepsThatGoOn = 2;

class Assembler {
 public:
  Assembler(const Catalogue& catalogue, const TriageOptions& options, Collected collected)
      : catalogue_(catalogue), options_(options), found_(std::move(collected)) {}

  JobReport Assemble() {
    ReadScheduler();
    ReadProgress();
    ReadContext();
    ReadEnds();
    ReadClasses();
    Decide();
    if (track_ != nullptr) {
      ProjectSteps(track_->format(), DoneBy(), NumberOf(FactKind::kCheckpointSaved), report_);
      report_.courses = CoursesOf(*track_, report_.context);
    }
    NoteNumbers();
    ChoosePrimary();
    report_.unknown = MissingFacts(report_, track_, DoneBy());
    report_.logs = std::move(found_.logs);
    return std::move(report_);
  }

 private:
  const Collected::Mark* MarkOf(FactKind kind) const {
    const auto found = found_.marks.find(kind);
    return found == found_.marks.end() ? nullptr : &found->second;
  }
  std::optional<std::int64_t> NumberOf(FactKind kind) const {
    const auto found = found_.numbers.find(kind);
    if (found == found_.numbers.end()) return std::nullopt;
    return found->second.value;
  }
  // Whether the steps of its log continued after it.
  bool WentOn(const Collected::Mark& mark, std::int64_t least) const {
    return found_.of_logs[mark.log].steps - mark.steps >= least || IsBefore(mark);
  }

  // Whether the program ended normally after it, and no process ended in another way.
  bool IsFinishedAfter(const Collected::Mark& mark) const {
    const Collected::Mark* finished = MarkOf(FactKind::kFinished);
    return finished != nullptr && !bad_exit_ && finished->log == mark.log &&
           finished->line > mark.line;
  }

  // Whether it is from an earlier run in the same log.
  bool IsBefore(const Collected::Mark& mark) const {
    return mark.line < found_.of_logs[mark.log].begun;
  }

  bool IsGuessed(const StepTrack& track) const {
    for (std::size_t i = 0; i < found_.tracks.size(); ++i) {
      if (found_.tracks[i].get() == &track) return found_.guessed[i];
    }
    return false;
  }

  Source SourceOf(const Collected::Mark& mark, absl::string_view writer,
                  absl::string_view text) const {
    return {found_.logs[mark.log].name, mark.line, mark.time, std::string(writer),
            std::string(text)};
  }

  std::optional<absl::Time> TimeOf(absl::string_view head) const {
    const auto stamp = log_scan::FindTimeStamp(head);
    if (!stamp.has_value()) return std::nullopt;
    log_scan::TimeContext context;
    context.near = options_.near.has_value() ? options_.near : options_.now;
    // A year in a log applies to all its lines.
    for (const Collected::OfLog& of_log : found_.of_logs) {
      if (!of_log.begin.has_value()) continue;
      context.near = of_log.begin;
      break;
    }
    context.latest = options_.latest.value_or(absl::Now());
    return log_scan::Resolve(*stamp, context);
  }

  void ReadScheduler() {
    scheduler_ = options_.scheduler;
    report_.now = options_.now;
    const Collected::Mark* running = MarkOf(FactKind::kRunning);
    const Collected::Mark* ended = MarkOf(FactKind::kEnded);
    if (scheduler_ == SchedulerState::kUnknown && (running != nullptr || ended != nullptr)) {
      // The later line counts.
      const auto place = [](const Collected::Mark& mark) { return std::pair(mark.log, mark.line); };
      const bool is_running =
          ended == nullptr || (running != nullptr && place(*running) > place(*ended));
      const FactKind kind = is_running ? FactKind::kRunning : FactKind::kEnded;
      scheduler_ = is_running ? SchedulerState::kRunning : SchedulerState::kEnded;
      const Collected::Mark& mark = is_running ? *running : *ended;
      report_.scheduler_at = SourceOf(mark, "", found_.mark_texts[kind]);
      // The line is valid for its own time, not for the current time.
      if (is_running && mark.time.has_value()) report_.now = mark.time;
    }
    if (scheduler_ != SchedulerState::kUnknown) {
      report_.scheduler = scheduler_ == SchedulerState::kRunning ? "running" : "ended";
    }
  }

  // Chooses the format whose steps define the progress.
  void ChooseTrack() {
    for (const bool timed : {true, false}) {
      for (const auto& track : found_.tracks) {
        const StepTrack::OfWriter* reference = track->reference();
        if (track->format().serving || reference == nullptr) continue;
        if (timed && !reference->steps.timed()) continue;
        track_ = track.get();
        reference_ = reference;
        return;
      }
    }
    for (const auto& track : found_.tracks) {
      if (track->format().serving && track->reports() > 0) track_ = track.get();
    }
  }

  void ReadProgress() {
    Progress& progress = report_.progress;
    for (const Collected::OfLog& log : found_.of_logs) {
      if (log.begin.has_value()) {
        progress.begin = std::min(progress.begin.value_or(*log.begin), *log.begin);
      }
      if (log.end.has_value()) {
        progress.end = std::max(progress.end.value_or(*log.end), *log.end);
      }
    }
    if (progress.begin.has_value()) progress.wall = *progress.end - *progress.begin;
    progress.checkpoint_period = NumberOf(FactKind::kCheckpointPeriod);
    if (MarkOf(FactKind::kRestored) != nullptr) {
      progress.restored = true;
      progress.restored_step = NumberOf(FactKind::kRestored);
    } else if (MarkOf(FactKind::kFreshStart) != nullptr) {
      progress.restored = false;
    }
    progress.total_steps = NumberOf(FactKind::kTotalSteps);
    ChooseTrack();
    if (track_ == nullptr) return;
    progress.framework = track_->format().framework;
    progress.format = track_->format().name;
    progress.writers =
        static_cast<std::int64_t>(track_->writers().size()) + track_->writers_left_out();
    if (reference_ == nullptr) return;
    const StepsOfWriter& steps = reference_->steps;
    progress.first_step = steps.first();
    progress.last_step = steps.last();
    progress.reported = steps.reported();
    progress.runs = steps.runs();
    if (track_->total() >= 0) progress.total_steps = track_->total();
    if (progress.total_steps.has_value()) {
      progress.final_step =
          track_->format().first_step == 0 ? *progress.total_steps - 1 : *progress.total_steps;
    }
    progress.step_seconds = track_->seconds().SteadyMean();
    progress.timed = steps.timed();
    progress.sum_seconds = steps.seconds();
    if (progress.wall.has_value() && progress.timed) {
      // If the steps take longer than the times in the logs span, the times do not cover them.
      const absl::Duration rest = *progress.wall - absl::Seconds(progress.sum_seconds);
      if (rest >= absl::ZeroDuration()) progress.unaccounted = rest;
    }
    const StepTrack::Place& place = track_->last_place();
    step_time_ = TimeOf(place.head);
    progress.at =
        Source{found_.logs[place.log].name, place.line, step_time_,
               ToString(ParseWriter(WriterPrefix(place.head))), CleanText(place.head, 256)};
  }

  void ReadContext() {
    const auto text = [&](FactKind kind) -> std::optional<std::string> {
      const auto found = found_.texts.find(kind);
      if (found == found_.texts.end()) return std::nullopt;
      return found->second;
    };
    JobContext& context = report_.context;
    context.job = text(FactKind::kJob);
    context.node = text(FactKind::kNode);
    context.partition = text(FactKind::kPartition);
    context.pod = text(FactKind::kPod);
    context.name_space = text(FactKind::kNamespace);
    context.world_size = NumberOf(FactKind::kWorldSize);
    context.sequence_length = NumberOf(FactKind::kSequenceLength);
  }

  void ReadEnds() {
    constexpr int kInterrupt = 2;
    constexpr int kTerminate = 15;
    report_.ends_in_all = static_cast<std::int64_t>(found_.exits.size());
    for (const bool bad : {true, false}) {
      for (const auto& [rank, end] : found_.exits) {
        const int signal = end.signal.value_or(0);
        const bool asked = signal == kInterrupt || signal == kTerminate;
        const bool is_bad = !asked && (signal != 0 || end.exit_code.value_or(0) != 0);
        bad_exit_ = bad_exit_ || is_bad;
        asked_to_stop_ = asked_to_stop_ || asked;
        if (is_bad != bad || report_.ends.size() >= JobReport::kMostEnds) continue;
        const int code = signal != 0 ? 128 + signal : end.exit_code.value_or(0);
        const auto meaning = catalogue_.exits.find(code);
        report_.ends.push_back(
            {rank, end, meaning == catalogue_.exits.end() ? "" : meaning->second});
      }
    }
  }

  void ReadClasses() {
    for (std::size_t i = 0; i < found_.classes.size(); ++i) {
      const Collected::ClassHit& hit = found_.classes[i];
      if (hit.count == 0) continue;
      const FailureClass& of = catalogue_.classes[i];
      Shown shown = Show(of);
      shown.signature = hit.signature;
      shown.first = SourceOf(hit.first, hit.writer, hit.text);
      shown.count = hit.count;
      shown.last_line = hit.last.line;
      shown.writers = static_cast<std::int64_t>(hit.writers.size());
      shown.survived = WentOn(hit.last, kStepsThatGoOn) || IsFinishedAfter(hit.last);
      if (of.stage.empty()) {
        shown.stage = hit.first.steps > 0 ? "training" : "before training";
      }
      shown_.push_back({std::move(shown), &of, hit.first});
    }
    std::stable_sort(shown_.begin(), shown_.end(), [](const Ranked& a, const Ranked& b) {
      const auto weight = [](const Ranked& one) {
        return std::pair(one.shown.survived, static_cast<int>(one.of->relation));
      };
      if (weight(a) != weight(b)) return weight(a) < weight(b);
      if (a.at.time.has_value() && b.at.time.has_value() && *a.at.time != *b.at.time) {
        return *a.at.time < *b.at.time;
      }
      return std::tie(a.at.log, a.at.line) < std::tie(b.at.log, b.at.line);
    });
  }

  static Shown Show(const FailureClass& of) {
    Shown shown;
    shown.name = of.name;
    shown.title = of.title;
    shown.relation = std::string(ToString(of.relation));
    shown.stage = of.stage;
    shown.next = of.next;
    return shown;
  }

  // Minimum idle time from the last step to the end: from the times of the lines around it, or from
  // the sum of the steps if it leaves more than the setup takes.
  std::optional<absl::Duration> IdleUntil(absl::Time end) const {
    const Progress& progress = report_.progress;
    if (reference_ == nullptr) {
      // Steps were expected only if the log says that training begins.
      const auto begun = BegunAt();
      return begun.has_value() ? std::optional(end - *begun) : std::nullopt;
    }
    std::optional<absl::Duration> idle;
    if (const auto done = DoneBy(); done.has_value()) {
      idle = std::max(absl::ZeroDuration(), end - *done);
    }
    if (progress.begin.has_value() && progress.timed) {
      const absl::Time begin =
          progress.runs == 1 ? BegunAt().value_or(*progress.begin) : *progress.begin;
      const absl::Duration left =
          end - begin - absl::Seconds(progress.sum_seconds) - catalogue_.limits.setup;
      if (left > idle.value_or(absl::ZeroDuration())) idle = left;
    }
    return idle;
  }

  // When the log says that training begins.
  std::optional<absl::Time> BegunAt() const {
    const Collected::Mark* begins = MarkOf(FactKind::kTrainingBegins);
    return begins == nullptr ? std::nullopt : begins->time;
  }

  // Time by which the last step was done.
  std::optional<absl::Time> DoneBy() const {
    if (reference_ == nullptr) return std::nullopt;
    if (step_time_.has_value()) return step_time_;
    return found_.of_logs[track_->last_place().log].after_step;
  }

  void Decide() {
    Evidence evidence;
    Progress& progress = report_.progress;
    if (const auto code = NumberOf(FactKind::kSummary); code.has_value()) {
      evidence.summary_code = static_cast<int>(std::min<std::int64_t>(*code, 255));
    }
    const auto holds = [&](FactKind kind) {
      const Collected::Mark* mark = MarkOf(kind);
      return mark != nullptr && !WentOn(*mark, 1);
    };
    evidence.finished = holds(FactKind::kFinished);
    evidence.planned_end = holds(FactKind::kPlannedEnd);
    for (const Ranked& ranked : shown_) {
      if (ranked.shown.survived || ranked.of->ends == Ends::kNothing) continue;
      evidence.ended_by = ranked.of->ends;
      break;
    }
    evidence.bad_exit = bad_exit_;
    evidence.asked_to_stop = asked_to_stop_;
    if (progress.last_step.has_value()) evidence.last_step = *progress.last_step;
    const bool guessed = track_ != nullptr && IsGuessed(*track_);
    if (progress.last_step.has_value() && progress.final_step.has_value() && !guessed) {
      evidence.all_steps = *progress.last_step >= *progress.final_step;
    }
    evidence.scheduler = scheduler_;
    evidence.now = report_.now;
    evidence.progress = reference_ != nullptr ? DoneBy() : BegunAt();
    evidence.step_seconds = progress.step_seconds;
    if (progress.end.has_value()) evidence.idle_before_end = IdleUntil(*progress.end);
    report_.decision = triage::Decide(evidence, catalogue_.limits);
    const bool open = scheduler_ == SchedulerState::kRunning && report_.now.has_value();
    if (open && evidence.progress.has_value()) {
      progress.idle = *report_.now - *evidence.progress;
    } else {
      progress.idle = evidence.idle_before_end;
    }
  }

  // Adds the classes that are derived from numbers.
  void NoteNumbers() {
    if (track_ == nullptr) return;
    for (const Series* rate :
         {&track_->tokens_per_gpu(), &track_->tokens(), &track_->samples(), &track_->tflops()}) {
      const auto change = rate->Change();
      if (!change.has_value() || track_->format().serving) continue;
      if (*change * 100 < -catalogue_.limits.rate_drop_percent) AddNote(kRateDrop, *change);
      return;
    }
    const auto change = track_->seconds().Change();
    if (change.has_value() && *change > -1) {
      const double rate = 1 / (1 + *change) - 1;
      if (rate * 100 < -catalogue_.limits.rate_drop_percent) AddNote(kRateDrop, rate);
    }
  }

  void AddNote(absl::string_view name, double change) {
    const FailureClass* of = catalogue_.FindClass(name);
    if (of == nullptr) return;
    Shown shown = Show(*of);
    shown.stage = "training";
    shown.count = 1;
    shown.first.text = absl::StrCat(std::llround(change * 100),
                                    " %: the last ten steps against the ten after the first five");
    notes_.push_back(std::move(shown));
  }

  void ChoosePrimary() {
    std::vector<Shown> all;
    for (Ranked& ranked : shown_) {
      const bool may = !ranked.shown.survived && ranked.of->relation != Relation::kNote;
      if (may && !report_.primary.has_value()) {
        primary_relation_ = ranked.of->relation;
        report_.primary = std::move(ranked.shown);
      } else {
        all.push_back(std::move(ranked.shown));
      }
    }
    const Status status = report_.decision.status;
    // If the job had stopped before, a kill is only the way it ended, not the reason.
    const bool only_killed = !report_.primary.has_value() ||
                             primary_relation_ == Relation::kMechanism ||
                             primary_relation_ == Relation::kConsequence;
    if (report_.decision.stalled && only_killed) {
      if (const FailureClass* hang = catalogue_.FindClass(kHang); hang != nullptr) {
        if (report_.primary.has_value()) all.insert(all.begin(), *std::move(report_.primary));
        Shown shown = Show(*hang);
        shown.count = 1;
        if (report_.progress.at.has_value()) shown.first = *report_.progress.at;
        shown.stage = report_.progress.last_step.has_value() ? "training" : "before training";
        report_.primary = std::move(shown);
      }
    }
    const bool well = status == Status::kCompleted || status == Status::kRunning;
    if (well && report_.primary.has_value()) {
      all.insert(all.begin(), *std::move(report_.primary));
      report_.primary.reset();
    }
    if (track_ != nullptr && track_->bad_loss().has_value()) {
      if (const FailureClass* of = catalogue_.FindClass(kLossNotFinite); of != nullptr) {
        const StepTrack::BadLoss& bad = *track_->bad_loss();
        Shown shown = Show(*of);
        shown.stage = "training";
        shown.count = bad.count;
        shown.first = Source{found_.logs[bad.place.log].name, bad.place.line,
                             TimeOf(bad.place.head), ToString(ParseWriter(bad.prefix)), bad.text};
        notes_.push_back(std::move(shown));
      }
    }
    for (Shown& note : notes_) all.push_back(std::move(note));
    report_.others = std::move(all);
    if (report_.primary.has_value()) {
      report_.stage = report_.primary->stage;
      report_.next = report_.primary->next;
    } else if (report_.progress.last_step.has_value()) {
      report_.stage = status == Status::kCompleted ? "after training" : "training";
    }
  }

  struct Ranked {
    Shown shown;
    const FailureClass* of = nullptr;
    Collected::Mark at;
  };

  const Catalogue& catalogue_;
  const TriageOptions& options_;
  Collected found_;
  JobReport report_;
  SchedulerState scheduler_ = SchedulerState::kUnknown;
  const StepTrack* track_ = nullptr;
  const StepTrack::OfWriter* reference_ = nullptr;
  std::optional<absl::Time> step_time_;
  bool bad_exit_ = false;
  bool asked_to_stop_ = false;
  std::vector<Ranked> shown_;  // the weightiest first
  std::vector<Shown> notes_;
  Relation primary_relation_ = Relation::kCause;
};

}  // namespace

JobReport Assemble(const Catalogue& catalogue, const TriageOptions& options, Collected collected) {
  return Assembler(catalogue, options, std::move(collected)).Assemble();
}

}  // namespace galen::triage
