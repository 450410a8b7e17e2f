#include "services/gateway/tickets/desk.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/metrics/catalogue.h"
#include "common/metrics/registry.h"
#include "common/trace/trace.h"

namespace galen::gateway::tickets {
namespace {

constexpr absl::Duration kScanEvery = absl::Seconds(1);
constexpr absl::Duration kAfterError = absl::Seconds(2);
constexpr absl::Duration kLongestWait = absl::Seconds(1);
constexpr absl::Duration kCallTime = absl::Seconds(10);

double Chance() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(random);
}

// Nobody else's, also not that of a process of the same number before.
std::string OwnerName() {
  return absl::StrCat("gateway/", getpid(), "/", std::random_device{}(), std::random_device{}());
}

}  // namespace

absl::StatusOr<galen::v1::Diagnosis> UpstreamSource::Ask(
    absl::string_view method, const std::string& name,
    std::shared_ptr<google::protobuf::Message> request) {
  const trace::Scope scope({trace::NewTrace(), name});
  const auto* service =
      galen::v1::GetDiagnosisRequest::descriptor()->file()->FindServiceByName("DiagnosisService");
  Upstream::Call call;
  call.method = service->FindMethodByName(std::string(method));
  call.request = std::move(request);
  call.resource = name;
  call.deadline = absl::Now() + kCallTime;
  call.again = true;
  const auto answered = std::make_shared<std::promise<absl::StatusOr<galen::v1::Diagnosis>>>();
  std::future<absl::StatusOr<galen::v1::Diagnosis>> answer = answered->get_future();
  upstream_.Ask(std::move(call), [answered](absl::StatusOr<Upstream::Answer> reply) {
    if (!reply.ok()) return answered->set_value(reply.status());
    const auto* diagnosis = dynamic_cast<const galen::v1::Diagnosis*>(reply->get());
    if (diagnosis == nullptr) return answered->set_value(absl::InternalError("no diagnosis"));
    answered->set_value(*diagnosis);
  });
  return answer.get();
}

absl::StatusOr<galen::v1::Diagnosis> UpstreamSource::Get(const std::string& name) {
  auto request = std::make_shared<galen::v1::GetDiagnosisRequest>();
  request->set_name(name);
  return Ask("GetDiagnosis", name, std::move(request));
}

absl::Status UpstreamSource::Submit(const galen::v1::SubmitFeedbackRequest& request) {
  return Ask("SubmitFeedback", request.name(),
             std::make_shared<galen::v1::SubmitFeedbackRequest>(request))
      .status();
}

TicketDesk::TicketDesk(Site site, store::Store& store, Upstream& upstream, const Clock& clock,
                       std::function<void(const std::string& tenant, galen::v1::Diagnosis&)> redact,
                       std::function<void(const std::string&)> tell)
    : site_(std::move(site)),
      clock_(clock),
      tell_(std::move(tell)),
      source_(upstream),
      news_(site_, store.records(), source_, clock,
            [this](const galen::v1::SubmitFeedbackRequest& request) {
              return source_.Submit(request);
            }),
      scanner_(store.events(), store.records(), site_, clock, OwnerName()) {
  const std::string owner = OwnerName();
  for (const Target& target : site_.targets) {
    couriers_.push_back(std::make_unique<Courier>(
        target, site_.console_url,
        Courier::World{&store.records(), &source_, &sender_, &clock_, &Chance, owner, redact}));
  }
  threads_.emplace_back([this] {
    Loop("event logs are not looked through for tickets",
         [this]() -> absl::StatusOr<absl::Duration> {
           GALEN_RETURN_IF_ERROR(scanner_.Scan());
           return kScanEvery;
         });
  });
  for (const std::unique_ptr<Courier>& courier : couriers_) {
    for (int i = 0; i < courier->target().concurrency; ++i) {
      threads_.emplace_back([this, one = courier.get()] {
        Loop(absl::StrCat("tickets of ", one->target().name, " wait"),
             [this, one]() -> absl::StatusOr<absl::Duration> {
               GALEN_ASSIGN_OR_RETURN(const absl::Time next, one->WorkOnce());
               return std::clamp(next - clock_.Now(), absl::ZeroDuration(), kLongestWait);
             });
      });
    }
  }
}

TicketDesk::~TicketDesk() {
  {
    const std::lock_guard lock(mu_);
    stopping_ = true;
  }
  sender_.Stop();
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TicketDesk::Loop(const std::string& what,
                      const std::function<absl::StatusOr<absl::Duration>()>& work) {
  bool failing = false;
  std::unique_lock lock(mu_);
  while (!stopping_) {
    lock.unlock();
    const absl::StatusOr<absl::Duration> wait = work();
    if (!wait.ok() && !std::exchange(failing, true)) {
      tell_(absl::StrCat(what, ": ", wait.status().message()));
    } else if (wait.ok() && std::exchange(failing, false)) {
      tell_(absl::StrCat("it is well again: ", what));
    }
    lock.lock();
    changed_.wait_for(lock, absl::ToChronoNanoseconds(wait.ok() ? *wait : kAfterError),
                      [this] { return stopping_; });
  }
}

std::shared_ptr<const prometheus::Collectable> TicketDesk::Numbers() const {
  return metrics::SourceOf([this] {
    std::vector<metrics::Sample> requests;
    std::vector<metrics::Sample> due;
    std::vector<metrics::Sample> oldest;
    std::vector<metrics::Sample> dead;
    for (const std::unique_ptr<Courier>& courier : couriers_) {
      const Courier::Counts counts = courier->counts();
      const std::string& name = courier->target().name;
      for (const auto& [what, count] : counts.requests) {
        requests.push_back({{{"target", name}, {"step", what.first}, {"outcome", what.second}},
                            static_cast<double>(count)});
      }
      due.push_back({{{"target", name}}, static_cast<double>(counts.due)});
      oldest.push_back({{{"target", name}}, absl::ToDoubleSeconds(counts.oldest)});
      dead.push_back({{{"target", name}}, static_cast<double>(counts.dead)});
    }
    return std::vector<prometheus::MetricFamily>{
        metrics::FamilyWith(metrics::kTickets, requests),
        metrics::FamilyWith(metrics::kTicketsDue, due),
        metrics::FamilyWith(metrics::kTicketsOldest, oldest),
        metrics::FamilyWith(metrics::kTicketsDead, dead)};
  });
}

}  // namespace galen::gateway::tickets
