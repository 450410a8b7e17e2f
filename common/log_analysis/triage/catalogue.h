#ifndef COMMON_LOG_ANALYSIS_TRIAGE_CATALOGUE_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_CATALOGUE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::triage {

// A number of a line that reports a step.
enum class Quantity {
  kStep,
  kTotal,
  kElapsed,       // clock of the run: "1:02:03", "15:19"
  kSeconds,       // of a step
  kMilliseconds,  // of a step
  kTokensPerGpu,  // per second
  kTokens,        // per second
  kSamples,       // per second
  kTflops,        // per GPU and second
  kMfu,           // %
  kBatch,         // samples of a step, of all GPUs
  kLoss,
};
inline constexpr int kQuantities = 12;

struct StepField {
  Quantity quantity = Quantity::kStep;
  std::vector<std::string> after;   // the first of these that stands in the line
  std::vector<std::string> before;  // else the number stands right before the first of these
};

// How a program reports a step (knowledge/triage/formats.yaml says what each field means).
struct StepFormat {
  std::string name;
  std::string framework;
  std::string source;
  std::string line;  // expression of the lines
  std::vector<StepField> fields;
  std::int64_t first_step = -1;  // -1: not known
  bool interval = false;
  bool last_of_line = false;
  bool declared_total = false;
  bool serving = false;
  bool any_order = false;
  std::string bar;  // of a bar's name: expression of those that are of steps; "": any
};

enum class FactKind {
  kTotalSteps,
  kCheckpointPeriod,
  kSequenceLength,
  kWorldSize,
  kCheckpointSaved,
  kRestored,
  kFreshStart,
  kTrainingBegins,
  kFinished,
  kPlannedEnd,
  kSummary,
  kRunning,
  kEnded,
  kJob,
  kNode,
  kPartition,
  kPod,
  kNamespace,
  kExit,
  kRankFile,
  kAccused,
  kHeartbeatTimeout,
  kTaskHost,
  kBegins,
  kTrains,
};

struct FactPattern {
  std::string name;
  FactKind kind = FactKind::kJob;
  std::string pattern;
  std::string source;
};

enum class Relation { kCause, kUnspecific, kMechanism, kConsequence, kNote };
enum class Ends { kNothing, kFailed, kCancelled };

struct FailureClass {
  std::string name;
  std::string title;
  Relation relation = Relation::kCause;
  Ends ends = Ends::kNothing;
  std::string stage;                    // "": told by the steps
  std::vector<std::string> signatures;  // of the check log.triage
  std::vector<std::string> patterns;
  std::vector<std::string> next;  // what to look at
};

struct Limits {
  double stall_steps = 10;
  absl::Duration stall = absl::Minutes(5);
  absl::Duration setup = absl::Minutes(30);
  std::int64_t warmup_steps = 5;
  double rate_drop_percent = 10;
};

// What a triage goes by: knowledge/triage.
struct Catalogue {
  std::vector<StepFormat> formats;
  std::vector<FactPattern> facts;
  std::vector<FailureClass> classes;
  std::vector<std::string> harmless;
  std::map<int, std::string> exits;  // by code
  Limits limits;

  // Null when there is none of that name.
  const FailureClass* FindClass(absl::string_view name) const;
};

// Classes that are found by numbers, which every catalogue has.
inline constexpr absl::string_view kHang = "hang";
inline constexpr absl::string_view kRateDrop = "rate_drop";
inline constexpr absl::string_view kLossNotFinite = "loss_not_finite";

// Adds what one file says: an entry takes the place of one of the same name, a new one goes before
// those that were there. INVALID_ARGUMENT names file, line and remedy; expressions are compiled.
absl::Status AddTo(Catalogue& catalogue, absl::string_view text, absl::string_view file);

// triage/*.yaml of the knowledge directories, later ones on top of earlier ones. NOT_FOUND: none
// has any; INVALID_ARGUMENT as AddTo(), or when one of the classes above is missing.
absl::StatusOr<Catalogue> LoadCatalogue(const std::vector<std::string>& directories);

// What a signature of the check log.triage is called, and its expression, in the check's order.
using Signatures = std::vector<std::pair<std::string, std::string>>;

// As words.
absl::string_view ToString(Relation relation);
absl::string_view ToString(Quantity quantity);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_CATALOGUE_H_
