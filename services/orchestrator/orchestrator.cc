#include "services/orchestrator/orchestrator.h"

#include <condition_variable>
#include <optional>
#include <random>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/cause_in_words.h"
#include "common/base/mutex.h"
#include "common/base/proto_time.h"
#include "common/base/retry_hint.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/observability/trace/trace.h"
#include "services/orchestrator/active_tests.h"
#include "services/orchestrator/core.h"
#include "services/orchestrator/diagnosis_actor.h"
#include "services/orchestrator/projection.h"
#include "services/orchestrator/strategy.h"
#include "services/orchestrator/validation.h"

namespace galen::orchestrator {
namespace {

constexpr int kDefaultPageSize = 50;
constexpr absl::Duration kFullFor = absl::Seconds(5);  // what is the time of one or two diagnoses
constexpr absl::Duration kWatchPoll = absl::Seconds(1);

// 16 hexadecimal digits that nobody can guess or meet again.
std::string RandomId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

// Runs `command` on the diagnosis, wherever it stands.
absl::StatusOr<v1::Diagnosis> DoOn(Core& core, absl::string_view name,
                                   DiagnosisActor::Command command) {
  // An actor that stops between the two steps leaves ABORTED behind; the next look finds it gone.
  for (int attempt = 0;; ++attempt) {
    absl::StatusOr<std::shared_ptr<DiagnosisActor>> actor = core.Open(name);
    if (absl::IsFailedPrecondition(actor.status())) {
      return absl::UnavailableError(
          absl::StrCat(actor.status().message(), ": ask that orchestrator, or try again later"));
    }
    GALEN_RETURN_IF_ERROR(actor.status());
    absl::StatusOr<v1::Diagnosis> diagnosis = (*actor)->Do(command);
    if (!absl::IsAborted(diagnosis.status()) || attempt == 3) return diagnosis;
  }
}

absl::Status IsOverError(const State& state) {
  return absl::FailedPreconditionError(
      absl::StrCat(state.name, ": is over (", v1::Diagnosis::State_Name(state.lifecycle), ")"));
}

v1::DiagnosisEvent FeedbackEvent(const v1::SubmitFeedbackRequest& request) {
  v1::DiagnosisEvent event;
  v1::FeedbackReceived& feedback = *event.mutable_feedback_received();
  feedback.set_text(request.text());
  feedback.set_request_id(request.request_id());
  feedback.set_confirmed_label(request.confirmed_label());
  feedback.set_confirmed_by(request.confirmed_by());
  feedback.set_by(request.by());
  feedback.set_look_again(request.look_again());
  *feedback.mutable_allowed_tests() = request.allowed_tests();
  feedback.set_asker(trace::Current().asker);
  return event;
}

// So many machines of the diagnosis are told to whoever reads an answer, so that "gpu07" and
// "gpu07.example.org" are one, and what names no machine belongs to the only one.
constexpr std::size_t kMostNamed = 16;

// The latest bundle: the capture with everything given since.
std::string LastBundle(const State& state) {
  for (auto told = state.supplied.rbegin(); told != state.supplied.rend(); ++told) {
    if (!told->evidence.artefacts().empty()) return told->evidence.bundle();
  }
  return state.incident.bundle();
}

// Whether a log stands for what a source of the site has.
bool NamesLogSource(const google::protobuf::RepeatedPtrField<v1::LogSource>& logs) {
  return std::any_of(logs.begin(), logs.end(), [](const v1::LogSource& log) {
    return log.content().empty() && absl::StartsWith(log.path(), "from:");
  });
}

absl::Status NoLogSources(absl::string_view field) {
  return absl::InvalidArgumentError(absl::StrCat(
      field,
      ": \"from:...\" is possible when a diagnosis is created, at a site with log sources; "
      "send the log itself"));
}

// The evidence of an answer, as it is understood. nullopt: words alone.
absl::StatusOr<std::optional<v1::Incident>> EvidenceOf(const v1::SubmitFeedbackRequest& request,
                                                       const State& state, const Options& options) {
  if (NamesLogSource(request.evidence().logs())) return NoLogSources("evidence.logs");
  v1::Incident given;
  given.set_description(request.text());
  *given.mutable_logs() = request.evidence().logs();
  *given.mutable_nodes() = request.evidence().nodes();
  given.set_bundle(request.evidence().bundle());
  if (options.take_evidence && given.bundle().empty()) {
    v1::Incident pasted = given;
    if (pasted.nodes().empty() && state.nodes.size() <= kMostNamed) {
      for (const std::string& node : state.nodes) pasted.add_nodes(node);
    }
    absl::StatusOr<v1::Incident> made = absl::UnavailableError("no bundle to add to");
    if (!IsLive(state) && options.add_evidence) {
      made = options.add_evidence(LastBundle(state), pasted, RandomId());
    }
    if (!made.ok()) made = options.take_evidence(pasted, RandomId());
    GALEN_RETURN_IF_ERROR(made.status());
    pasted = *std::move(made);
    if (!pasted.bundle().empty()) {
      *pasted.mutable_nodes() = given.nodes();
      given = std::move(pasted);
    }
  }
  if (given.bundle().empty() && given.logs().empty() && given.nodes().empty()) {
    return std::optional<v1::Incident>();
  }
  return std::optional<v1::Incident>(std::move(given));
}

absl::Status MayAllow(const v1::SubmitFeedbackRequest& request, const State& state,
                      TestPolicy policy) {
  if (policy == TestPolicy::kNever) {
    return absl::FailedPreconditionError(
        "allowed_tests: this site runs no test in a diagnosis (--tests); run it by hand, and give "
        "its output");
  }
  const std::string unknown = NotProposed(state, request.allowed_tests());
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("allowed_tests: \"", CleanText(unknown, 80),
                   "\" is not a test of the last report: allow one of those in report.tests"));
}

// Whether an answer may begin a round: somebody must have read the result of the last one.
bool TakesAnswers(const State& state) {
  switch (state.lifecycle) {
    case v1::Diagnosis::AWAITING_FEEDBACK:
    case v1::Diagnosis::SUCCEEDED:
    case v1::Diagnosis::FAILED:
      return true;
    case v1::Diagnosis::ESCALATED:
      return IsOver(state);
    default:
      return false;
  }
}

absl::StatusOr<v1::Diagnosis> ViewOf(Core& core, absl::string_view name, bool listed) {
  if (const std::shared_ptr<DiagnosisActor> actor = core.Find(name)) {
    absl::StatusOr<v1::Diagnosis> diagnosis = actor->View(listed);
    if (!diagnosis.ok() && !absl::IsAborted(diagnosis.status())) return diagnosis;
    if (diagnosis.ok()) {
      // Another orchestrator may have taken the lease, which this one notices when it writes: who
      // watched to the end there must not be shown less here.
      const auto later = core.log.Read(name, diagnosis->last_sequence(), 1);
      if (!later.ok() || later->empty()) return diagnosis;
    }
  }
  GALEN_ASSIGN_OR_RETURN(const State state, core.Load(name));
  return listed ? ToListedDiagnosis(state) : ToDiagnosis(state);
}

// Does `action` every `period`, for as long as the core stands.
void Repeat(const std::shared_ptr<Core>& core, absl::Duration period, void (*action)(Core&)) {
  core->timers.After(period, [weak = std::weak_ptr(core), period, action] {
    const std::shared_ptr<Core> still = weak.lock();
    if (still == nullptr) return;
    action(*still);
    Repeat(still, period, action);
  });
}

void ScanForOrphans(Core& core) {
  const ShutdownGate::Guard guard(core.gate);
  if (!guard) return;
  if (const absl::Status status = core.ResumeOrphans(); !status.ok()) {
    core.ReportProblem("", status);
  }
}

}  // namespace

Orchestrator::Orchestrator(store::EventLog& log, Agents agents, const Clock& clock,
                           Executor& executor, Options options)
    : core_(std::make_shared<Core>(log, agents, clock, executor, std::move(options))) {}

Orchestrator::~Orchestrator() { core_->Close(); }

absl::Status Orchestrator::Start() {
  GALEN_RETURN_IF_ERROR(ValidateStrategy("the default strategy", core_->options.strategy));
  GALEN_RETURN_IF_ERROR(core_->ResumeOwn());
  Repeat(core_, core_->options.orphan_scan, &ScanForOrphans);
  Repeat(core_, kWatchPoll, [](Core& core) { core.PollWatchers(); });
  if (core_->options.own_timer) core_->timers.Start();
  return absl::OkStatus();
}

void Orchestrator::Tick() { core_->timers.RunDue(); }

std::shared_ptr<const prometheus::Collectable> Orchestrator::metrics() const {
  return metrics::SourceOf([weak = std::weak_ptr(core_)] {
    const std::shared_ptr<Core> core = weak.lock();
    return core == nullptr ? std::vector<prometheus::MetricFamily>() : core->Metrics();
  });
}

absl::StatusOr<v1::Diagnosis> Orchestrator::Create(const v1::CreateDiagnosisRequest& request) {
  GALEN_RETURN_IF_ERROR(Validate(request));
  OrchestratorCounters::Tenant& tenant =
      core_->counters.tenants.Of(absl::StripPrefix(request.parent(), "tenants/"));
  if (core_->IsFull(request.parent())) {
    tenant.shed.Add();
    return WithRetryAfter(
        absl::ResourceExhaustedError(absl::StrCat(
            request.parent(), ": ", core_->options.tenant_waiting,
            " diagnoses wait, which is the limit: try again in ", absl::FormatDuration(kFullFor))),
        kFullFor);
  }
  if (core_->options.take_bytes) {
    if (absl::Status taken =
            core_->options.take_bytes(request.parent(), request.diagnosis().ByteSizeLong());
        !taken.ok()) {
      tenant.shed.Add();
      return taken;
    }
  }
  v1::DiagnosisEvent event;
  *event.mutable_event_time() = ToTimestamp(core_->clock.Now());
  event.set_sequence(1);
  event.set_trace_id(trace::TraceIdOf(trace::Current().context.valid() ? trace::Current().context
                                                                       : trace::NewTrace()));
  v1::Created& created = *event.mutable_created();
  created.set_name(
      absl::StrCat(request.parent(), "/diagnoses/",
                   request.diagnosis_id().empty() ? RandomId() : request.diagnosis_id()));
  *created.mutable_incident() = request.diagnosis().incident();
  if (NamesLogSource(created.incident().logs())) {
    if (!core_->options.fetch_logs) return NoLogSources("diagnosis.incident.logs");
    GALEN_ASSIGN_OR_RETURN(*created.mutable_incident(),
                           core_->options.fetch_logs(request.parent(), created.incident()));
  }
  if (core_->options.take_evidence) {
    GALEN_ASSIGN_OR_RETURN(*created.mutable_incident(),
                           core_->options.take_evidence(created.incident(), RandomId()));
  }
  created.set_strategy(request.diagnosis().strategy().empty() ? core_->options.strategy
                                                              : request.diagnosis().strategy());
  created.set_request_id(request.request_id());
  created.set_asker(trace::Current().asker);
  GALEN_ASSIGN_OR_RETURN(const std::string name, core_->log.Create(event));
  if (name != created.name()) return ViewOf(*core_, name, /*listed=*/false);
  tenant.created.Add();
  if (core_->options.on_lifecycle_event) {
    const trace::Scope scope(
        {trace::InTrace(event.trace_id()).value_or(trace::Context()), created.name()});
    core_->options.on_lifecycle_event(absl::StrCat("accepted, strategy ", created.strategy()));
  }
  if (core_->options.after_append) core_->options.after_append(1);
  // It is accepted from here on: what goes wrong now is put right by the scan for orphans.
  core_->Resume(name);
  return ViewOf(*core_, name, /*listed=*/false);
}

absl::StatusOr<v1::Diagnosis> Orchestrator::Get(const v1::GetDiagnosisRequest& request) {
  return ViewOf(*core_, request.name(), /*listed=*/false);
}

absl::StatusOr<v1::ListDiagnosesResponse> Orchestrator::List(
    const v1::ListDiagnosesRequest& request) {
  GALEN_RETURN_IF_ERROR(Validate(request));
  const int page_size = request.page_size() == 0 ? kDefaultPageSize : request.page_size();
  GALEN_ASSIGN_OR_RETURN(const store::EventLog::Page page,
                         core_->log.List(request.parent(), page_size, request.page_token()));
  v1::ListDiagnosesResponse response;
  for (const std::string& name : page.names) {
    absl::StatusOr<v1::Diagnosis> view = ViewOf(*core_, name, /*listed=*/true);
    if (absl::IsNotFound(view.status())) continue;  // deleted meanwhile
    GALEN_RETURN_IF_ERROR(view.status());
    *response.add_diagnoses() = *std::move(view);
  }
  response.set_next_page_token(page.next_page_token);
  return response;
}

absl::StatusOr<v1::Diagnosis> Orchestrator::Cancel(const v1::CancelDiagnosisRequest& request) {
  GALEN_RETURN_IF_ERROR(ValidateReason(request.reason()));
  return DoOn(*core_, request.name(),
              [&](const State& state) -> absl::StatusOr<std::optional<v1::DiagnosisEvent>> {
                if (IsOver(state)) return IsOverError(state);
                v1::DiagnosisEvent event;
                event.mutable_cancelled()->set_reason(request.reason());
                return event;
              });
}

absl::StatusOr<v1::Diagnosis> Orchestrator::SubmitFeedback(
    const v1::SubmitFeedbackRequest& request) {
  GALEN_RETURN_IF_ERROR(Validate(request));
  if (!request.confirmed_label().empty()) return Confirm(request);
  return DoOn(*core_, request.name(),
              [&](const State& state) -> absl::StatusOr<std::optional<v1::DiagnosisEvent>> {
                if (state.feedback_requests.count(request.request_id()) > 0) return std::nullopt;
                if (!TakesAnswers(state)) {
                  return absl::FailedPreconditionError(
                      absl::StrCat(state.name, ": is ", v1::Diagnosis::State_Name(state.lifecycle),
                                   state.lifecycle == v1::Diagnosis::CANCELLED
                                       ? ", which takes no feedback: create a new diagnosis"
                                       : ", feedback is taken when the round has ended"));
                }
                if (!request.allowed_tests().empty()) {
                  GALEN_RETURN_IF_ERROR(MayAllow(request, state, core_->options.tests));
                }
                v1::DiagnosisEvent event = FeedbackEvent(request);
                GALEN_ASSIGN_OR_RETURN(std::optional<v1::Incident> evidence,
                                       EvidenceOf(request, state, core_->options));
                if (evidence.has_value()) {
                  *event.mutable_feedback_received()->mutable_evidence() = *std::move(evidence);
                }
                return event;
              });
}

absl::StatusOr<v1::Diagnosis> Orchestrator::Confirm(const v1::SubmitFeedbackRequest& request) {
  GALEN_ASSIGN_OR_RETURN(
      v1::Diagnosis diagnosis,
      DoOn(*core_, request.name(),
           [&](const State& state) -> absl::StatusOr<std::optional<v1::DiagnosisEvent>> {
             if (state.feedback_requests.count(request.request_id()) > 0) return std::nullopt;
             const bool searching = state.lifecycle == v1::Diagnosis::PENDING ||
                                    state.lifecycle == v1::Diagnosis::RUNNING;
             if (searching || state.report.ByteSizeLong() == 0) {
               return absl::FailedPreconditionError(
                   absl::StrCat(state.name, ": is ", v1::Diagnosis::State_Name(state.lifecycle),
                                ", a cause is confirmed when there is a report"));
             }
             if (request.confirmed_label() == kCauseInWords &&
                 CauseInWords(state.report) == nullptr) {
               return absl::FailedPreconditionError(
                   absl::StrCat(state.name,
                                ": its report states no cause in words; confirm a "
                                "label of the taxonomy"));
             }
             return FeedbackEvent(request);
           }));
  if (!core_->options.on_confirmed) return diagnosis;
  if (const absl::Status passed_on = core_->options.on_confirmed(diagnosis); !passed_on.ok()) {
    return absl::UnavailableError(absl::StrCat(
        request.name(), ": the confirmation is stored, but not passed on: ", passed_on.message(),
        "; repeat it"));
  }
  return diagnosis;
}

absl::StatusOr<v1::Diagnosis> Orchestrator::Escalate(const v1::EscalateDiagnosisRequest& request) {
  GALEN_RETURN_IF_ERROR(ValidateReason(request.reason()));
  return DoOn(*core_, request.name(),
              [&](const State& state) -> absl::StatusOr<std::optional<v1::DiagnosisEvent>> {
                if (IsOver(state)) return IsOverError(state);
                if (state.lifecycle == v1::Diagnosis::ESCALATED) return std::nullopt;
                v1::DiagnosisEvent event;
                event.mutable_escalated()->set_reason(request.reason());
                return event;
              });
}

absl::StatusOr<v1::DeleteDiagnosisResponse> Orchestrator::Delete(
    const v1::DeleteDiagnosisRequest& request) {
  absl::Status refused;
  const absl::Status deleted =
      core_->Delete(request.name(), Core::Deleter::kRequest, [&](const State& state) {
        if (!IsInactive(state)) {
          refused = absl::FailedPreconditionError(
              absl::StrCat(state.name, ": is ", v1::Diagnosis::State_Name(state.lifecycle),
                           ": cancel it before you delete it"));
        }
        return refused;
      });
  if (deleted.ok()) return v1::DeleteDiagnosisResponse();
  if (absl::IsAborted(deleted)) {
    return absl::UnavailableError(absl::StrCat(deleted.message(), "; try again"));
  }
  if (!refused.ok() || !absl::IsFailedPrecondition(deleted)) return deleted;
  return absl::FailedPreconditionError(absl::StrCat(
      deleted.message(), ": cancel it before you delete it, or try again when it has ended"));
}

absl::Status Orchestrator::DeleteByRetention(const std::string& name, MayDelete may) {
  return core_->Delete(name, Core::Deleter::kRetention, may);
}

std::int64_t Orchestrator::WatchNext(const v1::WatchDiagnosisRequest& request, OnEvents on_events) {
  const std::int64_t ticket = core_->watchers.NewTicket();
  Watcher watcher{request.name(), std::max<std::int64_t>(request.after_sequence(), 0),
                  std::move(on_events)};
  core_->Run([core = core_.get(), ticket, held = HeldWatcher(std::move(watcher))]() mutable {
    core->ServeWatcher(ticket, std::move(held).Take());
  });
  return ticket;
}

void Orchestrator::StopWatching(std::int64_t ticket) { core_->watchers.Take(ticket); }

void Orchestrator::EndWatches() {
  for (Watcher& watcher : core_->watchers.Close()) EndWatch(std::move(watcher));
}

absl::Status Orchestrator::Watch(const v1::WatchDiagnosisRequest& request,
                                 const std::function<bool(const v1::DiagnosisEvent&)>& on_event) {
  struct Slot {
    Mutex mu;
    std::condition_variable changed;
    std::optional<absl::StatusOr<EventBatch>> batch ABSL_GUARDED_BY(mu);
  };
  v1::WatchDiagnosisRequest next = request;
  for (;;) {
    auto slot = std::make_shared<Slot>();
    WatchNext(next, [slot](absl::StatusOr<EventBatch> batch) {
      {
        MutexLock lock(slot->mu);
        slot->batch = std::move(batch);
      }
      slot->changed.notify_one();
    });
    absl::StatusOr<EventBatch> batch;
    {
      MutexLock lock(slot->mu);
      while (!slot->batch.has_value()) slot->mu.Wait(slot->changed);
      batch = *std::move(slot->batch);
    }
    GALEN_RETURN_IF_ERROR(batch.status());
    for (const v1::DiagnosisEvent& event : batch->events) {
      if (!on_event(event)) return absl::CancelledError("the watcher has seen enough");
      next.set_after_sequence(event.sequence());
    }
    if (batch->ended) return absl::OkStatus();
  }
}

}  // namespace galen::orchestrator
