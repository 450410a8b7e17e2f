#include <unistd.h>

#include <algorithm>
#include <string>

#include "services/node/checks/cuda/gputest/compute.h"
#include "services/node/checks/cuda/gputest/gpu.h"
#include "services/node/checks/cuda/gputest/nvml.h"
#include "services/node/checks/cuda/gputest/report.h"
#include "services/node/checks/cuda/gputest/tests.h"

namespace galen::node::cuda {
namespace {

constexpr double kBatchLimit = 30;
// A batch of work of about this long, then a look at its results.
constexpr double kBatch = 0.05;
constexpr double kBetweenSamples = 0.25;
// Share of the time that the gentle phase takes.
constexpr double kGentleShare = 0.25;

std::string Known(const std::optional<double>& value) {
  return value.has_value() ? Text(*value) : std::string();
}

class Stress {
 public:
  Stress(Gpu& gpu, const PowerMeter& meter, double seconds)
      : gpu_(gpu), meter_(meter), work_(gpu), seconds_(seconds), start_(Now()) {}

  // Works `duty` of the time (0 to 1) until `end` seconds after the start.
  void Run(const char* phase, double duty, double end) {
    Say("@phase", {{"name", phase}});
    const std::uint64_t launches = work_.launches();
    const std::uint64_t mismatches = work_.mismatches();
    const std::uint64_t not_finite = work_.not_finite();
    SayStep(kBatchLimit, std::string(phase) + " load");
    do {
      const double begun = Now();
      // Launched one after the other; only the last result of each pair is compared.
      for (unsigned i = 0; i < pieces_; ++i) work_.Launch();
      gpu_.Wait(std::string(phase) + " load", kBatchLimit, [&] { Sample(phase); });
      work_.Compare();
      const double taken = Now() - begun;
      pieces_ = std::clamp(static_cast<unsigned>(pieces_ * kBatch / std::max(taken, 1e-4)), 1U,
                           std::max(1U, pieces_ * 2));
      // Odd: the last one is of ordinary and of tensor cores in turn.
      pieces_ = std::min(pieces_, kMostPieces) | 1U;
      const double rest = duty < 1 ? taken * (1 - duty) / std::max(duty, 0.05) : 0;
      for (const double until = Now() + rest; Now() < until;) {
        usleep(1000);
        Sample(phase);
      }
      Sample(phase);
    } while (Now() - start_ < end);
    Say("@result", {{"phase", phase},
                    {"launches", Text(work_.launches() - launches)},
                    {"mismatches", Text(work_.mismatches() - mismatches)},
                    {"not_finite", Text(work_.not_finite() - not_finite)},
                    {"tensor", gpu_.has_tensor() ? "1" : "0"}});
  }

 private:
  // Work that waits in the stream at a time; drivers take a thousand.
  static constexpr unsigned kMostPieces = 255;

  void Sample(const char* phase) {
    const double now = Now();
    if (now - last_ < kBetweenSamples) return;
    last_ = now;
    const PowerMeter::Reading reading = meter_.Read();
    Say("@sample", {{"phase", phase},
                    {"t", Text(now - start_)},
                    {"power", Known(reading.power)},
                    {"limit", Known(reading.limit)},
                    {"clock", Known(reading.clock)},
                    {"temperature", Known(reading.temperature)}});
    SayStep(kBatchLimit, std::string(phase) + " load");
    SayProgress(seconds_ > 0 ? std::min((now - start_) / seconds_, 1.0) : 1,
                std::string(phase) + " load");
  }

  Gpu& gpu_;
  const PowerMeter& meter_;
  KnownWork work_;
  const double seconds_;
  const double start_;
  double last_ = 0;
  unsigned pieces_ = 1;
};

}  // namespace

void TestStress(const Options& options) {
  const double seconds = options.Number("seconds");
  const std::string address = options.Text("gpu");
  CudaApi api;
  LoadAndInit(api);
  Gpu gpu(api, address);
  SayStep(kBatchLimit, "what the processor computes");
  const PowerMeter meter(address);
  Stress stress(gpu, meter, seconds);
  stress.Run("gentle", options.Number("duty"), seconds * kGentleShare);
  stress.Run("full", 1, seconds);
}

}  // namespace galen::node::cuda
