#ifndef COMMON_OBSERVABILITY_METRICS_CATALOGUE_H_
#define COMMON_OBSERVABILITY_METRICS_CATALOGUE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "prometheus/metric_family.h"

namespace galen::metrics {

// A metric that a program may export, with its labels and the programs that have it. Tests compare
// docs/observability.md, the dashboard, the alert rules and every exported family with this list.
struct Description {
  absl::string_view name;
  prometheus::MetricType type;
  absl::string_view help;
  absl::string_view labels;  // separated by commas; "" none
  absl::string_view of;      // the programs that have it
};

using prometheus::MetricType;

inline constexpr absl::string_view kEveryService = "every service";
inline constexpr absl::string_view kOrchestrator = "orchestrator";
inline constexpr absl::string_view kExecution = "execution";
inline constexpr absl::string_view kNode = "node";
inline constexpr absl::string_view kWatch = "watch";
inline constexpr absl::string_view kGateway = "gateway";
inline constexpr absl::string_view kReasoners = "summarization, planning, reflection, conclusion";
inline constexpr absl::string_view kAskers = "planning, reflection, conclusion, with `--llm`";

// ---- calls
inline constexpr Description kServerCalls = {
    "galen_rpc_server_calls_total", MetricType::Counter,
    "Calls that were answered, by status code; in one process also those between its services",
    "rpc_service,rpc_method,code", kEveryService};
inline constexpr Description kServerInFlight = {"galen_rpc_server_in_flight", MetricType::Gauge,
                                                "Calls that are being answered",
                                                "rpc_service,rpc_method", kEveryService};
inline constexpr Description kServerSeconds = {
    "galen_rpc_server_seconds", MetricType::Histogram,
    "Time from a call's arrival to its status; of a stream, as long as it lasted",
    "rpc_service,rpc_method", kEveryService};
inline constexpr Description kClientCalls = {"galen_rpc_client_calls_total", MetricType::Counter,
                                             "Calls to other processes that ended, by status code",
                                             "rpc_service,rpc_method,code", kEveryService};
inline constexpr Description kClientInFlight = {"galen_rpc_client_in_flight", MetricType::Gauge,
                                                "Calls to other processes that wait for their end",
                                                "rpc_service,rpc_method", kEveryService};
inline constexpr Description kClientSeconds = {
    "galen_rpc_client_seconds", MetricType::Histogram,
    "Time from a call to another process to its end; of a stream, as long as it lasted",
    "rpc_service,rpc_method", kEveryService};
inline constexpr Description kQueued = {
    "galen_queue_depth", MetricType::Gauge,
    "Tasks that wait for a thread; calls beyond the queue's length are refused", "queue",
    kEveryService};

// ---- gateway
inline constexpr Description kHttpRequests = {
    "galen_http_requests_total", MetricType::Counter,
    "Requests over HTTP that were answered, by the method of the API and its status code",
    "rpc_service,rpc_method,code", kGateway};
inline constexpr Description kHttpInFlight = {"galen_http_in_flight", MetricType::Gauge,
                                              "Requests over HTTP that are being answered",
                                              "rpc_service,rpc_method", kGateway};
inline constexpr Description kHttpSeconds = {
    "galen_http_seconds", MetricType::Histogram,
    "Time from a request over HTTP to its answer; of a stream, as long as it lasted",
    "rpc_service,rpc_method", kGateway};
inline constexpr Description kHttpConnections = {"galen_http_connections", MetricType::Gauge,
                                                 "Connections of HTTP clients that are open", "",
                                                 kGateway};
inline constexpr Description kHttpAccepted = {"galen_http_connections_total", MetricType::Counter,
                                              "Connections of HTTP clients that were accepted", "",
                                              kGateway};
inline constexpr Description kHttpCut = {
    "galen_http_connections_cut_total", MetricType::Counter,
    "Connections that were closed on clients: too slow, or to make room for newer ones", "why",
    kGateway};
inline constexpr Description kHttpRefused = {
    "galen_http_refused_total", MetricType::Counter,
    "Requests that were refused before they were read whole: too large, or not HTTP", "", kGateway};

inline constexpr Description kHttpUnauthenticated = {
    "galen_http_unauthenticated_total", MetricType::Counter,
    "Requests whose credential was refused, or that brought none", "", kGateway};
inline constexpr Description kUnsealed = {
    "galen_store_unsealed_total", MetricType::Counter,
    "Records of the store (API keys, decisions about actions) that Galen did not write, and that "
    "were refused",
    "", kGateway};

inline constexpr Description kWebhookDeliveries = {
    "galen_webhook_deliveries_total", MetricType::Counter,
    "Deliveries of webhooks, by what became of them", "endpoint,outcome", kGateway};
inline constexpr Description kWebhookSeconds = {"galen_webhook_seconds", MetricType::Histogram,
                                                "Time from a delivery of a webhook to its answer",
                                                "", kGateway};
inline constexpr Description kWebhookLast = {
    "galen_webhook_last_delivery_timestamp_seconds", MetricType::Gauge,
    "When the last delivery came that proved its origin, seconds since 1970", "endpoint", kGateway};
inline constexpr Description kWebhookWaiting = {
    "galen_webhook_events_waiting", MetricType::Gauge,
    "Stored events whose diagnosis the orchestrator has not taken yet", "", kGateway};
inline constexpr Description kWebhookLost = {
    "galen_webhook_events_refused_total", MetricType::Counter,
    "Stored events whose diagnosis the orchestrator refused for good", "", kGateway};
inline constexpr Description kWebhookPolls = {
    "galen_webhook_polls_total", MetricType::Counter,
    "Looks at a sender's own interface for events that never came", "endpoint,outcome", kGateway};

inline constexpr Description kTickets = {
    "galen_tickets_total", MetricType::Counter,
    "Requests to ticket systems, by what they were for and what became of them",
    "target,step,outcome", kGateway};
inline constexpr Description kTicketsDue = {
    "galen_tickets_due", MetricType::Gauge,
    "Diagnoses not yet reported to a ticket system, as last seen", "target", kGateway};
inline constexpr Description kTicketsOldest = {
    "galen_tickets_oldest_due_seconds", MetricType::Gauge,
    "How long the oldest of these has been waiting", "target", kGateway};
inline constexpr Description kTicketsDead = {"galen_tickets_dead_total", MetricType::Counter,
                                             "Dead letters that were made here", "target",
                                             kGateway};

// ---- orchestrator
inline constexpr Description kDiagnoses = {
    "galen_diagnoses", MetricType::Gauge,
    "Diagnoses that run here, and that wait here for a place, by tenant", "state,tenant",
    kOrchestrator};
inline constexpr Description kDiagnosesCreated = {
    "galen_diagnoses_created_total", MetricType::Counter, "Diagnoses that were accepted here",
    "tenant", kOrchestrator};
inline constexpr Description kDiagnosesShed = {
    "galen_diagnoses_shed_total", MetricType::Counter,
    "Diagnoses that were refused because too many of their tenant wait", "tenant", kOrchestrator};
inline constexpr Description kDiagnosesEnded = {
    "galen_diagnoses_ended_total", MetricType::Counter,
    "Diagnoses that came to rest here, by the state in which they did", "state", kOrchestrator};
inline constexpr Description kDiagnosisSeconds = {"galen_diagnosis_seconds", MetricType::Histogram,
                                                  "Time from a diagnosis's creation to its rest",
                                                  "state", kOrchestrator};
inline constexpr Description kDiagnosesDeleted = {
    "galen_diagnoses_deleted_total", MetricType::Counter,
    "Diagnoses that were deleted here, by their retention or by a request", "by", kOrchestrator};
inline constexpr Description kStepFailures = {"galen_step_failures_total", MetricType::Counter,
                                              "Attempts of a step of a diagnosis that failed",
                                              "step", kOrchestrator};
inline constexpr Description kLeasesHeld = {"galen_leases_held", MetricType::Gauge,
                                            "Leases of diagnoses that this orchestrator holds", "",
                                            kOrchestrator};
inline constexpr Description kLeasesTaken = {"galen_leases_taken_total", MetricType::Counter,
                                             "Leases of diagnoses that were taken", "",
                                             kOrchestrator};
inline constexpr Description kLeasesLost = {
    "galen_leases_lost_total", MetricType::Counter,
    "Leases that another orchestrator took while this one worked", "", kOrchestrator};
inline constexpr Description kAppendSeconds = {
    "galen_store_append_seconds", MetricType::Histogram,
    "Time of one append to a diagnosis's event log, until it is durable", "", kOrchestrator};
inline constexpr Description kAppendFailures = {
    "galen_store_append_failures_total", MetricType::Counter,
    "Appends to event logs that the store refused", "", kOrchestrator};

// ---- checks
inline constexpr Description kNodeResults = {"galen_node_check_results_total", MetricType::Counter,
                                             "Results of checks that this node executor gave",
                                             "check,status", kNode};
inline constexpr Description kNodeCheckSeconds = {"galen_node_check_seconds", MetricType::Histogram,
                                                  "Time that a check ran on this node", "check",
                                                  kNode};
inline constexpr Description kNodeStuck = {"galen_node_checks_stuck", MetricType::Gauge,
                                           "Checks that were given up and have not come back", "",
                                           kNode};
inline constexpr Description kExecutionResults = {
    "galen_execution_check_results_total", MetricType::Counter,
    "Results of checks that execution passed on, its own ERRORs for silent nodes among them",
    "check,status", kExecution};
inline constexpr Description kNodesKnown = {"galen_execution_nodes", MetricType::Gauge,
                                            "Node executors of live nodes that are known", "",
                                            kExecution};
inline constexpr Description kNodesSilent = {
    "galen_execution_nodes_silent", MetricType::Gauge,
    "Nodes that did not answer their last call and are left alone for a while", "", kExecution};

// ---- watch
inline constexpr Description kHealthEvents = {"galen_watch_events_total", MetricType::Counter,
                                              "Health events that were made durable here", "",
                                              kWatch};
inline constexpr Description kHealthWaiting = {"galen_watch_events_waiting", MetricType::Gauge,
                                               "Health events that wait for the store", "", kWatch};
inline constexpr Description kOutbreaks = {"galen_watch_diagnoses_total", MetricType::Counter,
                                           "Diagnoses that were opened here for grave events", "",
                                           kWatch};
inline constexpr Description kWatchLeads = {
    "galen_watch_leads", MetricType::Gauge,
    "1 where grave events are brought together: at one of those that share a store", "", kWatch};
inline constexpr Description kEarlyDiagnoses = {
    "galen_watch_early_diagnoses_total", MetricType::Counter,
    "Diagnoses that were opened here for what people had not noticed", "", kWatch};
inline constexpr Description kEarlyMinutes = {
    "galen_watch_early_minutes_total", MetricType::Counter,
    "Minutes of telemetry that were read here", "", kWatch};
inline constexpr Description kEarlyWithheld = {
    "galen_watch_early_withheld", MetricType::Gauge,
    "Alarms that the budget of false ones kept back, ever", "", kWatch};
inline constexpr Description kEarlyLeads = {
    "galen_watch_early_leads", MetricType::Gauge,
    "1 where telemetry is read for early warning: at one of those that share a store", "", kWatch};
inline constexpr Description kEarlyPredicted = {
    "galen_watch_early_predicted_jobs", MetricType::Gauge,
    "Jobs of --early_jobs of which the performance model says what they should achieve", "",
    kWatch};
inline constexpr Description kEarlyUnread = {
    "galen_watch_early_unread_job_files", MetricType::Gauge,
    "1 for each file of --early_jobs that cannot be read or predicted", "file", kWatch};

// ---- reasoners
inline constexpr Description kReasonerCalls = {
    "galen_reasoner_calls_total", MetricType::Counter,
    "Questions that were answered, by rules or by a model; by none: the answer was an error",
    "question,by", kReasoners};
inline constexpr Description kReasonerSeconds = {"galen_reasoner_seconds", MetricType::Histogram,
                                                 "Time that the answer to a question took",
                                                 "question", kReasoners};

// ---- language models
inline constexpr Description kLlmCalls = {"galen_llm_calls_total", MetricType::Counter,
                                          "Calls of the endpoint, each with its retries", "use",
                                          kAskers};
inline constexpr Description kLlmAnswers = {"galen_llm_answers_total", MetricType::Counter,
                                            "Calls that brought an answer", "use", kAskers};
inline constexpr Description kLlmRequests = {"galen_llm_requests_total", MetricType::Counter,
                                             "Requests sent", "use", kAskers};
inline constexpr Description kLlmRetries = {"galen_llm_retries_total", MetricType::Counter,
                                            "Requests sent again after a failure", "use", kAskers};
inline constexpr Description kLlmHedges = {"galen_llm_hedges_total", MetricType::Counter,
                                           "Requests sent again because no first byte had arrived",
                                           "use", kAskers};
inline constexpr Description kLlmFailures = {"galen_llm_failures_total", MetricType::Counter,
                                             "Requests that brought no answer", "use,kind",
                                             kAskers};
inline constexpr Description kLlmRefused = {"galen_llm_refused_total", MetricType::Counter,
                                            "Calls that the open circuit breaker refused", "use",
                                            kAskers};
inline constexpr Description kLlmOpened = {"galen_llm_circuit_opened_total", MetricType::Counter,
                                           "Times that the circuit breaker opened", "use", kAskers};
inline constexpr Description kLlmCircuit = {"galen_llm_circuit_state", MetricType::Gauge,
                                            "1 for the state of the circuit breaker", "use,state",
                                            kAskers};
inline constexpr Description kLlmTokens = {"galen_llm_tokens_total", MetricType::Counter,
                                           "Tokens as the endpoint counts them", "use,kind",
                                           kAskers};
inline constexpr Description kLlmAnswerSeconds = {"galen_llm_answer_seconds", MetricType::Histogram,
                                                  "Time of the requests that brought an answer",
                                                  "use", kAskers};
inline constexpr Description kLlmQuestions = {
    "galen_llm_questions_total", MetricType::Counter,
    "Questions that a model was to answer, by what became of them", "outcome", kAskers};
inline constexpr Description kLlmCached = {"galen_llm_cached_answers_total", MetricType::Counter,
                                           "Questions answered from the cache", "", kAskers};
inline constexpr Description kLlmRepaired = {
    "galen_llm_repaired_answers_total", MetricType::Counter,
    "Questions whose first answer was refused and whose second one was taken", "", kAskers};
inline constexpr Description kLlmCost = {"galen_llm_cost_total", MetricType::Counter,
                                         "Cost of the answers by the price list, in its currency",
                                         "", kAskers};

// ---- the process, under the names that Prometheus' own libraries use
inline constexpr Description kProcessCpu = {"process_cpu_seconds_total", MetricType::Counter,
                                            "Processor time of this process", "", kEveryService};
inline constexpr Description kProcessMemory = {"process_resident_memory_bytes", MetricType::Gauge,
                                               "Memory of this process that is resident", "",
                                               kEveryService};
inline constexpr Description kProcessFiles = {"process_open_fds", MetricType::Gauge,
                                              "File descriptors that are open", "", kEveryService};
inline constexpr Description kProcessMostFiles = {
    "process_max_fds", MetricType::Gauge, "File descriptors that may be open", "", kEveryService};
inline constexpr Description kProcessThreads = {"process_threads", MetricType::Gauge,
                                                "Threads of this process", "", kEveryService};
inline constexpr Description kProcessStart = {"process_start_time_seconds", MetricType::Gauge,
                                              "When this process began, seconds since 1970", "",
                                              kEveryService};

// All of the above, in that order.
absl::Span<const Description> Catalogue();

// "counter", "gauge" or "histogram".
absl::string_view TypeName(MetricType type);

}  // namespace galen::metrics

#endif  // COMMON_OBSERVABILITY_METRICS_CATALOGUE_H_
