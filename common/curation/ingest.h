#ifndef COMMON_CURATION_INGEST_H_
#define COMMON_CURATION_INGEST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/curation/proposal.h"
#include "common/curation/tickets.h"
#include "common/knowledge/knowledge.h"

namespace galen::curation {

// The label of a ticket in the first pass, and the reason.
struct Labelling {
  enum class How {
    kNamed,   // the ticket names a leaf of the taxonomy
    kJudged,  // its words and messages point to one
    kNew,     // not any: it takes part in the proposal of a label
    kKnown,   // it is already in the history
  };
  How how = How::kNew;
  std::string label;      // the leaf; for kNew the nearest one
  double confidence = 0;  // 0 to 1: the share of this leaf in the evidence for any leaf
  std::string reason;
};

// The common features of similar tickets, in words for the proposal of a label.
struct CommonCause {
  std::string known;  // a leaf that they report according to the second pass; "" none
  std::string title;  // "" if there are no better words than the tickets' own; so the next ones
  std::string description;
  std::vector<std::string> symptoms;
  std::string by;  // origin of the words, for the reviewer
};

// Names the likely cause of a ticket: built in, or a model behind the same interface. Thread-safe.
class Labeller {
 public:
  virtual ~Labeller() = default;
  // The answer is kJudged or kNew; `label` is a leaf of the taxonomy, or "" if none is near.
  virtual absl::StatusOr<Labelling> Label(const Ticket& ticket) const = 0;
  // Describes tickets that fit no leaf (at least one). The built-in labeller adds no words of its
  // own.
  virtual CommonCause Describe(const std::vector<const Ticket*>& tickets) const {
    static_cast<void>(tickets);
    return {};
  }
  // Steps of the ticket that verified its cause, in addition to those that its words show; copied
  // from it.
  virtual std::vector<std::string> Steps(const Ticket& ticket) const {
    static_cast<void>(ticket);
    return {};
  }
};

// Labels by the known messages in a ticket and by its similarity to past incidents and to the
// descriptions of leaves. Deterministic, offline. `knowledge` must outlive it. INVALID_ARGUMENT: a
// signal does not compile.
absl::StatusOr<std::unique_ptr<const Labeller>> MakeBuiltinLabeller(
    const knowledge::Knowledge& knowledge);

struct IngestOptions {
  std::string file;   // where the tickets come from, for people
  std::string today;  // YYYY-MM-DD
};

struct Ingested {
  std::vector<Labelling> labellings;  // of each ticket
  // First past incidents, then new labels with the incidents that led to them.
  std::vector<Proposal> proposals;
  std::vector<std::string> remarks;
};

// Makes proposals of past tickets in two passes, as the paper AidAI builds its taxonomy (section
// 4.1): each ticket is labelled by itself. Then the tickets that fit no leaf are grouped,
// equivalent groups are merged, and each group is compared with the taxonomy once more as a whole.
// A group that is still new becomes the proposal of a label with a description, symptoms, the steps
// that verified it and, where checks do the same, rules. Answers of a labeller outside the taxonomy
// are ignored: a label has to be a leaf, a step has to occur in its ticket. Nothing is written.
// Errors are the labeller's.
absl::StatusOr<Ingested> Ingest(const std::vector<Ticket>& tickets,
                                const knowledge::Knowledge& knowledge, const Labeller& labeller,
                                const IngestOptions& options);

}  // namespace galen::curation

#endif  // COMMON_CURATION_INGEST_H_
