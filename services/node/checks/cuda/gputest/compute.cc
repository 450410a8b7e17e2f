#include "services/node/checks/cuda/gputest/compute.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "services/node/checks/cuda/gputest/golden.h"
#include "services/node/checks/cuda/gputest/report.h"
#include "services/node/checks/cuda/gputest/tests.h"

namespace galen::node::cuda {
namespace {

// Blocks for each SM in one launch: more than fit at a time, so that no SM is left out.
constexpr unsigned kBlocksPerSm = 16;
constexpr unsigned kComputeRounds = 128;  // x kStepsPerRound steps
constexpr unsigned kTensorRounds = 512;
constexpr unsigned kSeeds = 4;
constexpr unsigned kTileSeedA = 11;
constexpr unsigned kTileSeedB = 12;
// The largest SM number that is accepted; no GPU has more than a few hundred.
constexpr unsigned kMostSms = 4096;
constexpr double kLaunchLimit = 30;
constexpr double kBetweenProgress = 0.25;

}  // namespace

KnownWork::KnownWork(Gpu& gpu)
    : gpu_(gpu), blocks_(gpu.sms() * kBlocksPerSm), sm_seen_(kMostSms, false) {
  results_ = gpu_.Allocate(blocks_ * sizeof(BlockResult));
  seen_ = static_cast<BlockResult*>(gpu_.AllocatePinned(blocks_ * sizeof(BlockResult)));
  for (unsigned i = 0; i < kSeeds; ++i) {
    seeds_.push_back((i + 1) * kHashFactor);
    expected_compute_.push_back(ExpectedCompute(seeds_.back(), kComputeRounds));
  }
  if (!gpu_.has_tensor()) return;
  expected_tensor_ = ExpectedTensor(kTileSeedA, kTileSeedB, kTensorRounds);
  for (const auto& [seed, tile] : {std::pair(kTileSeedA, &tile_a_), {kTileSeedB, &tile_b_}}) {
    const std::vector<std::uint16_t> operand = TensorOperand(seed);
    *tile = gpu_.Allocate(operand.size() * sizeof(operand[0]));
    gpu_.ToDevice(*tile, operand.data(), operand.size() * sizeof(operand[0]));
    gpu_.Wait("cuMemcpyHtoDAsync", kLaunchLimit);
  }
}

void KnownWork::Launch() {
  const bool tensor = gpu_.has_tensor() && launches_ % 2 == 1;
  if (tensor) {
    gpu_.Tensor(tile_a_, tile_b_, kTensorRounds, blocks_, results_);
    expected_ = expected_tensor_;
  } else {
    const std::size_t which = (launches_ / 2) % seeds_.size();
    gpu_.Compute(seeds_[which], kComputeRounds, blocks_, results_);
    expected_ = expected_compute_[which];
  }
  ++launches_;
  gpu_.FromDevice(seen_, results_, blocks_ * sizeof(BlockResult));
}

void KnownWork::Compare() {
  for (unsigned i = 0; i < blocks_; ++i) {
    const BlockResult& block = seen_[i];
    if (block.sm < kMostSms && !sm_seen_[block.sm]) {
      sm_seen_[block.sm] = true;
      ++sms_seen_;
    }
    ++compared_;
    not_finite_ += block.not_finite;
    const bool wrong = block.hash != expected_;
    if (wrong) ++mismatches_;
    if (wrong || block.not_finite > 0) {
      Wrong& of_sm = wrong_[block.sm];
      of_sm.mismatches += wrong ? 1 : 0;
      of_sm.not_finite += block.not_finite;
    }
  }
}

void TestCompute(const Options& options) {
  const double seconds = options.Number("seconds");
  CudaApi api;
  LoadAndInit(api);
  Gpu gpu(api, options.Text("gpu"));
  SayStep(kLaunchLimit, "what the processor computes");
  KnownWork work(gpu);
  const double start = Now();
  double last = start - kBetweenProgress;
  // Every input at least twice: the same has to come out again.
  while (Now() - start < seconds || work.launches() < 4ULL * kSeeds) {
    if (Now() - last >= kBetweenProgress) {
      last = Now();
      SayStep(kLaunchLimit, "compute test");
      SayProgress(seconds > 0 ? std::min((last - start) / seconds, 1.0) : 1,
                  "known results from " + std::to_string(work.sms_seen()) + " SMs");
    }
    work.Launch();
    gpu.Wait("compute test", kLaunchLimit);
    work.Compare();
  }
  // Garbage names more SMs than there are.
  unsigned told = 0;
  for (const auto& [sm, wrong] : work.wrong_by_sm()) {
    if (told++ >= gpu.sms()) break;
    Say("@sm", {{"sm", std::to_string(sm)},
                {"mismatches", Text(wrong.mismatches)},
                {"not_finite", Text(wrong.not_finite)}});
  }
  Say("@result", {{"mismatches", Text(work.mismatches())},
                  {"not_finite", Text(work.not_finite())},
                  {"blocks", Text(work.blocks())},
                  {"sms_tested", std::to_string(work.sms_seen())},
                  {"sms", std::to_string(gpu.sms())},
                  {"tensor", gpu.has_tensor() ? "1" : "0"},
                  {"tensor_trouble", gpu.tensor_trouble()}});
}

}  // namespace galen::node::cuda
