#include "services/gateway/webhooks/courier.h"

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

// What no repetition would change.
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

Courier::Courier(Ledger& ledger, Upstream& upstream, RateGate& rates, Options options,
                 std::function<void(const std::string&)> tell)
    : ledger_(ledger),
      upstream_(upstream),
      rates_(rates),
      options_(options),
      tell_(std::move(tell)),
      thread_([this] { Loop(); }) {}

Courier::~Courier() { Stop(); }

void Courier::Stop() {
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

void Courier::Wake(const std::vector<std::string>& names) {
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

std::uint64_t Courier::refused() const {
  const MutexLock lock(mu_);
  return refused_;
}

void Courier::Loop() {
  // What was there before may have been left by nobody but this gateway, before it was stopped.
  std::vector<std::string> left;
  for (const State::Waiting& waiting : ledger_.Waiting(kMostLooked)) {
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
    // What came with a wake stands in memory already.
    const absl::Status read = fresh ? absl::OkStatus() : ledger_.Refresh();
    if (!read.ok() && !std::exchange(away_, true)) {
      tell_(absl::StrCat("stored events of webhooks cannot be read: ", read.message()));
    }
    if (read.ok() && !fresh) away_ = false;
    SendWhatIsDue();
    if (SteadyNow() >= trim_at) {
      trim_at = SteadyNow() + options_.trim;
      if (const absl::Status status = ledger_.Trim(); !status.ok()) {
        tell_(absl::StrCat("the journal of webhooks cannot be trimmed: ", status.message()));
      }
    }
    const MutexLock lock(mu_);
    const absl::Time until = SteadyNow() + options_.look;
    while (!stopping_ && !woken_ && landed_.empty() && SteadyNow() < until) {
      mu_.WaitFor(changed_, until - SteadyNow());
    }
    stopping = stopping_;
  }
  {
    const MutexLock lock(mu_);
    while (flying_ > 0) mu_.Wait(changed_);
  }
  WriteDown();
}

void Courier::WriteDown() {
  std::vector<Landing> landed;
  {
    const MutexLock lock(mu_);
    landed.swap(landed_);
  }
  std::vector<Ledger::Delivered> delivered;
  for (const Landing& landing : landed) {
    if (!landing.status.ok() && !IsFinal(landing.status)) continue;
    const std::string name = absl::StrCat(landing.parent, "/diagnoses/", landing.id);
    if (!landing.status.ok()) {
      tell_(absl::StrCat("endpoint ", landing.endpoint, ": ", name,
                         " is refused for good: ", landing.status.message()));
    }
    delivered.push_back(
        {landing.endpoint, name, landing.status.ok() ? "" : std::string(landing.status.message())});
  }
  // What is not written down will be asked for once more, and be found there.
  absl::Status marked;
  if (!delivered.empty()) marked = ledger_.MarkDelivered(delivered);
  for (Landing& landing : landed) {
    if (!marked.ok() && landing.status.ok()) landing.status = marked;
    Ended(landing);
  }
}

void Courier::SendWhatIsDue() {
  const std::vector<State::Waiting> waiting = ledger_.Waiting(kMostLooked);
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
      if (!attempt.flying && attempt.due <= now && flying_ < options_.most_at_once) {
        attempt.flying = true;
        ++flying_;
        due.push_back(&one);
      }
      still[id] = attempt;
    }
    for (auto& [id, attempt] : attempts_) {
      if (attempt.flying) still.emplace(id, attempt);
    }
    attempts_ = std::move(still);
  }
  for (const State::Waiting* one : due) Send(*one);
}

void Courier::Send(const State::Waiting& waiting) {
  bool counted = false;
  {
    const MutexLock lock(mu_);
    const std::string& id = waiting.request.diagnosis_id();
    counted = attempts_[id].counted;
  }
  if (counted) return Ask(waiting);
  rates_.Take(std::string(security::TenantOf(waiting.request.parent())), /*starts=*/true,
              [this, waiting](const absl::StatusOr<Allowance>& allowance) {
                Landing landing{waiting.endpoint, waiting.request.parent(),
                                waiting.request.diagnosis_id(), allowance.status()};
                if (allowance.ok() && allowance->wait > absl::ZeroDuration()) {
                  landing.status = WithRetryAfter(
                      absl::ResourceExhaustedError(
                          allowance->is_quota ? "the tenant's diagnoses of a day are used up"
                                              : "the tenant starts too many at a time"),
                      allowance->wait);
                }
                if (!landing.status.ok()) return Land(std::move(landing));
                {
                  const MutexLock lock(mu_);
                  attempts_[landing.id].counted = true;
                  if (stopping_) landing.status = absl::CancelledError("stopped");
                }
                if (!landing.status.ok()) return Land(std::move(landing));
                Ask(waiting);
              });
}

void Courier::Land(Landing landing) {
  const MutexLock lock(mu_);
  cancels_.erase(landing.id);
  landed_.push_back(std::move(landing));
  --flying_;
  changed_.notify_all();
}

void Courier::Ask(const State::Waiting& waiting) {
  const std::string& id = waiting.request.diagnosis_id();
  Upstream::Call call;
  call.method = CreateMethod();
  call.request = std::make_shared<galen::v1::CreateDiagnosisRequest>(waiting.request);
  call.resource = waiting.request.parent();
  call.deadline = absl::Now() + kCallTime;
  call.again = true;
  clients::Cancel cancel = upstream_.Ask(
      std::move(call),
      [this, landing = Landing{waiting.endpoint, waiting.request.parent(), id, absl::OkStatus()}](
          const absl::StatusOr<Upstream::Answer>& answer) mutable {
        landing.status = answer.status();
        Land(std::move(landing));
      });
  bool stopping = false;
  {
    const MutexLock lock(mu_);
    const bool landed = std::any_of(landed_.begin(), landed_.end(),
                                    [&](const Landing& one) { return one.id == id; });
    if (landed) return;
    stopping = stopping_;
    if (!stopping) cancels_[id] = cancel;
  }
  if (stopping) cancel();
}

void Courier::Ended(const Landing& landing) {
  absl::Duration wait;
  {
    const MutexLock lock(mu_);
    if (IsFinal(landing.status)) ++refused_;
    const auto it = attempts_.find(landing.id);
    if (it == attempts_.end()) return;
    if (landing.status.ok() || IsFinal(landing.status)) {
      attempts_.erase(it);
      return;
    }
    Attempt& attempt = it->second;
    const absl::Time now = SteadyNow();
    const bool news = now - told_ > kTellAgain;
    const absl::Duration pause =
        std::max(attempt.pause, RetryAfter(landing.status).value_or(absl::ZeroDuration()));
    attempt.due = now + pause;
    attempt.pause = std::min(attempt.pause * 2, options_.longest_pause);
    attempt.flying = false;
    if (news) {
      told_ = now;
      wait = pause;
    }
  }
  if (wait == absl::ZeroDuration()) return;
  tell_(absl::StrCat("endpoint ", landing.endpoint, ": diagnosis ", landing.id,
                     " waits, next try in ", absl::FormatDuration(wait), ": ",
                     landing.status.message()));
}

}  // namespace galen::gateway::webhooks
