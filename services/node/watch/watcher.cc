#include "services/node/watch/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "common/log/log.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/kernel_events.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

constexpr char kKernelCheck[] = "system.kernel_log";

}  // namespace

Watcher::Watcher(std::shared_ptr<const host::Host> host, std::unique_ptr<Sampler> sampler,
                 std::unique_ptr<KernelReader> kernel_log,
                 std::shared_ptr<const KernelPatterns> patterns, EventHub& hub, Options options)
    : host_(std::move(host)),
      sampler_(std::move(sampler)),
      kernel_log_(std::move(kernel_log)),
      patterns_(std::move(patterns)),
      hub_(hub),
      options_(options),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      names_thread_([this] { LearnNames(); }),
      thread_([this] { Loop(); }) {}

Watcher::~Watcher() {
  const std::uint64_t one = 1;
  // An eventfd takes eight bytes as long as it is open.
  static_cast<void>(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
  names_thread_.join();
}

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

void Watcher::LearnNames() {
  std::map<std::string, std::string> names = DeviceNames(*host_);
  MutexLock lock(mu_);
  names_ = std::move(names);
}

void Watcher::ReadKernelLog(KernelLogFollower& follower) {
  const absl::Status status = kernel_log_->Read(
      [&](absl::string_view line) {
        for (const KernelEvent& event : follower.Next(line)) {
          std::optional<galen::v1::Finding> finding;
          {
            MutexLock lock(mu_);
            finding = KernelFinding(event, host_->name(), names_);
          }
          if (!finding.has_value()) continue;
          finding->set_expected("none");
          finding->set_abnormal(true);
          hub_.Publish(kKernelCheck, *std::move(finding));
        }
      },
      [&](std::int64_t lost) { hub_.Lost(lost); });
  if (status.ok()) return;
  log::Warning(absl::StrCat("the kernel log is not watched any more: ", status.message()));
  kernel_log_.reset();
}

void Watcher::Loop() {
  using SteadyClock = std::chrono::steady_clock;
  const auto interval = absl::ToChronoMilliseconds(options_.interval);
  std::optional<KernelLogFollower> follower;
  if (kernel_log_ != nullptr) follower.emplace(patterns_, BootTime(*host_));
  const OnNoticed noticed = [this](const std::string& check, galen::v1::Finding finding) {
    hub_.Publish(check, std::move(finding));
  };
  SteadyClock::time_point next = SteadyClock::now();
  while (true) {
    const auto now = SteadyClock::now();
    if (now >= next) {
      // Of the steady clock: the time of day may be set back.
      sampler_->Sample(SteadyNow(), noticed);
      // Where the kernel cannot say that there is a line, it is asked.
      if (kernel_log_ != nullptr && kernel_log_->descriptor() < 0) ReadKernelLog(*follower);
      // After a pause of the whole machine the samples that were missed are not made up for.
      next = std::max(next + interval, SteadyClock::now());
    }
    std::array<pollfd, 2> waits = {{{stop_.get(), POLLIN, 0}, {-1, POLLIN, 0}}};
    if (kernel_log_ != nullptr) waits[1].fd = kernel_log_->descriptor();
    // Rounded up, or the last millisecond before a sample would be spent spinning.
    const auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(next - SteadyClock::now()).count();
    poll(waits.data(), waits.size(), wait > 0 ? static_cast<int>(wait) : 0);
    if (waits[0].revents != 0) return;
    // Also on POLLERR, by which the device says that records were lost.
    if (waits[1].revents != 0) ReadKernelLog(*follower);
  }
}

}  // namespace galen::node
