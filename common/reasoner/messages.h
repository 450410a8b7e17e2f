#ifndef COMMON_REASONER_MESSAGES_H_
#define COMMON_REASONER_MESSAGES_H_

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/evidence_view.h"
#include "galen/v1/evidence.pb.h"

// What the signals of an incident say of a leaf. All pure.
namespace galen::reasoner {

// A signal of the fault itself, not of what follows from it.
bool IsDirect(const galen::v1::Signal& signal);

// A strong or decisive message in a log that this leaf and no other would leave, or nullptr. The
// words of a person do not count; whose log it is does not matter, as a rank tells of its peers.
const galen::v1::Signal* StrongMessage(const EvidenceView& evidence,
                                       const knowledge::v1::Label& leaf);

// The decisive message that a log on `node` holds of this leaf and no other, or nullptr.
const galen::v1::Signal* DecisiveMessage(const EvidenceView& evidence,
                                         const knowledge::v1::Label& leaf, absl::string_view node);

// Log-odds that the signals of `node` and those of no node add to a verdict: 0 to 1.5, each signal
// once.
double SignalLogOdds(const EvidenceView& evidence, const knowledge::v1::Label& leaf,
                     absl::string_view node);
// What one strong signal adds to them.
inline constexpr double kStrongSignal = 0.5;

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_MESSAGES_H_
