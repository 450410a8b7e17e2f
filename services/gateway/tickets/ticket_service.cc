#include "services/gateway/tickets/ticket_service.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/crypto/sha256.h"
#include "common/observability/trace/trace.h"
#include "services/gateway/tickets/delivery_planner.h"
#include "services/gateway/tickets/ticket_store.h"

namespace galen::gateway::tickets {
namespace {

constexpr char kNotes[] = "tickets.notes";
constexpr absl::Duration kScanEvery = absl::Seconds(1);
constexpr absl::Duration kAfterError = absl::Seconds(2);
constexpr absl::Duration kLongestWait = absl::Seconds(1);
constexpr absl::Duration kCallTime = absl::Seconds(10);

double Chance() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(random);
}

// Unique, also among processes that had the same number before.
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

TicketService::TicketService(
    Site site, store::Store& store, Upstream& upstream, const Clock& clock,
    const std::function<void(const std::string& tenant, galen::v1::Diagnosis&)>& redact,
    std::function<void(const std::string&)> tell)
    : site_(std::move(site)),
      records_(store.records()),
      clock_(clock),
      tell_(std::move(tell)),
      source_(upstream),
      updates_(site_, store.records(), source_, clock,
               [this](const galen::v1::SubmitFeedbackRequest& request) {
                 return source_.Submit(request);
               }),
      scanner_(store.events(), store.records(), site_, clock, OwnerName()) {
  const std::string owner = OwnerName();
  for (const Target& target : site_.targets) {
    workers_.push_back(std::make_unique<DeliveryWorker>(
        target, site_.console_url,
        DeliveryWorker::Dependencies{&store.records(), &source_, &sender_, &clock_, &Chance, owner,
                                     redact}));
  }
  Add("event logs cannot be scanned for tickets", [this]() -> absl::StatusOr<absl::Duration> {
    GALEN_RETURN_IF_ERROR(scanner_.Scan());
    return kScanEvery;
  });
  Add("updates of tickets wait", [this]() -> absl::StatusOr<absl::Duration> {
    GALEN_RETURN_IF_ERROR(DeliverUpdates());
    return kScanEvery;
  });
  for (const std::unique_ptr<DeliveryWorker>& worker : workers_) {
    for (int i = 0; i < worker->target().concurrency; ++i) {
      Add(absl::StrCat("tickets of ", worker->target().name, " wait"),
          [this, one = worker.get()]() -> absl::StatusOr<absl::Duration> {
            GALEN_ASSIGN_OR_RETURN(const absl::Time next, one->WorkOnce());
            return std::clamp(next - clock_.Now(), absl::ZeroDuration(), kLongestWait);
          });
    }
  }
}

TicketService::~TicketService() {
  for (const std::unique_ptr<PeriodicTask>& task : tasks_) task->Halt();
  sender_.Stop();
  tasks_.clear();
}

absl::StatusOr<bool> TicketService::ReceiveUpdate(const std::string& tenant,
                                                  const TicketUpdate& update, bool about) {
  GALEN_ASSIGN_OR_RETURN(const std::optional<std::string> diagnosis,
                         TicketStore(records_).DiagnosisOf(update.target, update.ticket_id));
  if (!diagnosis || !absl::StartsWith(*diagnosis, absl::StrCat("tenants/", tenant, "/"))) {
    return false;
  }
  if (!about) return true;
  v1::TicketNote note;
  note.set_target(update.target);
  note.set_ticket(CleanText(update.ticket_id, 256));
  note.set_closed(update.kind == TicketUpdate::Kind::kClosed);
  note.set_author(CleanText(update.author, 256));
  note.set_text(CleanText(update.text, 32 << 10));
  // (The id of a delivery may be any bytes.)
  note.set_delivery(Sha256Hex(update.delivery));
  *note.mutable_receive_time() = ToTimestamp(clock_.Now());
  const auto put =
      records_.Put(kNotes, Sha256Hex(absl::StrCat(update.target, "/", update.delivery)),
                   note.SerializeAsString(), 0);
  // (It exists already: the update was delivered twice.)
  if (!put.ok() && !absl::IsAborted(put.status())) return put.status();
  return true;
}

absl::Status TicketService::DeliverUpdates() {
  std::string after;
  absl::Status failed;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> page,
                           records_.List(kNotes, after, 100));
    for (const store::Record& record : page) {
      after = record.key;
      v1::TicketNote note;
      if (!note.ParseFromString(record.value)) {
        failed = absl::DataLossError(absl::StrCat(kNotes, "/", record.key, ": cannot be read"));
        continue;
      }
      const absl::StatusOr<UpdateResult> result = updates_.Apply(
          {note.target(), note.ticket(),
           note.closed() ? TicketUpdate::Kind::kClosed : TicketUpdate::Kind::kComment,
           note.author(), note.text(), note.delivery()});
      const bool stale = clock_.Now() - ToTime(note.receive_time()) > kGiveUpAfter;
      if (!result.ok() && !stale) {
        failed = result.status();
        continue;
      }
      if (!result.ok() || result->kind == UpdateResult::Kind::kNotTaken) {
        tell_(absl::StrCat(
            "an update of ticket ", note.target(), " ", note.ticket(),
            " was not taken: ", result.ok() ? result->detail : result.status().message()));
      }
      // (ABORTED, gone: another gateway did the same, which counts once.)
      absl::Status removed = records_.Remove(kNotes, record.key, record.version);
      if (!removed.ok() && !absl::IsAborted(removed)) return removed;
    }
    if (page.size() < 100) return failed;
  }
}

void TicketService::Add(std::string what, std::function<absl::StatusOr<absl::Duration>()> work) {
  tasks_.push_back(std::make_unique<PeriodicTask>(
      [this, what = std::move(what), work = std::move(work), failing = false]() mutable {
        const absl::StatusOr<absl::Duration> wait = work();
        if (!wait.ok() && !std::exchange(failing, true)) {
          tell_(absl::StrCat(what, ": ", wait.status().message()));
        } else if (wait.ok() && std::exchange(failing, false)) {
          tell_(absl::StrCat("recovered: ", what));
        }
        return wait.ok() ? *wait : kAfterError;
      }));
}

std::map<std::string, DeliveryWorker::Counts> TicketService::counts() const {
  std::map<std::string, DeliveryWorker::Counts> counts;
  for (const std::unique_ptr<DeliveryWorker>& worker : workers_) {
    counts[worker->target().name] = worker->counts();
  }
  return counts;
}

}  // namespace galen::gateway::tickets
