#include "services/watch/early_warning/early_warning.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/observability/metrics/catalogue.h"
#include "common/telemetry/discovery.h"
#include "galen/v1/diagnosis_event.pb.h"
#include "galen/watch/v1/early.pb.h"
#include "services/watch/early_warning/policy_state_codec.h"
#include "services/watch/early_warning/predictions.h"
#include "services/watch/early_warning/request.h"

namespace galen::watch::early_warning {
namespace {

constexpr char kLead[] = "watch.early.lead";
constexpr char kState[] = "watch.early.state";
constexpr char kSubjects[] = "watch.early.subjects";
// Minutes of one query: for ten thousand GPUs that are scraped four times a minute, 600,000 samples
// of a counter (with those before and after).
constexpr std::int64_t kChunk = 10;
constexpr int kSubjectsAPiece = 10'000;
constexpr std::size_t kBytesAPiece = std::size_t{8} << 20;  // the store takes twice that
// Open diagnoses at which no more are decided: a record of the journal has 8 MiB.
constexpr std::size_t kMostPending = 16;
constexpr int kMostPieces = 100;
constexpr int kMostEvents = 1000;
constexpr absl::Duration kSubjectsLive = absl::Hours(6);

std::int64_t MinuteOf(absl::Time time) { return absl::ToUnixSeconds(time) / 60; }
absl::Time TimeOf(std::int64_t minute) { return absl::FromUnixSeconds(60 * minute); }

}  // namespace

EarlyWarning::EarlyWarning(store::Store& store, std::shared_ptr<telemetry::Source> source,
                           telemetry::Rules rules, watch::detection::RuleSet rule_set,
                           const Clock& clock, Open open, Options options)
    : store_(store),
      source_(std::move(source)),
      rules_(std::move(rules)),
      rule_set_(std::move(rule_set)),
      clock_(clock),
      open_(std::move(open)),
      options_(std::move(options)) {}

EarlyWarning::~EarlyWarning() {
  cancellation_.Cancel();
  if (thread_.joinable()) thread_.join();
  // (Another instance may have the lead by now, and know more.)
  if (!leads_ || !Keep().ok()) return;
  KeepSubjects().IgnoreError();
  store_.work().Finish(kLead, options_.owner, lead_).IgnoreError();
}

void EarlyWarning::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void EarlyWarning::Loop() {
  do {
    const absl::Status status = Round();
    if (cancellation_.cancelled()) return;
    const std::string problem = status.ok() ? "" : std::string(status.message());
    if (std::exchange(problem_, problem) != problem && !status.ok() && options_.on_problem) {
      options_.on_problem(status);
    }
  } while (!cancellation_.SleepFor(options_.every));
}

std::vector<FleetView*> EarlyWarning::Views() { return {gpus_.get(), nodes_.get(), jobs_.get()}; }

absl::Status EarlyWarning::Round() {
  if (options_.jobs != nullptr) {
    for (const std::string& problem : options_.jobs->Refresh()) {
      if (options_.on_problem) options_.on_problem(absl::InvalidArgumentError(problem));
    }
  }
  if (!leads_) GALEN_RETURN_IF_ERROR(Lead());
  if (!leads_) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(Keep());
  GALEN_RETURN_IF_ERROR(OpenPending());
  const absl::Time now = clock_.Now();
  const std::int64_t last = MinuteOf(now - options_.behind);
  std::int64_t first = std::max(read_ + 1, MinuteOf(now - options_.behind - options_.catch_up));
  for (; first <= last; first = read_ + 1) {
    if (cancellation_.cancelled()) return absl::OkStatus();
    GALEN_RETURN_IF_ERROR(Read(first, std::min(first + kChunk - 1, last)));
    GALEN_RETURN_IF_ERROR(Keep());
    GALEN_RETURN_IF_ERROR(OpenPending());
  }
  if (now - heard_ >= options_.hear_every) {
    heard_ = now;
    GALEN_RETURN_IF_ERROR(Hear());
  }
  if (now - kept_ >= options_.keep_every) {
    kept_ = now;
    return KeepSubjects();
  }
  return absl::OkStatus();
}

absl::Status EarlyWarning::Lead() {
  GALEN_RETURN_IF_ERROR(store_.work().Push(kLead, "leader", ""));
  GALEN_ASSIGN_OR_RETURN(std::vector<store::WorkItem> taken,
                         store_.work().Take(kLead, options_.owner, 1, options_.leader_ttl));
  if (taken.empty()) return absl::OkStatus();
  lead_ = std::move(taken.front());
  GALEN_RETURN_IF_ERROR(Restore());
  leads_ = true;
  return absl::OkStatus();
}

absl::Status EarlyWarning::Keep() {
  const absl::Status kept = store_.work().Keep(kLead, options_.owner, lead_);
  // Another instance has the lead, and the state here is outdated.
  if (absl::IsFailedPrecondition(kept)) leads_ = false;
  return kept;
}

absl::Status EarlyWarning::Restore() {
  gpus_ = std::make_unique<FleetView>(rule_set_, watch::detection::Of::kGpu);
  nodes_ = std::make_unique<FleetView>(rule_set_, watch::detection::Of::kNode);
  jobs_ = std::make_unique<FleetView>(rule_set_, watch::detection::Of::kJob);
  policy_ = std::make_unique<watch::detection::Policy>(rule_set_);
  pending_.clear();
  pending_noted_ = true;
  read_ = 0;
  decided_ = 0;
  kept_ = clock_.Now();
  heard_ = kept_;
  seen_.clear();
  GALEN_ASSIGN_OR_RETURN(const std::vector<store::JournalEntry> notes,
                         store_.journal().Read(kState, 0, 1000));
  if (!notes.empty()) {
    v1::EarlyState stored;
    if (!stored.ParseFromString(notes.back().record)) {
      return absl::DataLossError(absl::StrCat(
          kState, ": record ", notes.back().position,
          " cannot be read: restore the store from a backup, or trim that journal, after which "
          "reported causes are reported again"));
    }
    decided_ = stored.minute();
    policy_ = std::make_unique<watch::detection::Policy>(rule_set_, FromStored(stored));
    pending_.assign(stored.pending().begin(), stored.pending().end());
  }
  return RestoreSubjects();
}

// Restores the state of the detectors. Without it they start again, and lose what they had learned.
absl::Status EarlyWarning::RestoreSubjects() {
  for (int piece = 0; piece < kMostPieces; ++piece) {
    GALEN_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                           store_.values().Get(kSubjects, absl::StrCat(piece), clock_.Now()));
    if (!value.has_value()) break;
    v1::EarlySubjects subjects;
    if (!subjects.ParseFromString(*value)) break;
    if (piece == 0) {
      const std::int64_t now = MinuteOf(clock_.Now());
      if (subjects.minute() > now || now - subjects.minute() > kSubjectsLive / absl::Minutes(1)) {
        break;
      }
      read_ = subjects.minute();
      for (FleetView* view : Views()) view->detectors().SetMinute(read_);
    }
    // Pieces written in different rounds do not match.
    if (subjects.minute() != read_) break;
    FleetView& view = subjects.kind() == "gpu"    ? *gpus_
                      : subjects.kind() == "node" ? *nodes_
                                                  : *jobs_;
    // With other rules the numbers mean something else: these are reset.
    if (subjects.rules() != view.detectors().Digest()) continue;
    for (const v1::EarlySubjects::Subject& each : subjects.subjects()) {
      view.Restore({{each.node(), each.device(), each.job(), ""},
                    {each.numbers().begin(), each.numbers().end()}});
    }
  }
  return absl::OkStatus();
}

absl::Status EarlyWarning::KeepSubjects() {
  int piece = 0;
  std::size_t bytes = 0;
  v1::EarlySubjects subjects;
  subjects.set_minute(read_);
  const auto put = [&]() -> absl::Status {
    if (subjects.subjects().empty() || piece >= kMostPieces) return absl::OkStatus();
    absl::Status status =
        store_.values().Put(kSubjects, absl::StrCat(piece++), subjects.SerializeAsString(),
                            clock_.Now(), kSubjectsLive);
    subjects.clear_subjects();
    bytes = 0;
    return status;
  };
  for (FleetView* view : Views()) {
    subjects.set_kind(view == gpus_.get() ? "gpu" : view == nodes_.get() ? "node" : "job");
    subjects.set_rules(view->detectors().Digest());
    for (const FleetView::Kept& kept : view->Save()) {
      v1::EarlySubjects::Subject& each = *subjects.add_subjects();
      each.set_node(kept.where.node);
      each.set_device(kept.where.device);
      each.set_job(kept.where.job);
      each.mutable_numbers()->Assign(kept.numbers.begin(), kept.numbers.end());
      bytes += each.ByteSizeLong();
      if (subjects.subjects_size() >= kSubjectsAPiece || bytes >= kBytesAPiece) {
        GALEN_RETURN_IF_ERROR(put());
      }
    }
    GALEN_RETURN_IF_ERROR(put());
  }
  return absl::OkStatus();
}

absl::Status EarlyWarning::Save() {
  v1::EarlyState stored = ToStored(policy_->state());
  stored.set_minute(decided_);
  stored.mutable_pending()->Assign(pending_.begin(), pending_.end());
  GALEN_ASSIGN_OR_RETURN(const std::int64_t at,
                         store_.journal().Append(kState, {stored.SerializeAsString()}));
  pending_noted_ = true;
  return store_.journal().Trim(kState, at - 1);
}

absl::Status EarlyWarning::Read(std::int64_t first, std::int64_t last) {
  const telemetry::Range range{TimeOf(first), TimeOf(last), absl::Minutes(1)};
  std::map<std::string, telemetry::Measured> measured;
  for (FleetView* view : Views()) {
    for (const std::string& measure : view->detectors().measures()) {
      // A quantity that is missing from the site's knowledge is unknown.
      if (rules_.Find(measure) == nullptr || measured.contains(measure)) continue;
      telemetry::Call call;
      call.deadline = SteadyNow() + options_.call;
      call.cancellation = &cancellation_;
      absl::StatusOr<telemetry::Measured> one =
          telemetry::Measure(*source_, rules_, measure, range, options_.most_age, call);
      if (absl::IsNotFound(one.status())) continue;
      GALEN_RETURN_IF_ERROR(one.status());
      telemetry::TakeHighest(*one);
      if (one->complete) {
        incomplete_.erase(measure);
      } else if (incomplete_.insert(measure).second && options_.on_problem) {
        options_.on_problem(absl::ResourceExhaustedError(
            absl::StrCat("early warning: not all of ", measure, " came: ", source_->name(),
                         " has more than is asked for at once; what is missing is unknown")));
      }
      measured.emplace(measure, *std::move(one));
    }
  }
  const std::map<std::string, std::string> jobs = JobsOf(measured);
  Assumed assumed;
  if (options_.jobs != nullptr) assumed = LowEndsOf(options_.jobs->read()->jobs, measured);
  for (FleetView* view : Views()) view->Take(measured, jobs, assumed);
  for (std::int64_t minute = first; minute <= last; ++minute) {
    std::vector<watch::detection::Notice> notices;
    for (FleetView* view : Views()) {
      for (watch::detection::Notice& notice :
           view->Step(static_cast<std::size_t>(minute - first))) {
        notices.push_back(std::move(notice));
      }
    }
    read_ = minute;
    minutes_.Add();
    // Decisions of another instance, or earlier ones, only update the detectors.
    if (minute <= decided_) continue;
    decided_ = minute;
    for (const watch::detection::Alarm& alarm : policy_->Step(TimeOf(minute), notices)) {
      v1::EarlyState::Pending& pending = pending_.emplace_back();
      pending.set_alarm(alarm.id);
      *pending.mutable_request() = RequestOf(alarm, rule_set_, jobs, options_.parent);
      pending_noted_ = false;
    }
    if (pending_.size() >= kMostPending) break;  // the rest after these are opened
  }
  withheld_ = policy_->state().withheld;
  // An instance that lost the lead while the source was slow must not overwrite its successor's
  // state.
  GALEN_RETURN_IF_ERROR(Keep());
  return Save();
}

absl::Status EarlyWarning::OpenPending() {
  if (pending_.empty()) return absl::OkStatus();
  if (!pending_noted_) GALEN_RETURN_IF_ERROR(Save());
  while (!pending_.empty()) {
    // An instance that has lost the lead opens nothing: another does.
    GALEN_RETURN_IF_ERROR(Keep());
    const absl::StatusOr<std::string> name = open_(pending_.front().request());
    const bool hopeless = absl::IsInvalidArgument(name.status());
    if (!name.ok() && !hopeless) {
      return absl::UnavailableError(
          absl::StrCat("a diagnosis cannot be opened: ", name.status().message()));
    }
    if (hopeless && options_.on_problem) options_.on_problem(name.status());
    if (name.ok()) {
      opened_.Add();
      policy_->SetDiagnosis(pending_.front().alarm(), *name);
    }
    pending_.erase(pending_.begin());
  }
  return Save();
}

// Reads people's judgements of alarms.
absl::Status EarlyWarning::Hear() {
  bool judged = false;
  const std::vector<watch::detection::Unjudged> all = policy_->state().unjudged;
  for (const watch::detection::Unjudged& each : all) {
    if (each.diagnosis.empty()) continue;
    std::int64_t& seen = seen_[each.diagnosis];
    const auto events = store_.events().Read(each.diagnosis, seen, kMostEvents);
    // The orchestrator may have a separate store.
    if (absl::IsNotFound(events.status())) continue;
    GALEN_RETURN_IF_ERROR(events.status());
    for (const galen::v1::DiagnosisEvent& event : *events) {
      seen = event.sequence();
      const bool is_true =
          event.has_feedback_received() && !event.feedback_received().confirmed_label().empty();
      if (!is_true && !event.has_cancelled()) continue;
      judged = policy_->Judge(each.id, is_true, clock_.Now()) || judged;
    }
  }
  std::erase_if(seen_, [&](const auto& entry) {
    return std::none_of(all.begin(), all.end(), [&](const watch::detection::Unjudged& each) {
      return each.diagnosis == entry.first;
    });
  });
  return judged ? Save() : absl::OkStatus();
}

std::shared_ptr<const prometheus::Collectable> EarlyWarning::metrics() {
  return metrics::SourceOf([this]() -> std::vector<prometheus::MetricFamily> {
    const auto number = [](auto count) { return static_cast<double>(count); };
    std::vector<prometheus::MetricFamily> families = {
        metrics::FamilyWith(metrics::kEarlyDiagnoses, {{{}, number(opened_.value())}}),
        metrics::FamilyWith(metrics::kEarlyMinutes, {{{}, number(minutes_.value())}}),
        metrics::FamilyWith(metrics::kEarlyWithheld, {{{}, number(withheld_.load())}}),
        metrics::FamilyWith(metrics::kEarlyLeads, {{{}, leads_ ? 1.0 : 0.0}})};
    if (options_.jobs != nullptr) {
      const auto read = options_.jobs->read();
      families.push_back(
          metrics::FamilyWith(metrics::kEarlyPredicted, {{{}, number(read->jobs.size())}}));
      std::vector<metrics::Sample> unread;
      for (const auto& [file, problem] : read->problems) unread.push_back({{{"file", file}}, 1.0});
      families.push_back(metrics::FamilyWith(metrics::kEarlyUnread, unread));
    }
    return families;
  });
}

}  // namespace galen::watch::early_warning
