#include "services/watch/health_event_intake.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/retry_hint.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/observability/metrics/catalogue.h"
#include "services/watch/incident.h"

namespace galen::watch {
namespace {

constexpr char kEvents[] = "watch.events";
constexpr char kProgress[] = "watch.progress";
constexpr char kLead[] = "watch.lead";
constexpr int kReadAtATime = 64;
constexpr std::size_t kRecordBytes = store::kMaxRecordBytes / 2;
constexpr absl::Duration kSaveEvery = absl::Seconds(5);
constexpr absl::Duration kLook = absl::Milliseconds(100);  // delay for records of other instances
constexpr absl::Duration kAfterTrouble = absl::Seconds(1);

}  // namespace

HealthEventIntake::HealthEventIntake(store::Store& store, HotSwap<knowledge::Knowledge> knowledge,
                                     const Clock& clock, Open open, Options options)
    : store_(store),
      knowledge_(std::move(knowledge)),
      clock_(clock),
      open_(std::move(open)),
      options_(std::move(options)),
      writer_([this] { WriteLoop(); }),
      follower_([this] { FollowLoop(); }) {}

HealthEventIntake::~HealthEventIntake() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
  }
  came_.notify_all();
  writer_.join();
  {
    const std::lock_guard<std::mutex> lock(news_mu_);
    ending_ = true;
  }
  news_.notify_all();
  follower_.join();
}

void HealthEventIntake::Report(v1::ReportHealthRequest request,
                               absl::AnyInvocable<void(absl::StatusOr<std::int64_t>) &&> done) {
  if (absl::Status usable = CheckEvents(request); !usable.ok()) return std::move(done)(usable);
  const auto count = static_cast<std::size_t>(request.events_size());
  {
    const std::lock_guard<std::mutex> lock(mu_);
    if (waiting_events_ + count <= options_.most_waiting) {
      waiting_events_ += count;
      waiting_.push_back({std::move(request), std::move(done)});
      came_.notify_one();
      return;
    }
  }
  std::move(done)(
      WithRetryAfter(absl::ResourceExhaustedError(absl::StrCat(
                         options_.most_waiting, " health events wait for the store already")),
                     absl::Seconds(1)));
}

std::shared_ptr<const prometheus::Collectable> HealthEventIntake::metrics() {
  return metrics::SourceOf([this]() -> std::vector<prometheus::MetricFamily> {
    std::size_t waiting = 0;
    {
      const std::lock_guard<std::mutex> lock(mu_);
      waiting = waiting_events_;
    }
    const auto number = [](auto count) { return static_cast<double>(count); };
    return {metrics::FamilyWith(metrics::kHealthEvents, {{{}, number(taken_.value())}}),
            metrics::FamilyWith(metrics::kHealthWaiting, {{{}, number(waiting)}}),
            metrics::FamilyWith(metrics::kOutbreaks, {{{}, number(opened_.value())}}),
            metrics::FamilyWith(metrics::kWatchLeads, {{{}, leads_ ? 1.0 : 0.0}})};
  });
}

void HealthEventIntake::WriteLoop() {
  std::unique_lock<std::mutex> lock(mu_);
  for (;;) {
    came_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::vector<Waiting> group;
    group.swap(waiting_);
    waiting_events_ = 0;
    lock.unlock();
    Write(std::move(group));
    lock.lock();
  }
}

// All reports that arrive while the disk is busy are written together.
void HealthEventIntake::Write(std::vector<Waiting> group) {
  std::vector<std::string> records;
  std::vector<std::size_t> record_of;  // by caller
  v1::HealthRecord record;
  std::size_t bytes = 0;
  std::uint64_t events = 0;
  *record.mutable_received_at() = ToTimestamp(clock_.Now());
  const auto close = [&] {
    records.push_back(record.SerializeAsString());
    record.clear_events();
    bytes = 0;
  };
  for (Waiting& each : group) {
    for (v1::HealthEvent& event : *each.request.mutable_events()) {
      if (bytes >= kRecordBytes) close();
      bytes += event.ByteSizeLong();
      ++events;
      *record.add_events() = std::move(event);
    }
    record_of.push_back(records.size());
  }
  if (record.events_size() > 0) close();
  const absl::StatusOr<std::int64_t> last = store_.journal().Append(kEvents, records);
  if (last.ok()) {
    taken_.Add(events);
    const std::lock_guard<std::mutex> lock(news_mu_);
    has_news_ = true;
    news_.notify_one();
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!last.ok()) {
      std::move(group[i].done)(last.status());
      continue;
    }
    const std::size_t at = std::min(record_of[i], records.size() - 1);
    std::move(group[i].done)(*last - static_cast<std::int64_t>(records.size() - 1 - at));
  }
}

void HealthEventIntake::Pause(absl::Duration longest) {
  std::unique_lock<std::mutex> lock(news_mu_);
  news_.wait_for(lock, absl::ToChronoNanoseconds(longest), [this] { return has_news_ || ending_; });
  has_news_ = false;
}

void HealthEventIntake::FollowLoop() {
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(news_mu_);
      if (ending_) break;
    }
    const absl::Status status = leads_ ? Follow() : Lead();
    if (!status.ok()) {
      // Another instance has the lead; any other error is retried from the same position.
      if (absl::IsFailedPrecondition(status)) leads_ = false;
      if (options_.on_problem) options_.on_problem(status);
      Pause(kAfterTrouble);
    } else if (!leads_) {
      Pause(options_.leader_ttl / 3);
    } else {
      Pause(std::clamp(correlator_->NextDue() - clock_.Now(), absl::ZeroDuration(), kLook));
    }
  }
  if (!leads_) return;
  // Another instance may lead at once.
  SaveProgress().IgnoreError();
  store_.work().Finish(kLead, options_.owner, lead_).IgnoreError();
}

absl::Status HealthEventIntake::Lead() {
  GALEN_RETURN_IF_ERROR(store_.work().Push(kLead, "leader", ""));
  GALEN_ASSIGN_OR_RETURN(std::vector<store::WorkItem> taken,
                         store_.work().Take(kLead, options_.owner, 1, options_.leader_ttl));
  if (taken.empty()) return absl::OkStatus();
  lead_ = std::move(taken.front());
  kept_ = SteadyNow();
  saved_at_ = kept_;
  correlator_ = std::make_unique<Correlator>(options_.correlator);
  pending_.clear();
  position_ = 0;
  GALEN_ASSIGN_OR_RETURN(const std::vector<store::JournalEntry> notes,
                         store_.journal().Read(kProgress, 0, 1000));
  if (!notes.empty()) {
    v1::Progress progress;
    if (!progress.ParseFromString(notes.back().record)) {
      return absl::DataLossError(absl::StrCat(
          kProgress, ": record ", notes.back().position,
          " cannot be read: restore the store from a backup, or trim that journal, after which "
          "reported grave events are reported again"));
    }
    position_ = progress.position();
    correlator_->Restore(progress);
    pending_.assign(progress.pending().begin(), progress.pending().end());
  }
  pending_noted_ = true;
  saved_ = position_;
  leads_ = true;
  return absl::OkStatus();
}

absl::Status HealthEventIntake::Keep() {
  if (SteadyNow() - kept_ < options_.leader_ttl / 4) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(store_.work().Keep(kLead, options_.owner, lead_));
  kept_ = SteadyNow();
  return absl::OkStatus();
}

absl::Status HealthEventIntake::Follow() {
  GALEN_RETURN_IF_ERROR(Keep());
  GALEN_RETURN_IF_ERROR(OpenPending());
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::JournalEntry> entries,
                           store_.journal().Read(kEvents, position_, kReadAtATime));
    for (const store::JournalEntry& entry : entries) {
      GALEN_RETURN_IF_ERROR(Take(entry));
      position_ = entry.position;
    }
    GALEN_RETURN_IF_ERROR(Keep());
    if (entries.size() < kReadAtATime) break;
  }
  GALEN_RETURN_IF_ERROR(OpenDue(clock_.Now()));
  if (position_ > saved_ && SteadyNow() - saved_at_ > kSaveEvery) {
    GALEN_RETURN_IF_ERROR(SaveProgress());
    return store_.journal().Trim(kEvents, saved_ - options_.keep);
  }
  return absl::OkStatus();
}

absl::Status HealthEventIntake::Take(const store::JournalEntry& entry) {
  v1::HealthRecord record;
  if (!record.ParseFromString(entry.record)) {
    if (options_.on_problem) {
      options_.on_problem(absl::DataLossError(
          absl::StrCat(kEvents, ": record ", entry.position, " cannot be read and is left out")));
    }
    return absl::OkStatus();
  }
  const absl::Time received = ToTime(record.received_at());
  GALEN_RETURN_IF_ERROR(OpenDue(received));
  const std::shared_ptr<const knowledge::Knowledge> knowledge = knowledge_.Get();
  for (int i = 0; i < record.events_size(); ++i) {
    v1::HealthEvent& event = *record.mutable_events(i);
    if (!IsGrave(event, *knowledge)) continue;
    const std::string kind = KindOf(event);
    correlator_->Add(kind, std::move(event), entry.position, i, received);
  }
  return absl::OkStatus();
}

absl::Status HealthEventIntake::OpenDue(absl::Time now) {
  const std::vector<Outbreak> due = correlator_->Due(now);
  if (due.empty()) return absl::OkStatus();
  const std::shared_ptr<const knowledge::Knowledge> knowledge = knowledge_.Get();
  for (const Outbreak& outbreak : due) {
    pending_.push_back(IncidentOf(outbreak, *knowledge, options_.parent));
  }
  pending_noted_ = false;
  return OpenPending();
}

absl::Status HealthEventIntake::OpenPending() {
  if (pending_.empty()) return absl::OkStatus();
  if (!pending_noted_) GALEN_RETURN_IF_ERROR(SaveProgress());
  while (!pending_.empty()) {
    // A replica that has lost the lead opens nothing: another does.
    GALEN_RETURN_IF_ERROR(store_.work().Keep(kLead, options_.owner, lead_));
    const absl::StatusOr<std::string> name = open_(pending_.front());
    // A request that the orchestrator never accepts must not block all that follow.
    const bool hopeless = absl::IsInvalidArgument(name.status());
    if (!name.ok() && !hopeless) {
      return absl::UnavailableError(
          absl::StrCat("a diagnosis cannot be opened: ", name.status().message()));
    }
    if (hopeless && options_.on_problem) options_.on_problem(name.status());
    if (name.ok()) opened_.Add();
    pending_.erase(pending_.begin());
  }
  return SaveProgress();
}

absl::Status HealthEventIntake::SaveProgress() {
  v1::Progress progress = correlator_->Save(position_);
  progress.mutable_pending()->Assign(pending_.begin(), pending_.end());
  GALEN_ASSIGN_OR_RETURN(const std::int64_t at,
                         store_.journal().Append(kProgress, {progress.SerializeAsString()}));
  pending_noted_ = true;
  saved_ = progress.position();
  saved_at_ = SteadyNow();
  return store_.journal().Trim(kProgress, at - 1);
}

}  // namespace galen::watch
