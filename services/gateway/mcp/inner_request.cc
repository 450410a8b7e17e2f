#include "services/gateway/mcp/inner_request.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/mutex.h"

namespace galen::gateway::mcp {
namespace {

constexpr int kHungUp = 499;

// The most that may wait to be read before the writer has to wait.
constexpr std::size_t kMostWaiting = 1 << 20;

// The other end of an answer. Its writers may hold locks, so what they write is processed on a
// thread of the executor; nothing is called with the lock held.
class Inner final : public http::Exchange, public std::enable_shared_from_this<Inner> {
 public:
  Inner(Executor& executor, std::function<bool(const StreamEvent&)> on_event,
        absl::AnyInvocable<void(http::Response) &&> done)
      : executor_(executor), on_event_(std::move(on_event)), done_(std::move(done)) {}
  // Dropped unanswered: the answer that a server would give then.
  ~Inner() override {
    if (!done_) return;
    http::Response response;
    response.status = 500;
    std::move(done_)(std::move(response));
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

  void Respond(http::Response response) override {
    {
      const MutexLock lock(mu_);
      head_ = std::move(response);
      ended_ = true;
    }
    Pump(/*end=*/true);
  }
  void Begin(http::Response head) override {
    {
      const MutexLock lock(mu_);
      text_ += std::exchange(head.body, std::string());
      head_ = std::move(head);
    }
    Pump();
  }
  bool Write(std::string piece) override {
    {
      const MutexLock lock(mu_);
      if (over_) return false;
      if (text_.size() > kMostWaiting) {
        full_ = true;
        return false;
      }
      text_ += piece;
    }
    Pump();
    return true;
  }
  void End() override {
    {
      const MutexLock lock(mu_);
      ended_ = true;
    }
    Pump(/*end=*/true);
  }
  void OnRoom(absl::AnyInvocable<void()> room) override {
    const MutexLock lock(mu_);
    room_ = std::make_shared<absl::AnyInvocable<void()>>(std::move(room));
  }
  void OnHangUp(absl::AnyInvocable<void()> gone) override {
    {
      const MutexLock lock(mu_);
      if (!hung_up_) {
        gone_ = std::move(gone);
        return;
      }
    }
    gone();
  }

  void HangUp() {
    absl::AnyInvocable<void()> gone;
    {
      const MutexLock lock(mu_);
      if (over_ || hung_up_) return;
      hung_up_ = true;
      gone = std::exchange(gone_, nullptr);
    }
    if (gone) gone();
    Finish(kHungUp);
  }

 private:
  // Has a thread process the input, unless one does already. If all threads are busy, a piece waits
  // for the next one; the end, whose writer holds no locks, is processed here.
  void Pump(bool end = false) {
    {
      const MutexLock lock(mu_);
      if (std::exchange(pumping_, true)) return;
    }
    if (executor_.TrySchedule([self = shared_from_this()] { self->Look(); })) return;
    if (end) return Look();
    const MutexLock lock(mu_);
    pumping_ = false;
  }

  void Look() {
    for (;;) {
      std::vector<StreamEvent> events;
      std::shared_ptr<absl::AnyInvocable<void()>> room;
      bool ended = false;
      {
        const MutexLock lock(mu_);
        events = Complete();
        ended = ended_;
        if (std::exchange(full_, false)) room = room_;
        if (events.empty() && room == nullptr && !ended) {
          pumping_ = false;
          return;
        }
      }
      for (const StreamEvent& event : events) {
        if (on_event_ && !on_event_(event)) return HangUp();
      }
      if (room != nullptr) (*room)();
      if (ended) return Finish(0);
    }
  }

  // The complete events, removed from the text.
  std::vector<StreamEvent> Complete() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<StreamEvent> events;
    std::size_t begin = 0;
    for (std::size_t end = text_.find("\n\n"); end != std::string::npos;
         end = text_.find("\n\n", begin)) {
      StreamEvent event;
      for (const absl::string_view whole :
           absl::StrSplit(absl::string_view(text_).substr(begin, end - begin), '\n')) {
        absl::string_view line = whole;
        if (absl::ConsumePrefix(&line, "data: ")) {
          event.data.append(line.data(), line.size());
        } else if (absl::ConsumePrefix(&line, "id: ")) {
          event.id = std::string(line);
        } else if (absl::ConsumePrefix(&line, "event: ")) {
          event.event = std::string(line);
        }
      }
      if (event.event.empty() && !event.data.empty()) event.event = "message";
      events.push_back(std::move(event));
      begin = end + 2;
    }
    text_.erase(0, begin);
    return events;
  }

  void Finish(int status) {
    absl::AnyInvocable<void(http::Response) &&> done;
    // They may hold this.
    absl::AnyInvocable<void()> gone;
    std::shared_ptr<absl::AnyInvocable<void()>> room;
    http::Response head;
    {
      const MutexLock lock(mu_);
      if (std::exchange(over_, true)) return;
      gone = std::exchange(gone_, nullptr);
      room = std::exchange(room_, nullptr);
      done = std::exchange(done_, nullptr);
      head = std::move(head_);
      if (status != 0) head.status = status;
    }
    if (done) std::move(done)(std::move(head));
  }

  Executor& executor_;
  const std::function<bool(const StreamEvent&)> on_event_;
  Mutex mu_;
  absl::AnyInvocable<void(http::Response) &&> done_;  // called by the first to set over_
  http::Response head_ ABSL_GUARDED_BY(mu_);
  std::string text_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;
  bool full_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  bool hung_up_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<absl::AnyInvocable<void()>> room_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void()> gone_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::function<void()> FollowInner(http::Handler& handler, Executor& executor, http::Request request,
                                  std::function<bool(const StreamEvent&)> on_event,
                                  absl::AnyInvocable<void(http::Response) &&> done) {
  auto inner = std::make_shared<Inner>(executor, std::move(on_event), std::move(done));
  const std::weak_ptr<Inner> weak = inner;
  handler.Handle(std::move(request), std::move(inner));
  return [weak] {
    if (const std::shared_ptr<Inner> still = weak.lock()) still->HangUp();
  };
}

std::function<void()> AskInner(http::Handler& handler, Executor& executor, http::Request request,
                               absl::AnyInvocable<void(http::Response) &&> done) {
  return FollowInner(handler, executor, std::move(request), nullptr, std::move(done));
}

}  // namespace galen::gateway::mcp
