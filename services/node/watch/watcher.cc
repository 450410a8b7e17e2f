#include "services/node/watch/watcher.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/steady.h"
#include "common/host/file_descriptor.h"
#include "common/observability/log/log.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/kernel_events.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

constexpr char kKernelCheck[] = "system.kernel_log";
constexpr std::size_t kStackBytes = std::size_t{1} << 20;

using SteadyClock = std::chrono::steady_clock;

// Rounded up, or the last millisecond before a moment would be spent spinning.
int MillisecondsUntil(SteadyClock::time_point moment) {
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(moment - SteadyClock::now());
  return static_cast<int>(std::max<std::int64_t>(wait.count(), 0));
}

}  // namespace

class Watcher::Watch {
 public:
  Watch(std::shared_ptr<const host::Host> host, std::unique_ptr<Sampler> sampler,
        std::unique_ptr<KernelReader> kernel_log, std::shared_ptr<const KernelPatterns> patterns,
        EventHub& hub, Options options)
      : options_(options),
        host_(std::move(host)),
        sampler_(std::move(sampler)),
        kernel_log_(std::move(kernel_log)),
        patterns_(std::move(patterns)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        hub_(&hub) {}

  static void Begin(const std::shared_ptr<Watch>& watch) {
    Run(watch, &Watch::LearnNames);
    Run(watch, &Watch::Sample);
    if (watch->kernel_log_ != nullptr) Run(watch, &Watch::FollowKernelLog);
  }

  // Nothing is published once it returns.
  void End() {
    const std::uint64_t one = 1;
    // An eventfd takes eight bytes as long as it is open.
    static_cast<void>(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
    {
      std::unique_lock<std::mutex> lock(threads_mu_);
      ended_.wait_for(lock, absl::ToChronoNanoseconds(options_.farewell),
                      [this] { return threads_ == 0; });
    }
    const MutexLock lock(hub_mu_);
    hub_ = nullptr;
  }

 private:
  using Work = void (Watch::*)();
  struct Thread {
    std::shared_ptr<Watch> watch;
    Work work;
  };

  // Runs on a thread that nobody joins. Not a std::thread, whose stack is so large that the kernel
  // may put huge pages below it.
  static void Run(const std::shared_ptr<Watch>& watch, Work work) {
    auto thread = std::make_unique<Thread>(Thread{watch, work});
    watch->CountThreads(1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_t started;
    const int error = pthread_create(&started, &attributes, &Watch::Enter, thread.get());
    pthread_attr_destroy(&attributes);
    if (error == 0) {
      static_cast<void>(thread.release());  // its own from now on
      return;
    }
    watch->CountThreads(-1);
    log::Warning("not watched: no room for another thread");
  }

  static void* Enter(void* given) {
    const std::unique_ptr<Thread> thread(static_cast<Thread*>(given));
    (thread->watch.get()->*thread->work)();
    thread->watch->CountThreads(-1);
    return nullptr;
  }

  void CountThreads(int more) {
    const std::lock_guard<std::mutex> lock(threads_mu_);
    threads_ += more;
    ended_.notify_all();
  }

  // Asks the drivers' tools, which may take seconds.
  void LearnNames() {
    std::map<std::string, std::string> names = DeviceNames(*host_);
    const MutexLock lock(names_mu_);
    names_ = std::move(names);
  }

  void Sample() {
    const auto interval = absl::ToChronoMilliseconds(options_.interval);
    const OnNoticed noticed = [this](const std::string& check, galen::v1::Finding finding) {
      Publish(check, std::move(finding));
    };
    SteadyClock::time_point next = SteadyClock::now();
    do {
      // A wait may end early.
      if (SteadyClock::now() < next) continue;
      // Uses the steady clock: the time of day may be set back.
      sampler_->Sample(SteadyNow(), noticed);
      // Samples missed during a pause of the whole machine are not taken later.
      next = std::max(next + interval, SteadyClock::now());
    } while (!Stops(MillisecondsUntil(next), -1));
  }

  void FollowKernelLog() {
    KernelLogFollower follower(patterns_, BootTime(*host_));
    // If the kernel cannot signal a new line, the log is polled.
    const int descriptor = kernel_log_->descriptor();
    const int wait =
        descriptor < 0 ? static_cast<int>(absl::ToInt64Milliseconds(options_.interval)) : -1;
    while (!Stops(wait, descriptor)) {
      const absl::Status status = ReadKernelLog(follower);
      if (status.ok()) continue;
      log::Warning(absl::StrCat("the kernel log is not watched any more: ", status.message()));
      return;
    }
  }

  absl::Status ReadKernelLog(KernelLogFollower& follower) {
    return kernel_log_->Read(
        [&](absl::string_view line) {
          for (const KernelEvent& event : follower.Next(line)) {
            std::optional<galen::v1::Finding> finding;
            {
              const MutexLock lock(names_mu_);
              finding = KernelFinding(event, host_->name(), names_);
            }
            if (!finding.has_value()) continue;
            finding->set_expected("none");
            finding->set_abnormal(true);
            Publish(kKernelCheck, *std::move(finding));
          }
        },
        [&](std::int64_t lost) {
          const MutexLock lock(hub_mu_);
          if (hub_ != nullptr) hub_->Lost(lost);
        });
  }

  // Waits until a stop is requested, which returns true, or until `descriptor` (if there is one) is
  // readable or has an error (POLLERR), or for `milliseconds`; -1: no limit.
  bool Stops(int milliseconds, int descriptor) const {
    std::array<pollfd, 2> waits = {{{stop_.get(), POLLIN, 0}, {descriptor, POLLIN, 0}}};
    poll(waits.data(), waits.size(), milliseconds);
    return waits[0].revents != 0;
  }

  void Publish(const std::string& check, galen::v1::Finding finding) {
    const MutexLock lock(hub_mu_);
    if (hub_ != nullptr) hub_->Publish(check, std::move(finding));
  }

  const Options options_;
  const std::shared_ptr<const host::Host> host_;
  const std::unique_ptr<Sampler> sampler_;
  const std::unique_ptr<KernelReader> kernel_log_;
  const std::shared_ptr<const KernelPatterns> patterns_;
  const host::FileDescriptor stop_;  // an eventfd
  Mutex hub_mu_;
  EventHub* hub_ ABSL_GUARDED_BY(hub_mu_);  // nullptr after the end
  Mutex names_mu_;
  std::map<std::string, std::string> names_ ABSL_GUARDED_BY(names_mu_);
  // Not a galen::Mutex, which does not support a timed wait.
  std::mutex threads_mu_;
  std::condition_variable ended_;
  int threads_ = 0;  // guarded by threads_mu_
};

Watcher::Watcher(std::shared_ptr<const host::Host> host, std::unique_ptr<Sampler> sampler,
                 std::unique_ptr<KernelReader> kernel_log,
                 std::shared_ptr<const KernelPatterns> patterns, EventHub& hub, Options options)
    : watch_(std::make_shared<Watch>(std::move(host), std::move(sampler), std::move(kernel_log),
                                     std::move(patterns), hub, options)) {
  Watch::Begin(watch_);
}

Watcher::~Watcher() { watch_->End(); }

absl::StatusOr<std::unique_ptr<Watcher>> Watcher::Start(
    const std::vector<std::string>& knowledge_directories, const knowledge::Knowledge& knowledge,
    std::shared_ptr<const host::Host> host, EventHub& hub) {
  absl::StatusOr<std::vector<CounterSpec>> specs = LoadWatchList(knowledge_directories);
  if (!specs.ok()) return specs.status();
  absl::StatusOr<std::unique_ptr<KernelReader>> kernel_log =
      knowledge.base().kernel_lines().empty()
          ? absl::FailedPreconditionError("the kernel log: knowledge/kernel is missing")
          : OpenKernelLog();
  if (!kernel_log.ok()) {
    log::Warning(absl::StrCat("not watched: ", kernel_log.status().message()));
  }
  auto sampler = std::make_unique<Sampler>(host->name(), *std::move(specs), Sampler::Options());
  return std::make_unique<Watcher>(std::move(host), std::move(sampler),
                                   kernel_log.ok() ? *std::move(kernel_log) : nullptr,
                                   KernelPatterns::Of(knowledge), hub, Options());
}

}  // namespace galen::node
