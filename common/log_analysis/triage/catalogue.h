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

// A number in a line that reports a step.
enum class Quantity {
  kStep,
  kTotal,
  kElapsed,       // clock of the run: "1:02:03", "15:19"; or seconds
  kSeconds,       // of a step
  kMilliseconds,  // of a step
  kTokensPerGpu,  // per second
  kTokens,        // per second
  kSamples,       // per second
  kTflops,        // per GPU and second
  kMfu,           // %
  kBatch,         // samples of a step, of all GPUs
  kLoss,
  kEpoch,   // whose step it is: steps are then counted over all epochs
  kEpochs,  // number of all epochs
};
inline constexpr int kQuantities = 14;

struct StepField {
  Quantity quantity = Quantity::kStep;
  std::vector<std::string> after;   // the number follows the first of these in the line
  std::vector<std::string> before;  // otherwise it directly precedes the first of these
};

// A program's report format of a step (knowledge/triage/formats.yaml describes the fields).
struct StepFormat {
  std::string name;
  std::string framework;
  std::string source;
  std::string line;  // expression of the lines
  std::vector<StepField> fields;
  std::int64_t first_step = -1;  // -1: unknown
  std::int64_t first_epoch = 1;  // number of the first one
  bool interval = false;
  bool last_of_line = false;
  bool all_fields = false;
  bool declared_total = false;
  bool serving = false;
  bool any_order = false;
  std::string bar;  // expression for the names of progress bars of steps; "": any name
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
  std::string stage;                    // "": derived from the steps
  std::vector<std::string> signatures;  // of the check log.triage
  std::vector<std::string> patterns;
  std::vector<std::string> next;  // next steps for a person
};

struct Limits {
  double stall_steps = 10;
  absl::Duration stall = absl::Minutes(5);
  absl::Duration setup = absl::Minutes(30);
  std::int64_t warmup_steps = 5;
  double rate_drop_percent = 10;
};

// The knowledge of a triage: knowledge/triage.
struct Catalogue {
  std::vector<StepFormat> formats;
  std::vector<FactPattern> facts;
  std::vector<FailureClass> classes;
  std::vector<std::string> harmless;
  std::map<int, std::string> exits;  // by code
  Limits limits;

  // Null: there is no class of that name.
  const FailureClass* FindClass(absl::string_view name) const;
};

// Classes that are derived from numbers. Every catalogue has them.
inline constexpr absl::string_view kHang = "hang";
inline constexpr absl::string_view kRateDrop = "rate_drop";
inline constexpr absl::string_view kLossNotFinite = "loss_not_finite";

// Adds the entries of one file: an entry replaces one of the same name; new ones are inserted
// first. INVALID_ARGUMENT names file, line and remedy; expressions are compiled.
absl::Status AddTo(Catalogue& catalogue, absl::string_view text, absl::string_view file);

// Loads triage/*.yaml of the knowledge directories; later directories override earlier ones.
// NOT_FOUND: no directory has such files; INVALID_ARGUMENT as AddTo(), or one of the classes above
// is missing.
absl::StatusOr<Catalogue> LoadCatalogue(const std::vector<std::string>& directories);

// Names and expressions of the signatures of the check log.triage, in the check's order.
using Signatures = std::vector<std::pair<std::string, std::string>>;

// As words.
absl::string_view ToString(Relation relation);
absl::string_view ToString(Quantity quantity);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_CATALOGUE_H_
