#include "common/reasoner/expected_bits.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace galen::reasoner {
namespace {

double Bits(const Shares& shares) {
  double bits = 0;
  for (const double share : shares) {
    if (share > 0) bits -= share * std::log2(share);
  }
  return bits;
}

}  // namespace

void MaySee::Add(const For& added) {
  for (For& known : leaves) {
    if (known.leaf != added.leaf) continue;
    if (known.weight < added.weight) known = added;
    return;
  }
  leaves.push_back(added);
}

Shares Normalized(Shares shares) {
  double sum = 0;
  for (const double share : shares) sum += share;
  for (double& share : shares) share /= sum;
  return shares;
}

Shares AfterSign(const MaySee& sign, Shares shares) {
  for (const MaySee::For& each : sign.leaves) shares[each.leaf] *= std::exp(each.weight);
  return Normalized(std::move(shares));
}

Shares AfterNothing(const Readable& reading, Shares shares) {
  for (const auto& [leaf, weight] : reading.if_nothing) shares[leaf] *= std::exp(weight);
  return Normalized(std::move(shares));
}

double ProbabilityOf(const MaySee& sign, const Shares& shares) {
  double probability = sign.otherwise;
  for (const MaySee::For& each : sign.leaves) {
    probability += shares[each.leaf] * (each.if_cause - sign.otherwise);
  }
  return std::clamp(probability, 0.0, 1.0);
}

double MostRaised(const MaySee& sign, const Shares& shares) {
  const Shares after = AfterSign(sign, shares);
  double most = 0;
  for (const MaySee::For& each : sign.leaves) {
    most = std::max(most, after[each.leaf] - shares[each.leaf]);
  }
  return most;
}

double ExpectedBits(const Readable& reading, const Shares& shares) {
  if (reading.signs.empty()) return 0;
  double silence = 1;  // for causes that the reading does not concern
  double others = 0;
  for (const auto& [name, sign] : reading.signs) {
    silence *= 1 - sign.otherwise;
    others += sign.otherwise;
  }
  std::map<std::size_t, double> any;  // by leaf, the sum over its signs, beyond those of all
  for (const auto& [name, sign] : reading.signs) {
    for (const MaySee::For& each : sign.leaves) {
      any[each.leaf] += each.if_cause - sign.otherwise;
    }
  }
  const auto nothing_if = [&](std::size_t leaf) {
    const auto found = reading.if_nothing.find(leaf);
    return silence * (found == reading.if_nothing.end() ? 1 : std::exp(found->second));
  };
  Shares after(shares.size());
  const auto bits_if = [&](const auto& likelihood) {
    double probability = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      after[i] = shares[i] * likelihood(i);
      probability += after[i];
    }
    return probability > 0 ? probability * Bits(Normalized(after)) : 0.0;
  };
  double left = bits_if(nothing_if);
  for (const auto& named : reading.signs) {
    const MaySee& sign = named.second;
    left += bits_if([&](std::size_t leaf) {
      const auto own = std::find_if(sign.leaves.begin(), sign.leaves.end(),
                                    [&](const MaySee::For& each) { return each.leaf == leaf; });
      const double seen = own == sign.leaves.end() ? sign.otherwise : own->if_cause;
      const auto more = any.find(leaf);
      const double all = others + (more == any.end() ? 0 : more->second);
      return (1 - nothing_if(leaf)) * seen / all;
    });
  }
  return Bits(shares) - left;
}

}  // namespace galen::reasoner
