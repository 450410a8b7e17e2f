#include "services/node/checks/gpu/nvml_source.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "services/node/checks/gpu/nvml_library.h"

namespace galen::node::nvml {
namespace {

absl::StatusOr<std::shared_ptr<const Source::Result>> ReadLibrary(const std::string& path) {
  const absl::Time start = SteadyNow();
  const absl::StatusOr<const Api*> api = LoadLibrary(path);
  if (!api.ok()) return api.status();
  auto result = std::make_shared<Source::Result>();
  result->answer = ReadAll(**api);
  result->duration = SteadyNow() - start;
  return std::shared_ptr<const Source::Result>(std::move(result));
}

}  // namespace

Source::Outcome Source::Read() {
  {
    const MutexLock lock(mu_);
    if (last_.has_value() && SteadyNow() - read_ < options_.age) return *last_;
  }
  return ReadAnew();
}

Source::Outcome Source::ReadAnew() {
  std::shared_future<Outcome> reading;
  absl::Time started;
  absl::Duration time;
  {
    const MutexLock lock(mu_);
    time = options_.time;
    // One that ended after its callers gave up is of old.
    if (running_.has_value() &&
        running_->wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      running_ = std::nullopt;
    }
    if (!running_.has_value()) {
      auto promise = std::make_shared<std::promise<Outcome>>();
      running_ = promise->get_future().share();
      started_ = SteadyNow();
      try {
        std::thread([promise, path = options_.library] {
          promise->set_value(ReadLibrary(path));
        }).detach();
      } catch (const std::system_error&) {
        running_ = std::nullopt;
        return absl::ResourceExhaustedError("NVML: no room for another thread");
      }
    }
    reading = *running_;
    started = started_;
  }
  // The time counts from the start of the reading: a caller that joins a hung one does not wait for
  // it again.
  const absl::Duration left = std::max(started + time - SteadyNow(), absl::ZeroDuration());
  if (reading.wait_for(absl::ToChronoNanoseconds(left)) != std::future_status::ready) {
    return absl::DeadlineExceededError(absl::StrCat("NVML did not answer within ",
                                                    absl::FormatDuration(time),
                                                    ": a call into the driver hangs"));
  }
  const MutexLock lock(mu_);
  if (started == started_) {
    running_ = std::nullopt;
    last_ = reading.get();
    read_ = SteadyNow();
  }
  return reading.get();
}

void Source::Configure(Options options) {
  const MutexLock lock(mu_);
  options_ = std::move(options);
  running_ = std::nullopt;
  started_ = absl::InfinitePast();
  last_ = std::nullopt;
}

Source::Options Source::OptionsOfEnvironment() {
  Options options;
  if (const char* const library = std::getenv("GALEN_NVML_LIBRARY"); library != nullptr) {
    options.library = library;
  }
  return options;
}

Source& Source::OfProcess() {
  // Outlives threads that hang.
  static Source* const source = new Source(OptionsOfEnvironment());
  return *source;
}

}  // namespace galen::node::nvml
