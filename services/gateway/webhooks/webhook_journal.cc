#include "services/gateway/webhooks/webhook_journal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/retry_hint.h"
#include "common/base/status_macros.h"

namespace galen::gateway::webhooks {
namespace {

constexpr absl::string_view kJournal = "gateway.webhooks";
constexpr int kBatch = 1000;
constexpr std::size_t kMostTogether = 256;  // jobs that are written at once
constexpr absl::Duration kStoreTryAgain = absl::Seconds(5);

absl::Status Full(absl::string_view what) {
  return WithRetryAfter(absl::UnavailableError(absl::StrCat("too many ", what, ": try again")),
                        kStoreTryAgain);
}

}  // namespace

WebhookJournal::WebhookJournal(store::Journal& journal, const Clock& clock, Executor& executor,
                               Options options)
    : journal_(journal), clock_(clock), executor_(executor), options_(options) {}

absl::Status WebhookJournal::Open() {
  const MutexLock one(reading_);
  return ReadOn(nullptr);
}

absl::Status WebhookJournal::Refresh() {
  const MutexLock one(reading_);
  return ReadOn(nullptr);
}

void WebhookJournal::Take(std::string endpoint, std::vector<v1::WebhookEvent> events, Done done) {
  absl::Status refused;
  bool begin = false;
  {
    const MutexLock lock(mu_);
    if (queue_.size() >= options_.most_queued) {
      refused = Full("deliveries at a time");
    } else if (state_.waiting().size() >= options_.most_waiting) {
      refused = Full("diagnoses wait for the orchestrator");
    } else {
      begin = !std::exchange(working_, true);
      queue_.push_back({std::move(endpoint), std::move(events), std::move(done), {}, {}});
    }
  }
  // NOLINTNEXTLINE(bugprone-use-after-move): then it was not moved
  if (!refused.ok()) return std::move(done)(refused);
  if (!begin || executor_.TrySchedule([this] { Work(); })) return;
  std::deque<Job> dropped;
  {
    const MutexLock lock(mu_);
    dropped.swap(queue_);
    working_ = false;
  }
  for (Job& job : dropped) std::move(job.done)(Full("tasks at a time"));
}

void WebhookJournal::Work() {
  for (;;) {
    std::vector<Job> jobs;
    {
      const MutexLock lock(mu_);
      while (!queue_.empty() && jobs.size() < kMostTogether) {
        jobs.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      if (jobs.empty()) {
        working_ = false;
        return;
      }
    }
    const absl::Status status = Write(jobs);
    std::vector<std::string> opened;
    for (Job& job : jobs) {
      if (!status.ok()) {
        std::move(job.done)(WithRetryAfter(
            absl::UnavailableError(absl::StrCat("events cannot be stored: ", status.message())),
            kStoreTryAgain));
        continue;
      }
      std::vector<Outcome> outcomes;
      for (std::optional<Outcome>& outcome : job.outcomes) {
        if (outcome->what == Outcome::kOpened) opened.push_back(outcome->name);
        outcomes.push_back(*std::move(outcome));
      }
      std::move(job.done)(std::move(outcomes));
    }
    if (!opened.empty() && on_opened_) on_opened_(opened);
  }
}

absl::Status WebhookJournal::Write(std::vector<Job>& jobs) {
  const MutexLock one(reading_);
  // Records of other gateways precede those written now. The order in the journal ensures that,
  // except for an event that is not written because no incident is open.
  bool look = false;
  {
    const MutexLock lock(mu_);
    for (const Job& job : jobs) {
      for (const v1::WebhookEvent& event : job.events) {
        look = look || (event.action() != v1::WebhookEvent::OPEN &&
                        state_.OpenName(job.endpoint, event).empty());
      }
    }
  }
  if (look) GALEN_RETURN_IF_ERROR(ReadOn(nullptr));
  std::vector<std::string> records;
  {
    const MutexLock lock(mu_);
    const absl::Time now = clock_.Now();
    for (Job& job : jobs) {
      for (v1::WebhookEvent& event : job.events) {
        job.outcomes.push_back(state_.Foresee(job.endpoint, event, now));
        job.positions.push_back(-1);
        if (job.outcomes.back().has_value()) continue;
        v1::WebhookRecord record = RecordOf(job.endpoint);
        *record.mutable_event() = std::move(event);
        record.mutable_event()->set_open_name(state_.OpenName(job.endpoint, record.event()));
        job.positions.back() = static_cast<std::int64_t>(records.size());
        records.push_back(record.SerializeAsString());
      }
    }
  }
  if (records.empty()) return absl::OkStatus();
  GALEN_ASSIGN_OR_RETURN(const std::int64_t last, journal_.Append(kJournal, records));
  const std::int64_t first = last - static_cast<std::int64_t>(records.size()) + 1;
  std::map<std::int64_t, Outcome> outcomes;
  for (std::int64_t position = first; position <= last; ++position) outcomes[position] = {};
  GALEN_RETURN_IF_ERROR(ReadOn(&outcomes));
  for (Job& job : jobs) {
    for (std::size_t i = 0; i < job.positions.size(); ++i) {
      if (job.positions[i] >= 0) job.outcomes[i] = outcomes[first + job.positions[i]];
    }
  }
  return absl::OkStatus();
}

absl::Status WebhookJournal::ReadOn(std::map<std::int64_t, Outcome>* outcomes) {
  for (;;) {
    std::int64_t after = 0;
    {
      const MutexLock lock(mu_);
      after = position_;
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::JournalEntry> entries,
                           journal_.Read(kJournal, after, kBatch));
    const MutexLock lock(mu_);
    for (const store::JournalEntry& entry : entries) {
      v1::WebhookRecord record;
      if (!record.ParseFromString(entry.record)) {
        return absl::DataLossError(absl::StrCat("journal ", kJournal, ", position ", entry.position,
                                                ": is not a record of a webhook"));
      }
      std::optional<Outcome> outcome = state_.Apply(entry.position, record);
      position_ = entry.position;
      if (outcomes == nullptr || !outcome.has_value()) continue;
      const auto it = outcomes->find(entry.position);
      if (it != outcomes->end()) it->second = *std::move(outcome);
    }
    if (entries.size() < static_cast<std::size_t>(kBatch)) return absl::OkStatus();
  }
}

v1::WebhookRecord WebhookJournal::RecordOf(const std::string& endpoint) const {
  v1::WebhookRecord record;
  *record.mutable_time() = ToTimestamp(clock_.Now());
  record.set_endpoint(endpoint);
  return record;
}

absl::Status WebhookJournal::Append(const std::vector<v1::WebhookRecord>& records) {
  std::vector<std::string> texts;
  texts.reserve(records.size());
  for (const v1::WebhookRecord& record : records) texts.push_back(record.SerializeAsString());
  GALEN_RETURN_IF_ERROR(journal_.Append(kJournal, texts).status());
  return Refresh();
}

std::vector<State::Waiting> WebhookJournal::Waiting(std::size_t most) const {
  std::vector<State::Waiting> all;
  const MutexLock lock(mu_);
  for (const auto& [name, waiting] : state_.waiting()) all.push_back(waiting);
  std::sort(all.begin(), all.end(), [](const State::Waiting& a, const State::Waiting& b) {
    return a.position < b.position;
  });
  if (all.size() > most) all.resize(most);
  return all;
}

std::size_t WebhookJournal::waiting() const {
  const MutexLock lock(mu_);
  return state_.waiting().size();
}

absl::Status WebhookJournal::MarkDelivered(const std::vector<Delivered>& delivered) {
  std::vector<v1::WebhookRecord> records;
  for (const Delivered& one : delivered) {
    records.push_back(RecordOf(one.endpoint));
    records.back().mutable_delivered()->set_name(one.name);
    records.back().mutable_delivered()->set_refused(one.refused);
  }
  return Append(records);
}

std::string WebhookJournal::CursorOf(const std::string& endpoint) const {
  const MutexLock lock(mu_);
  return state_.CursorOf(endpoint);
}

absl::Status WebhookJournal::SetCursor(const std::string& endpoint, const std::string& value) {
  if (CursorOf(endpoint) == value) return absl::OkStatus();
  v1::WebhookRecord record = RecordOf(endpoint);
  record.mutable_cursor()->set_value(value);
  return Append({record});
}

absl::Status WebhookJournal::Trim() {
  std::int64_t position = 0;
  std::map<std::string, std::string> cursors;
  {
    const MutexLock lock(mu_);
    position = state_.Forget(clock_.Now() - options_.remember);
    if (position == 0) return absl::OkStatus();
    cursors = state_.CursorsUpTo(position);
  }
  std::vector<v1::WebhookRecord> records;
  for (const auto& [endpoint, value] : cursors) {
    records.push_back(RecordOf(endpoint));
    records.back().mutable_cursor()->set_value(value);
  }
  if (!records.empty()) GALEN_RETURN_IF_ERROR(Append(records));
  return journal_.Trim(kJournal, position);
}

}  // namespace galen::gateway::webhooks
