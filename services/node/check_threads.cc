#include "services/node/check_threads.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace galen::node {
namespace {

using Task = absl::AnyInvocable<void() &&>;

// Threads that wait at one time; those beyond end with their task.
constexpr std::size_t kMostIdle = 16;
constexpr std::chrono::seconds kIdle(5);

// Never deleted: threads wait on it until the process ends. Not a galen::Mutex, which does not
// support a timed wait.
struct Shared {
  std::mutex mu;
  std::condition_variable changed;
  // Guarded by mu. There are never more tasks than threads that wait for one.
  std::deque<Task> tasks;
  std::size_t idle = 0;
};

Shared& TheShared() {
  static auto* const shared = new Shared();
  return *shared;
}

void Loop(Task task) {
  Shared& shared = TheShared();
  for (;;) {
    std::move(task)();
    task = nullptr;  // what it holds is let go of before the wait
    std::unique_lock<std::mutex> lock(shared.mu);
    if (shared.idle >= kMostIdle) return;
    ++shared.idle;
    const bool more =
        shared.changed.wait_for(lock, kIdle, [&shared] { return !shared.tasks.empty(); });
    --shared.idle;
    if (!more) return;
    task = std::move(shared.tasks.front());
    shared.tasks.pop_front();
  }
}

}  // namespace

void RunDetached(Task task) {
  Shared& shared = TheShared();
  {
    const std::lock_guard<std::mutex> lock(shared.mu);
    if (shared.idle > shared.tasks.size()) {
      shared.tasks.push_back(std::move(task));
      shared.changed.notify_one();
      return;
    }
  }
  std::thread(Loop, std::move(task)).detach();
}

}  // namespace galen::node
