#ifndef SERVICES_ORCHESTRATOR_DIAGNOSIS_STATE_H_
#define SERVICES_ORCHESTRATOR_DIAGNOSIS_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/diagnosis_event.pb.h"
#include "services/orchestrator/investigation_state.h"

namespace galen::orchestrator {

// Rounds of a diagnosis; one that ends the last without a cause is escalated.
inline constexpr int kMaxRounds = 5;
// Distinct causes that history, or an answer at once, may propose in a round.
inline constexpr int kHistoryCauses = 2;
// That execution may have run before anything is proposed.
inline constexpr int kMaxOpeningChecks = 64;
// Root causes that a search which lists them all takes; a taxonomy that people can read has fewer.
inline constexpr int kMaxCauses = 10'000;

// Outcome of a call so far.
struct CallRecord {
  int attempts = 0;  // failed ones
  bool final = false;
  google::rpc::Status error;  // of the last attempt
  absl::Time failed_at = absl::InfinitePast();
};

// A test that loads devices of these nodes, and that an answer allowed.
struct AllowedTest {
  std::string check;
  std::vector<std::string> nodes;
};

// One round of the search: feedback starts another, with nothing but the evidence and the
// hypotheses kept.
struct Round {
  int number = 1;
  bool summarized = false;
  bool told_read = true;  // what came with the answer, by checks; true where nothing did
  bool history_proposed = false;
  std::vector<std::string> history;  // labels proposed from history
  bool history_confirmed = false;    // one of them was
  int screens = 0;                   // answers of the screening so far
  v1::Screened screened;             // the last of them
  bool named_at_once = false;
  std::vector<std::string> at_once;  // labels named in one question, most likely first
  bool causes_listed = false;
  std::vector<std::string> causes;  // every root cause
  // Memory of the branches that the search is in, by inner label ("" is the root): dropped on
  // leaving.
  std::map<std::string, v1::ChildrenRanked> rankings;
  std::map<std::string, int> known_causes;  // confirmed ones that each of the rankings knew of
  int confirmed = 0;                        // verdicts of this round that confirmed a cause
  std::set<std::string> left;               // inner labels that the search has left
  std::set<std::string> judged;             // ids of the judge effects that are answered
  bool critiqued = false;
  std::vector<std::string> critique;  // labels that it added
  Investigation investigation;
  bool explored = false;
  std::vector<v1::Suggestion> suggestions;
  std::vector<v1::Question> questions;  // for a person
  std::vector<v1::Question> tests;      // that wait for permission
  std::vector<AllowedTest> allowed;     // those that the answer before this round allowed
  bool concluded = false;
  std::map<std::string, CallRecord> calls;  // by effect id
  std::vector<std::string> notes;           // what limited the search, one sentence each
};

// A hypothesis with what the search must know of it.
struct TrackedHypothesis {
  v1::Hypothesis hypothesis;
  std::vector<std::string> checks;    // that decide it
  std::size_t judged_by = 0;          // how many results had come when its verdict was given
  std::optional<v1::Verdict> before;  // the verdict that the last answer put in question
};

// Evidence of a customer's answer, besides its words.
struct SuppliedEvidence {
  std::string source;  // "feedback/2": cited by this name
  v1::Incident evidence;
};

// A diagnosis as the fold of its events: the same events give the same state, always.
struct State {
  std::string name;
  std::string strategy;
  std::string request_id;
  v1::Incident incident;
  v1::Diagnosis::State lifecycle = v1::Diagnosis::STATE_UNSPECIFIED;
  std::int64_t last_sequence = 0;
  google::protobuf::Timestamp create_time;
  google::protobuf::Timestamp update_time;
  std::string trace_id;  // of the request that created it
  std::string asker;     // credential of the last request that made it search, "" unknown

  // Shared with the calls that ask about them, which may outlive a change; never null.
  std::shared_ptr<const v1::Summary> summary = std::make_shared<v1::Summary>();
  std::vector<std::string> nodes;           // whose checks run
  std::vector<std::string> opening_checks;  // that run before anything is proposed
  bool opening_finished = true;             // they have, or there are none
  std::set<std::string> node_set;           // the same
  using Results = std::map<std::string, std::shared_ptr<const v1::CheckResult>>;  // by id
  Results results;           // of this look at the machines, or of their capture
  Results earlier;           // of looks before the last answer: nothing of them refutes
  Results supplied_results;  // read from what the customer gave
  // The results of all sources merged: the basis of verdicts.
  Results evidence;
  Results evidence_before;              // the same when the last answer came
  std::size_t results_seen = 0;         // results of any kind, so far
  std::set<std::string> active_checks;  // that ran by permission: never again without it
  // How many of `nodes` have a result of the check: lets a batch of any size be asked in no time.
  std::map<std::string, std::int64_t> done;
  bool batch_open = false;  // results came in since the last ChecksFinished

  std::vector<TrackedHypothesis> hypotheses;    // in the order of their proposal
  std::map<std::string, std::size_t> index_of;  // label to its place in `hypotheses`
  std::map<std::string, double> belief;         // inner labels: share of belief among all branches

  std::vector<std::string> feedback;        // the words of each answer, oldest first
  std::vector<v1::Exchange> dialogue;       // the same answers, whole
  std::vector<SuppliedEvidence> supplied;   // what came with them
  std::string escalation;                   // why it was given up, while it is
  std::set<std::string> feedback_requests;  // idempotency keys that were used
  std::optional<v1::Confirmation> confirmation;
  v1::Report report;  // of the last conclusion
  std::vector<v1::ReasoningStep> reasoning;
  google::rpc::Status error;
  Round round;

  // The models' spending, and all their questions, oldest first.
  v1::Spending spending;
  std::vector<v1::Reasoned> reasoned;
};

// Takes `event` into `state`. Total: an event that makes no sense here changes only what it says
// of itself. Pure.
void Apply(State& state, const v1::DiagnosisEvent& event);

// Evidence id of a check result.
std::string ResultId(absl::string_view check, absl::string_view node);

// Its checks look at machines as they are now, not at what was captured.
bool IsLive(const State& state);

// No event will follow unless somebody adds something: succeeded, failed, cancelled, or escalated
// with its report written.
bool IsOver(const State& state);
// Over, or waiting for the customer: nobody needs to run it now.
bool IsInactive(const State& state);

// The hypothesis of `label`, or null.
const TrackedHypothesis* FindHypothesis(const State& state, absl::string_view label);
bool AnyConfirmed(const State& state);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_DIAGNOSIS_STATE_H_
