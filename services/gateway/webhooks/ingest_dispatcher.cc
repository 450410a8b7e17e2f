#include "services/gateway/webhooks/ingest_dispatcher.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/retry_hint.h"
#include "common/base/steady.h"
#include "common/security/identity.h"

namespace galen::gateway::webhooks {
namespace {

constexpr absl::Duration kCallTime = absl::Seconds(30);
constexpr absl::Duration kTellAgain = absl::Seconds(30);
constexpr std::size_t kMostLooked = 1'000;  // the oldest, of those that wait

const google::protobuf::MethodDescriptor* CreateMethod() {
  return galen::v1::CreateDiagnosisRequest::descriptor()
      ->file()
      ->FindServiceByName("DiagnosisService")
      ->FindMethodByName("CreateDiagnosis");
}

// Errors that a retry would not change.
bool IsFinal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

IngestDispatcher::IngestDispatcher(WebhookJournal& webhook_journal, Upstream& upstream,
                                   RateLimiter& rates, Options options,
                                   std::function<void(const std::string&)> tell)
    : webhook_journal_(webhook_journal),
      upstream_(upstream),
      rates_(rates),
      options_(options),
      tell_(std::move(tell)),
      thread_([this] { Loop(); }) {}

IngestDispatcher::~IngestDispatcher() { Stop(); }

void IngestDispatcher::Stop() {
  std::map<std::string, clients::Cancel> cancels;
  {
    const MutexLock lock(mu_);
    if (std::exchange(stopping_, true)) return;
    cancels = cancels_;
  }
  changed_.notify_all();
  for (const auto& [id, cancel] : cancels) cancel();
  thread_.join();
}

void IngestDispatcher::Wake(const std::vector<std::string>& names) {
  {
    const MutexLock lock(mu_);
    for (const std::string& name : names) {
      const std::string id = name.substr(name.rfind('/') + 1);
      attempts_.try_emplace(id, Attempt{SteadyNow(), options_.first_pause});
    }
    woken_ = true;
  }
  changed_.notify_all();
}

std::uint64_t IngestDispatcher::refused() const {
  const MutexLock lock(mu_);
  return refused_;
}

void IngestDispatcher::Loop() {
  // Requests found at the start may be our own, from before a stop: they do not wait for other
  // gateways.
  std::vector<std::string> left;
  for (const State::Waiting& waiting : webhook_journal_.Waiting(kMostLooked)) {
    left.push_back(waiting.request.diagnosis_id());
  }
  Wake(left);
  absl::Time trim_at = SteadyNow() + options_.trim;
  bool stopping = false;
  while (!stopping) {
    WriteDown();
    bool fresh = false;
    {
      const MutexLock lock(mu_);
      fresh = std::exchange(woken_, false);
    }
    // The requests of a wake are in memory already.
    const absl::Status read = fresh ? absl::OkStatus() : webhook_journal_.Refresh();
    if (!read.ok() && !std::exchange(away_, true)) {
      tell_(absl::StrCat("stored events of webhooks cannot be read: ", read.message()));
    }
    if (read.ok() && !fresh) away_ = false;
    SendWhatIsDue();
    if (SteadyNow() >= trim_at) {
      trim_at = SteadyNow() + options_.trim;
      if (const absl::Status status = webhook_journal_.Trim(); !status.ok()) {
        tell_(absl::StrCat("the journal of webhooks cannot be trimmed: ", status.message()));
      }
    }
    const MutexLock lock(mu_);
    const absl::Time until = SteadyNow() + options_.look;
    while (!stopping_ && !woken_ && completed_.empty() && SteadyNow() < until) {
      mu_.WaitFor(changed_, until - SteadyNow());
    }
    stopping = stopping_;
  }
  {
    const MutexLock lock(mu_);
    while (in_flight_ > 0) mu_.Wait(changed_);
  }
  WriteDown();
}

void IngestDispatcher::WriteDown() {
  std::vector<Completion> landed;
  {
    const MutexLock lock(mu_);
    landed.swap(completed_);
  }
  std::vector<WebhookJournal::Delivered> delivered;
  for (const Completion& completion : landed) {
    if (!completion.status.ok() && !IsFinal(completion.status)) continue;
    const std::string name = absl::StrCat(completion.parent, "/diagnoses/", completion.id);
    if (!completion.status.ok()) {
      tell_(absl::StrCat("endpoint ", completion.endpoint, ": ", name,
                         " is refused for good: ", completion.status.message()));
    }
    delivered.push_back({completion.endpoint, name,
                         completion.status.ok() ? "" : std::string(completion.status.message())});
  }
  // A delivery that was not recorded is repeated, and the diagnosis is then found.
  absl::Status marked;
  if (!delivered.empty()) marked = webhook_journal_.MarkDelivered(delivered);
  for (Completion& completion : landed) {
    if (!marked.ok() && completion.status.ok()) completion.status = marked;
    Ended(completion);
  }
}

void IngestDispatcher::SendWhatIsDue() {
  const std::vector<State::Waiting> waiting = webhook_journal_.Waiting(kMostLooked);
  std::vector<const State::Waiting*> due;
  const absl::Time now = SteadyNow();
  {
    const MutexLock lock(mu_);
    std::map<std::string, Attempt> still;
    for (const State::Waiting& one : waiting) {
      const std::string& id = one.request.diagnosis_id();
      const auto it = attempts_.find(id);
      Attempt attempt;
      if (it != attempts_.end()) {
        attempt = it->second;
      } else {
        attempt = {now + options_.leave_to_others, options_.first_pause};
      }
      if (!attempt.in_flight && attempt.due <= now && in_flight_ < options_.most_at_once) {
        attempt.in_flight = true;
        ++in_flight_;
        due.push_back(&one);
      }
      still[id] = attempt;
    }
    for (auto& [id, attempt] : attempts_) {
      if (attempt.in_flight) still.emplace(id, attempt);
    }
    attempts_ = std::move(still);
  }
  for (const State::Waiting* one : due) Send(*one);
}

void IngestDispatcher::Send(const State::Waiting& waiting) {
  bool counted = false;
  {
    const MutexLock lock(mu_);
    const std::string& id = waiting.request.diagnosis_id();
    counted = attempts_[id].counted;
  }
  if (counted) return Ask(waiting);
  rates_.Take(std::string(security::TenantOf(waiting.request.parent())), /*starts=*/true,
              [this, waiting](const absl::StatusOr<Allowance>& allowance) {
                Completion completion{waiting.endpoint, waiting.request.parent(),
                                      waiting.request.diagnosis_id(), allowance.status()};
                if (allowance.ok() && allowance->wait > absl::ZeroDuration()) {
                  completion.status = WithRetryAfter(
                      absl::ResourceExhaustedError(
                          allowance->is_quota ? "the tenant's diagnoses of a day are used up"
                                              : "the tenant starts too many at a time"),
                      allowance->wait);
                }
                if (!completion.status.ok()) return Complete(std::move(completion));
                {
                  const MutexLock lock(mu_);
                  attempts_[completion.id].counted = true;
                  if (stopping_) completion.status = absl::CancelledError("stopped");
                }
                if (!completion.status.ok()) return Complete(std::move(completion));
                Ask(waiting);
              });
}

void IngestDispatcher::Complete(Completion completion) {
  const MutexLock lock(mu_);
  cancels_.erase(completion.id);
  completed_.push_back(std::move(completion));
  --in_flight_;
  changed_.notify_all();
}

void IngestDispatcher::Ask(const State::Waiting& waiting) {
  const std::string& id = waiting.request.diagnosis_id();
  Upstream::Call call;
  call.method = CreateMethod();
  call.request = std::make_shared<galen::v1::CreateDiagnosisRequest>(waiting.request);
  call.resource = waiting.request.parent();
  call.deadline = absl::Now() + kCallTime;
  call.again = true;
  clients::Cancel cancel = upstream_.Ask(
      std::move(call), [this, completion = Completion{waiting.endpoint, waiting.request.parent(),
                                                      id, absl::OkStatus()}](
                           const absl::StatusOr<Upstream::Answer>& answer) mutable {
        completion.status = answer.status();
        Complete(std::move(completion));
      });
  bool stopping = false;
  {
    const MutexLock lock(mu_);
    const bool landed = std::any_of(completed_.begin(), completed_.end(),
                                    [&](const Completion& one) { return one.id == id; });
    if (landed) return;
    stopping = stopping_;
    if (!stopping) cancels_[id] = cancel;
  }
  if (stopping) cancel();
}

void IngestDispatcher::Ended(const Completion& completion) {
  absl::Duration wait;
  {
    const MutexLock lock(mu_);
    if (IsFinal(completion.status)) ++refused_;
    const auto it = attempts_.find(completion.id);
    if (it == attempts_.end()) return;
    if (completion.status.ok() || IsFinal(completion.status)) {
      attempts_.erase(it);
      return;
    }
    Attempt& attempt = it->second;
    const absl::Time now = SteadyNow();
    const bool news = now - told_ > kTellAgain;
    const absl::Duration pause =
        std::max(attempt.pause, RetryAfter(completion.status).value_or(absl::ZeroDuration()));
    attempt.due = now + pause;
    attempt.pause = std::min(attempt.pause * 2, options_.longest_pause);
    attempt.in_flight = false;
    if (news) {
      told_ = now;
      wait = pause;
    }
  }
  if (wait == absl::ZeroDuration()) return;
  tell_(absl::StrCat("endpoint ", completion.endpoint, ": diagnosis ", completion.id,
                     " waits, next try in ", absl::FormatDuration(wait), ": ",
                     completion.status.message()));
}

}  // namespace galen::gateway::webhooks
