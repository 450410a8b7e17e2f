#include "common/observability/metrics/catalogue.h"

namespace galen::metrics {
namespace {

constexpr Description kAll[] = {kServerCalls,      kServerInFlight,    kServerSeconds,
                                kClientCalls,      kClientInFlight,    kClientSeconds,
                                kQueued,           kHttpRequests,      kHttpInFlight,
                                kHttpSeconds,      kHttpConnections,   kHttpAccepted,
                                kHttpCut,          kHttpRefused,       kHttpUnauthenticated,
                                kUnsealed,         kWebhookDeliveries, kWebhookSeconds,
                                kWebhookLast,      kWebhookWaiting,    kWebhookLost,
                                kWebhookPolls,     kTickets,           kTicketsDue,
                                kTicketsOldest,    kTicketsDead,       kDiagnoses,
                                kDiagnosesCreated, kDiagnosesShed,     kDiagnosesEnded,
                                kDiagnosisSeconds, kDiagnosesDeleted,  kStepFailures,
                                kLeasesHeld,       kLeasesTaken,       kLeasesLost,
                                kAppendSeconds,    kAppendFailures,    kNodeResults,
                                kNodeCheckSeconds, kNodeStuck,         kExecutionResults,
                                kNodesKnown,       kNodesSilent,       kHealthEvents,
                                kHealthWaiting,    kOutbreaks,         kWatchLeads,
                                kEarlyDiagnoses,   kEarlyMinutes,      kEarlyWithheld,
                                kEarlyLeads,       kEarlyPredicted,    kEarlyUnread,
                                kReasonerCalls,    kReasonerSeconds,   kLlmCalls,
                                kLlmAnswers,       kLlmRequests,       kLlmRetries,
                                kLlmHedges,        kLlmFailures,       kLlmRefused,
                                kLlmOpened,        kLlmCircuit,        kLlmTokens,
                                kLlmAnswerSeconds, kLlmQuestions,      kLlmCached,
                                kLlmRepaired,      kLlmCost,           kProcessCpu,
                                kProcessMemory,    kProcessFiles,      kProcessMostFiles,
                                kProcessThreads,   kProcessStart};

}  // namespace

absl::Span<const Description> Catalogue() { return kAll; }

absl::string_view TypeName(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    default:
      return "untyped";
  }
}

}  // namespace galen::metrics
