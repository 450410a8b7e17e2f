#ifndef SERVICES_NODE_CHECKS_CUDA_GPUS_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"
#include "services/node/checks/cuda/gputest_run.h"

namespace galen::node {

// A GPU as an active test sees it.
struct TestGpu {
  std::string device;   // "gpu:1", numbered as nvidia-smi does
  std::string address;  // "0000:b3:00.0"
  std::string name;
  const knowledge::v1::Hardware* hardware = nullptr;  // nullptr: not in the table
  // Why it is not tested; empty: it is.
  std::string refused;

  // A fact of the hardware table.
  std::optional<double> Fact(absl::string_view name) const;
};

// The GPUs of this machine, and what it takes to test them.
struct TestGpus {
  std::string program;
  std::string library;     // the driver library that programs here get
  int driver_version = 0;  // as in CUDA: 12040
  std::vector<TestGpu> all;
  std::vector<const TestGpu*> tested() const;
  // "gpu:1: used by python (4711)", joined; "" when all are tested.
  std::string Refusals() const;
};

// The GPUs that the driver lists.
struct GpuListing {
  GpuTestRun run;
  TestGpus gpus;  // empty unless the run finished
};

// Loads the driver library and asks for its GPUs. FAILED_PRECONDITION in a bundle; NOT_FOUND
// without the test program or a driver library; CANCELLED; DEADLINE_EXCEEDED.
absl::StatusOr<GpuListing> ListTestGpus(const CheckContext& context);

// The GPUs that the check's parameter `gpu` names (-1: all), without those that another process
// uses unless the caller allows that. The errors of ListTestGpus; FAILED_PRECONDITION when the
// driver does not initialise, when no GPU is left to test, or when the users of the GPUs are
// unknown.
absl::StatusOr<TestGpus> SelectTestGpus(const CheckContext& context);

// One run for each of `gpus`, at the same time or, with `one_by_one`, after each other; in their
// order. `arguments` gives what a run is called with besides the GPU and the limits. CANCELLED.
absl::StatusOr<std::vector<GpuTestRun>> RunOnEach(
    const CheckContext& context, const TestGpus& gpus,
    const std::function<std::vector<std::string>(const TestGpu& gpu)>& arguments,
    bool one_by_one = false);

// The arguments that every run has: the test's name, its limit of time, the patience.
std::vector<std::string> CommonArguments(const CheckContext& context, absl::string_view test);

// The deadline of a run; it leaves the check time to report the outcome.
absl::Time RunDeadline(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUS_H_
