#include "common/reasoner/messages.h"

#include <algorithm>
#include <set>

namespace galen::reasoner {
namespace {

using galen::v1::Signal;
using knowledge::v1::Label;

constexpr double kDecisive = 1.0;
constexpr double kWeak = 0.1;
constexpr double kMost = 1.5;

// A log says what this leaf and no other would make it say.
bool Tells(const Signal& signal, const Label& leaf) {
  return SpeaksFor(signal, leaf) && signal.labels_size() == 1 && IsDirect(signal) &&
         signal.where() != galen::v1::DESCRIPTION;
}

}  // namespace

bool SpeaksFor(const Signal& signal, const Label& leaf) {
  return std::find(signal.labels().begin(), signal.labels().end(), leaf.label()) !=
         signal.labels().end();
}

bool IsDirect(const Signal& signal) {
  return signal.role() == galen::v1::PRIMARY || signal.role() == galen::v1::SIGNAL_ROLE_UNSPECIFIED;
}

const Signal* StrongMessage(const EvidenceView& evidence, const Label& leaf) {
  for (const Signal& signal : evidence.summary().signals()) {
    if (Tells(signal, leaf) && signal.strength() >= galen::v1::STRONG) return &signal;
  }
  return nullptr;
}

const Signal* DecisiveMessage(const EvidenceView& evidence, const Label& leaf,
                              absl::string_view node) {
  for (const Signal& signal : evidence.summary().signals()) {
    if (Tells(signal, leaf) && signal.strength() == galen::v1::DECISIVE &&
        (signal.node().empty() || signal.node() == node)) {
      return &signal;
    }
  }
  return nullptr;
}

double SignalLogOdds(const EvidenceView& evidence, const Label& leaf, absl::string_view node) {
  std::set<absl::string_view> counted;
  double sum = 0;
  for (const Signal& signal : evidence.summary().signals()) {
    if (!SpeaksFor(signal, leaf) || (!signal.node().empty() && signal.node() != node)) continue;
    if (!counted.insert(signal.signal()).second) continue;
    double weight = kWeak;
    if (signal.strength() == galen::v1::DECISIVE) weight = kDecisive;
    if (signal.strength() == galen::v1::STRONG) weight = kStrongSignal;
    sum += IsDirect(signal) ? weight : weight / 2;
  }
  return std::min(sum, kMost);
}

}  // namespace galen::reasoner
