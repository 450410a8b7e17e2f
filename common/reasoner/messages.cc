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

// A log says what one leaf and no other would make it say.
bool TellsOfOne(const Signal& signal) {
  return signal.labels_size() == 1 && IsDirect(signal) && signal.where() != galen::v1::DESCRIPTION;
}

}  // namespace

bool IsDirect(const Signal& signal) {
  return signal.role() == galen::v1::PRIMARY || signal.role() == galen::v1::SIGNAL_ROLE_UNSPECIFIED;
}

const Signal* StrongMessage(const EvidenceView& evidence, const Label& leaf) {
  for (const Signal* signal : evidence.SignalsFor(leaf.label())) {
    if (TellsOfOne(*signal) && signal->strength() >= galen::v1::STRONG) return signal;
  }
  return nullptr;
}

const Signal* DecisiveMessage(const EvidenceView& evidence, const Label& leaf,
                              absl::string_view node) {
  for (const Signal* signal : evidence.SignalsFor(leaf.label())) {
    if (TellsOfOne(*signal) && signal->strength() == galen::v1::DECISIVE &&
        (signal->node().empty() || signal->node() == node)) {
      return signal;
    }
  }
  return nullptr;
}

double SignalLogOdds(const EvidenceView& evidence, const Label& leaf, absl::string_view node) {
  std::set<absl::string_view> counted;
  double sum = 0;
  for (const Signal* signal : evidence.SignalsFor(leaf.label())) {
    if (!signal->node().empty() && signal->node() != node) continue;
    if (!counted.insert(signal->signal()).second) continue;
    double weight = kWeak;
    if (signal->strength() == galen::v1::DECISIVE) weight = kDecisive;
    if (signal->strength() == galen::v1::STRONG) weight = kStrongSignal;
    sum += IsDirect(*signal) ? weight : weight / 2;
  }
  return std::min(sum, kMost);
}

}  // namespace galen::reasoner
