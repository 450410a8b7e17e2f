#include <algorithm>
#include <utility>
#include <vector>

#include "services/node/checks/cuda/gputest/gpu.h"
#include "services/node/checks/cuda/gputest/report.h"
#include "services/node/checks/cuda/gputest/tests.h"
#include "services/node/checks/cuda/pattern/pattern_run.h"

namespace galen::node::cuda {
namespace {

// Free memory is rarely one piece. A sweep over one takes a few milliseconds.
constexpr std::uint64_t kLargestPiece = std::uint64_t{4} << 30;
constexpr std::uint64_t kSmallestPiece = std::uint64_t{1} << 20;
// Left free whatever the share: contexts of others and the driver's own needs.
constexpr std::uint64_t kSpare = std::uint64_t{64} << 20;
constexpr double kSweepLimit = 30;
constexpr double kBetweenMemoryProgress = 0.25;

// A GPU's memory in pieces, one after the other.
class GpuMemory final : public PatternMemory {
 public:
  GpuMemory(Gpu& gpu, std::uint64_t wanted) : gpu_(gpu), found_(gpu.Allocate(sizeof(found_now_))) {
    std::uint64_t piece = kLargestPiece;
    while (bytes_ < wanted && piece >= kSmallestPiece) {
      const std::uint64_t now = std::min(piece, wanted - bytes_) / 64 * 64;
      const CuPointer pointer = now > 0 ? gpu_.TryAllocate(now) : 0;
      if (pointer == 0) {
        piece /= 2;
        continue;
      }
      pieces_.push_back({pointer, bytes_, now});
      bytes_ += now;
    }
  }

  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t chunk() const override { return kLargestPiece; }

  void Write(Pattern pattern, std::uint64_t offset, std::uint64_t bytes) override {
    Visit(offset, bytes, [&](CuPointer pointer, std::uint64_t part) {
      gpu_.WritePattern(pointer, part, pattern.pattern, pattern.seed, 0);
    });
    gpu_.Wait("galen_write", kSweepLimit);
  }

  void Check(Pattern pattern, bool invert, std::uint64_t offset, std::uint64_t bytes,
             MismatchLog& log) override {
    found_now_ = {};
    gpu_.ToDevice(found_, &found_now_, sizeof(found_now_));
    Visit(offset, bytes, [&](CuPointer pointer, std::uint64_t part) {
      gpu_.CheckPattern(pointer, part, pattern.pattern, pattern.seed, 0, invert, found_);
    });
    gpu_.FromDevice(&found_now_, found_, sizeof(found_now_));
    gpu_.Wait("galen_check", kSweepLimit);
    MismatchLog now;
    now.count = found_now_.count;
    now.bits = found_now_.bits;
    for (unsigned i = 0; i < std::min(found_now_.kept, kKeptMismatches); ++i) {
      const DeviceMismatch& mismatch = found_now_.first[i];
      now.first.push_back({.address = mismatch.address,
                           .expected = mismatch.expected,
                           .actual = mismatch.actual,
                           .pattern = pattern.pattern});
    }
    log.Merge(now);
  }

  // The offset of an address in the tested memory.
  std::uint64_t OffsetOf(std::uint64_t address) const {
    for (const Piece& piece : pieces_) {
      if (address >= piece.pointer && address - piece.pointer < piece.bytes) {
        return piece.offset + (address - piece.pointer);
      }
    }
    return 0;
  }

 private:
  struct Piece {
    CuPointer pointer;
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  template <typename Work>
  void Visit(std::uint64_t offset, std::uint64_t bytes, Work work) {
    for (const Piece& piece : pieces_) {
      const std::uint64_t from = std::max(offset, piece.offset);
      const std::uint64_t to = std::min(offset + bytes, piece.offset + piece.bytes);
      if (from < to) work(piece.pointer + (from - piece.offset), to - from);
    }
  }

  Gpu& gpu_;
  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;
  DeviceMismatches found_now_ = {};
  CuPointer found_;
};

std::vector<unsigned> Families(const std::vector<std::string>& names) {
  std::vector<unsigned> families;
  for (const std::string& name : names) {
    if (name == "solid") families.push_back(kSolid);
    if (name == "checker") families.push_back(kChecker);
    if (name == "address") families.push_back(kAddress);
    if (name == "random") families.push_back(kRandom);
  }
  if (families.empty()) SayRefusedAndExit("no pattern to test with");
  return families;
}

}  // namespace

void TestMemory(const Options& options) {
  const double seconds = options.Number("seconds");
  PatternTestOptions plan;
  plan.families = Families(options.List("families"));
  CudaApi api;
  LoadAndInit(api);
  Gpu gpu(api, options.Text("gpu"));
  const auto [free, total] = gpu.Memory();
  const auto share = static_cast<std::uint64_t>(static_cast<double>(free) *
                                                std::min(options.Number("share"), 1.0));
  GpuMemory memory(gpu, std::min(share, free > kSpare ? free - kSpare : 0));
  if (memory.bytes() == 0) SayRefusedAndExit("the GPU has no free memory to test");

  SayStep(kSweepLimit, "pattern test");
  PatternReport report;
  unsigned told = 0;
  const double start = Now();
  double last = start;
  bool on_time = true;
  // Rounds until the time is up, and the first one to its end even if it takes longer.
  for (unsigned round = 0; on_time; ++round) {
    const bool first = round == 0;
    const PatternReport now = RunPatternTest(memory, plan, [&](double done) {
      const double passed = Now() - start;
      if (Now() - last >= kBetweenMemoryProgress) {
        last = Now();
        const double by_time = seconds > 0 ? std::min(passed / seconds, 1.0) : 1;
        SayStep(kSweepLimit, "pattern test");
        SayProgress(first ? std::min(done, by_time) : by_time,
                    "patterns over " + std::to_string(memory.bytes() >> 20) + " MiB");
      }
      return first || passed < seconds;
    });
    for (const Mismatch& mismatch : now.mismatches.first) {
      if (told++ >= MismatchLog::kKept) break;
      Say("@mismatch", {{"address", Hex(mismatch.address)},
                        {"offset", Hex(memory.OffsetOf(mismatch.address))},
                        {"expected", Hex(mismatch.expected)},
                        {"actual", Hex(mismatch.actual)},
                        {"pattern", PatternName(mismatch.pattern)}});
    }
    report.mismatches.Merge(now.mismatches);
    report.bytes_read += now.bytes_read;
    report.bytes_written += now.bytes_written;
    report.patterns += now.patterns;
    on_time = Now() - start < seconds;
  }
  const double traffic = static_cast<double>(report.bytes_read + report.bytes_written);
  Say("@result", {{"mismatches", Text(report.mismatches.count)},
                  {"bits", Hex(report.mismatches.bits)},
                  {"tested", Text(memory.bytes())},
                  {"total", Text(total)},
                  {"patterns", std::to_string(report.patterns)},
                  {"traffic_gb_s", Text(traffic / std::max(Now() - start, 1e-9) / 1e9)}});
}

}  // namespace galen::node::cuda
