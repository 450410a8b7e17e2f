#ifndef SERVICES_NODE_CHECKS_GPU_NVML_SOURCE_H_
#define SERVICES_NODE_CHECKS_GPU_NVML_SOURCE_H_

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "services/node/checks/gpu/nvml_reader.h"

namespace galen::node::nvml {

// NVML of the machine that this process runs on, queried on its own thread: a driver that hangs
// blocks that thread, and no check. While one hangs, no further thread is started. Thread-safe.
class Source {
 public:
  struct Options {
    // Path of the library; empty: the usual places, those below /run/nvidia/driver among them.
    std::string library;
    // The time limit for reading all GPUs.
    absl::Duration time = absl::Seconds(20);
    // Callers within this time share a reading. The checks of one run begin together.
    absl::Duration age = absl::Seconds(1);
  };

  struct Result {
    Answer answer;
    absl::Duration duration;
  };

  explicit Source(Options options) : options_(std::move(options)) {}

  // NOT_FOUND there is no library; ABORTED it is unfit; DEADLINE_EXCEEDED a call into it hangs;
  // RESOURCE_EXHAUSTED no thread. Errors of NVML itself are in the answer.
  absl::StatusOr<std::shared_ptr<const Result>> Read();

  // A new reading, for counters that are compared with an earlier one.
  absl::StatusOr<std::shared_ptr<const Result>> ReadAnew();

  // From now on. A thread that hangs stays behind.
  void Configure(Options options);

  // GALEN_NVML_LIBRARY names the library where it is in no usual place.
  static Options OptionsOfEnvironment();

  // The one that live hosts use; made with the options of the environment.
  static Source& OfProcess();

 private:
  using Outcome = absl::StatusOr<std::shared_ptr<const Result>>;

  Mutex mu_;
  Options options_ ABSL_GUARDED_BY(mu_);
  // The reading that runs or hangs, and since when.
  std::optional<std::shared_future<Outcome>> running_ ABSL_GUARDED_BY(mu_);
  absl::Time started_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  std::optional<Outcome> last_ ABSL_GUARDED_BY(mu_);
  absl::Time read_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace galen::node::nvml

#endif  // SERVICES_NODE_CHECKS_GPU_NVML_SOURCE_H_
