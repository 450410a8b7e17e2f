#include "services/node/watch/watcher.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "temp_root.h"
#include "tests/testing/host/fake_host.h"

namespace galen::node {
namespace {

// Two ends of a device that gives a record a read, as /dev/kmsg does.
struct FakeKmsg {
  FakeKmsg() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
              0);
    kernel = host::FileDescriptor(ends[0]);
    reader_fd = ends[1];
  }
  std::unique_ptr<KernelReader> Reader() {
    const int fd = reader_fd;
    return ReadKmsg(host::FileDescriptor(fd),
                    [fd](char* buffer, std::size_t size) { return read(fd, buffer, size); });
  }
  void Say(const std::string& record) {
    ASSERT_EQ(write(kernel.get(), record.data(), record.size()),
              static_cast<ssize_t>(record.size()));
  }
  host::FileDescriptor kernel;
  int reader_fd = -1;
};

std::shared_ptr<const KernelPatterns> Patterns() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::KernelLine& xid = *base.add_kernel_lines();
  xid.set_family(knowledge::v1::KERNEL_XID);
  xid.set_match(R"(NVRM: Xid \(PCI:(?P<pci>[0-9a-f:.]+)\): (?P<code>\d+))");
  return KernelPatterns::Of(knowledge::Knowledge(base));
}

// Waits for the first event that a test asks about.
struct FirstEvent {
  std::promise<v1::WatchEvent> promise;
  bool set = false;
  EventHub::Push push() {
    return [this](const v1::WatchEvent& event) {
      if (!std::exchange(set, true)) promise.set_value(event);
      return true;
    };
  }
};

std::unique_ptr<Sampler> MakeSampler(absl::string_view list, const std::string& root) {
  Sampler::Options options;
  options.root = root;
  return std::make_unique<Sampler>("node-1", *ParseWatchList(list, "test"), options);
}

TEST(Watcher, ALineOfTheKernelLogIsAFindingOfItsCheck) {
  const SystemClock clock;
  EventHub hub(clock);
  FirstEvent first;
  ASSERT_TRUE(hub.Listen(first.push(), [](const absl::Status&) {}).ok());
  FakeKmsg kmsg;
  const auto host = std::make_shared<testing::FakeHost>();
  const Watcher watcher(host, MakeSampler("", ""), kmsg.Reader(), Patterns(), hub,
                        Watcher::Options());
  kmsg.Say("6,1,1000000,-;eth0: link becomes ready\n");
  kmsg.Say("3,2,2000000,-;NVRM: Xid (PCI:0000:b3:00): 79, pid=1, GPU has fallen off the bus.\n");
  const v1::WatchEvent event = first.promise.get_future().get();
  EXPECT_EQ(event.check(), "system.kernel_log");
  EXPECT_EQ(event.finding().name(), "xid");
  EXPECT_EQ(event.finding().subject().node(), "node-1");
  EXPECT_EQ(event.finding().subject().pci_address(), "0000:b3:00.0");
  EXPECT_EQ(event.finding().event_value().code(), "79");
  EXPECT_TRUE(event.finding().abnormal());
}

TEST(Watcher, ACounterThatMovesIsAnEventWithoutAKernelLog) {
  const SystemClock clock;
  EventHub hub(clock);
  FirstEvent first;
  ASSERT_TRUE(hub.Listen(first.push(), [](const absl::Status&) {}).ok());
  const TempRoot root;
  root.Write("/proc/vmstat", "oom_kill 0\n");
  const auto host = std::make_shared<testing::FakeHost>();
  Watcher::Options options;
  options.interval = absl::Milliseconds(5);
  auto sampler =
      MakeSampler("/proc/vmstat oom_kill event system.memory oom_kills count - 1 60s", root.path());
  const Sampler& counters = *sampler;
  const Watcher watcher(host, std::move(sampler), nullptr, Patterns(), hub, options);
  // If the file is being written during the discovery, it is only found a minute later.
  while (counters.counters() == 0) usleep(1000);
  // Counts on until it is seen: which sample is the first one is not known.
  std::future<v1::WatchEvent> event = first.promise.get_future();
  int kills = 0;
  do {
    root.Write("/proc/vmstat", "oom_kill " + std::to_string(++kills) + "\n");
  } while (event.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready);
  EXPECT_EQ(event.get().finding().name(), "oom_kills");
}

// Counters whose driver only answers on command.
class StuckSampler final : public Sampler {
 public:
  StuckSampler(std::shared_future<void> answer, std::promise<void> told)
      : Sampler("node-1", {}, {}), answer_(std::move(answer)), told_(std::move(told)) {}
  void Sample(absl::Time, const OnNoticed& noticed) override {
    answer_.wait();
    noticed("system.memory", galen::v1::Finding());
    told_.set_value();
  }

 private:
  const std::shared_future<void> answer_;
  std::promise<void> told_;
};

TEST(Watcher, ACounterThatIsStuckNeitherHidesAKernelLineNorHoldsUpTheEnd) {
  const SystemClock clock;
  EventHub hub(clock);
  FirstEvent first;
  ASSERT_TRUE(hub.Listen(first.push(), [](const absl::Status&) {}).ok());
  std::atomic<int> events = 0;
  const auto count = [&events](const v1::WatchEvent&) { return ++events > 0; };
  ASSERT_TRUE(hub.Listen(count, [](const absl::Status&) {}).ok());
  FakeKmsg kmsg;
  std::promise<void> answer;
  std::promise<void> told;
  std::future<void> was_told = told.get_future();
  {
    Watcher::Options options;
    options.farewell = absl::ZeroDuration();
    const Watcher watcher(
        std::make_shared<testing::FakeHost>(),
        std::make_unique<StuckSampler>(answer.get_future().share(), std::move(told)), kmsg.Reader(),
        Patterns(), hub, options);
    kmsg.Say("3,2,2000000,-;NVRM: Xid (PCI:0000:b3:00): 79, pid=1, GPU has fallen off the bus.\n");
    EXPECT_EQ(first.promise.get_future().get().check(), "system.kernel_log");
  }
  // Nobody receives events after the end.
  answer.set_value();
  was_told.wait();
  EXPECT_EQ(events, 1);
}

TEST(Watcher, AKernelLogThatBreaksDoesNotStopTheWatch) {
  const SystemClock clock;
  EventHub hub(clock);
  FirstEvent first;
  ASSERT_TRUE(hub.Listen(first.push(), [](const absl::Status&) {}).ok());
  FakeKmsg kmsg;
  const auto host = std::make_shared<testing::FakeHost>();
  auto reader = kmsg.Reader();
  kmsg.kernel.Close();  // reads give 0 from now on
  Watcher::Options options;
  options.interval = absl::Milliseconds(1);
  const TempRoot root;
  root.Write("/sys/n", "1\n");
  auto sampler =
      MakeSampler("/sys/n value event system.memory oom_kills count - 1 60s", root.path());
  const Sampler& counters = *sampler;
  const Watcher watcher(host, std::move(sampler), std::move(reader), Patterns(), hub, options);
  while (counters.counters() == 0) usleep(1000);
  int moves = 1;
  std::future<v1::WatchEvent> event = first.promise.get_future();
  do {
    root.Write("/sys/n", std::to_string(++moves) + "\n");
  } while (event.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready);
}

}  // namespace
}  // namespace galen::node
