#include "services/node/checks/cuda/pattern/pattern_run.h"

#include <algorithm>

namespace galen::node::cuda {
namespace {

// Sweeps a family makes: write, read and invert, read.
constexpr unsigned kSweeps = 3;

}  // namespace

void MismatchLog::Add(const Mismatch& mismatch) {
  ++count;
  bits |= mismatch.expected ^ mismatch.actual;
  if (first.size() < kKept) first.push_back(mismatch);
}

void MismatchLog::Merge(const MismatchLog& other) {
  count += other.count;
  bits |= other.bits;
  for (const Mismatch& mismatch : other.first) {
    if (first.size() < kKept) first.push_back(mismatch);
  }
}

PatternReport RunPatternTest(PatternMemory& memory, const PatternTestOptions& options,
                             const std::function<bool(double)>& go_on) {
  PatternReport report;
  const std::uint64_t bytes = memory.bytes();
  const double total =
      static_cast<double>(bytes) * kSweeps * options.rounds * options.families.size();
  double done = 0;
  const auto sweep = [&](auto&& visit) {
    for (std::uint64_t offset = 0; offset < bytes;) {
      if (!go_on(total > 0 ? done / total : 1)) return false;
      const std::uint64_t part = std::min(memory.chunk(), bytes - offset);
      visit(offset, part);
      offset += part;
      done += static_cast<double>(part);
    }
    return true;
  };
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (const unsigned family : options.families) {
      const Pattern first{.pattern = family, .seed = (round + 1) * kHashFactor};
      const Pattern second{.pattern = family + kInverted, .seed = first.seed};
      if (!sweep([&](std::uint64_t offset, std::uint64_t part) {
            memory.Write(first, offset, part);
            report.bytes_written += part;
          })) {
        return report;
      }
      if (!sweep([&](std::uint64_t offset, std::uint64_t part) {
            memory.Check(first, /*invert=*/true, offset, part, report.mismatches);
            report.bytes_read += part;
            report.bytes_written += part;
          })) {
        return report;
      }
      ++report.patterns;
      if (!sweep([&](std::uint64_t offset, std::uint64_t part) {
            memory.Check(second, /*invert=*/false, offset, part, report.mismatches);
            report.bytes_read += part;
          })) {
        return report;
      }
      ++report.patterns;
    }
  }
  report.complete = true;
  return report;
}

std::string PatternName(unsigned pattern) {
  const bool inverted = (pattern & kInverted) != 0;
  switch (pattern & (kInverted - 1)) {
    case kSolid:
      return inverted ? "0xffffffff" : "0x00000000";
    case kChecker:
      return inverted ? "0xaaaaaaaa" : "0x55555555";
    case kAddress:
      return inverted ? "inverted address" : "address";
    case kRandom:
      return inverted ? "inverted random" : "random";
    default:
      return "unknown pattern";
  }
}

}  // namespace galen::node::cuda
