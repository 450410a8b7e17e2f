#include "services/gateway/api/watch_stream.h"

#include <google/protobuf/descriptor.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "services/gateway/api/errors.h"
#include "services/gateway/api/transcode.h"

namespace galen::gateway {
namespace {

using google::protobuf::Message;

std::int64_t SequenceOf(const Message& event) {
  const auto* field = event.GetDescriptor()->FindFieldByName("sequence");
  return field == nullptr ? 0 : event.GetReflection()->GetInt64(event, field);
}

// The same request, from another position of the log.
std::shared_ptr<const Message> From(const Message& request, std::int64_t after_sequence) {
  std::shared_ptr<Message> moved(request.New());
  moved->CopyFrom(request);
  const auto* field = moved->GetDescriptor()->FindFieldByName("after_sequence");
  if (field != nullptr) moved->GetReflection()->SetInt64(moved.get(), field, after_sequence);
  return moved;
}

}  // namespace

// One stream. With the lock held it calls only the exchange, whose methods only queue.
class WatchStreams::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(WatchStreams& all, std::int64_t id, Stream stream)
      : all_(all),
        id_(id),
        call_(std::move(stream.call)),
        filter_(std::move(stream.filter)),
        view_(std::move(stream.view)),
        headers_(std::move(stream.headers)),
        exchange_(std::move(stream.exchange)),
        on_end_(std::move(stream.on_end)),
        wrote_(SteadyNow()) {}

  void Start() {
    std::shared_ptr<http::Exchange> exchange;
    {
      const MutexLock lock(mu_);
      exchange = exchange_;
    }
    exchange->OnRoom([self = shared_from_this()] { self->OnRoom(); });
    Follow();
    exchange->OnHangUp([self = shared_from_this()] { self->OnHangUp(); });
  }

  void Tick() {
    const MutexLock lock(mu_);
    if (exchange_ == nullptr) return;
    const absl::Duration silent = SteadyNow() - wrote_;
    if (!begun_ && silent >= all_.options_.begin_after) {
      Begin();
    } else if (begun_ && silent >= all_.options_.heartbeat && waiting_.empty()) {
      wrote_ = SteadyNow();
      static_cast<void>(exchange_->Write(": still here\n\n"));  // who has no room needs no sign
    }
  }

  // This program ends: the client connects to another one.
  void EndEarly() { Finish(absl::UnavailableError("this gateway ends: watch again")); }

 private:
  void Follow() {
    auto feed = all_.upstream_.Follow(
        call_, [self = shared_from_this()](const Message& event) { self->OnEvent(event); },
        [self = shared_from_this()](const absl::Status& status) { self->OnDone(status); });
    bool over = false;
    {
      const MutexLock lock(mu_);
      over = exchange_ == nullptr;
      if (!over) feed_ = feed;
    }
    if (over) {
      feed->Cancel();
    } else {
      feed->Next();
    }
  }

  void OnEvent(const Message& event) {
    std::string text = absl::StrCat("id: ", SequenceOf(event), "\n");
    absl::StatusOr<std::string> json;
    if (filter_.all() && !view_) {
      json = ToJson(event);
    } else {
      const std::unique_ptr<Message> some(event.New());
      some->CopyFrom(event);
      if (view_) view_(*some);
      filter_.Apply(*some);
      json = ToJson(*some);
    }
    if (!json.ok()) return Finish(json.status());
    absl::StrAppend(&text, "data: ", *json, "\n\n");
    std::shared_ptr<Upstream::Feed> feed;
    {
      const MutexLock lock(mu_);
      if (exchange_ == nullptr) return;
      Begin();
      sent_ = true;
      wrote_ = SteadyNow();
      if (!exchange_->Write(text)) {
        waiting_ = std::move(text);
        return;
      }
      feed = feed_;
    }
    feed->Next();
  }

  void OnRoom() {
    std::shared_ptr<Upstream::Feed> feed;
    std::optional<absl::Status> ended;
    {
      const MutexLock lock(mu_);
      if (exchange_ == nullptr || waiting_.empty()) return;
      wrote_ = SteadyNow();
      if (!exchange_->Write(waiting_)) return;
      waiting_.clear();
      ended = ended_;
      if (!ended) feed = feed_;
    }
    if (ended) return Finish(*ended);
    feed->Next();
  }

  void OnDone(const absl::Status& status) {
    bool again = false;
    {
      const MutexLock lock(mu_);
      if (exchange_ == nullptr) return;
      if (!waiting_.empty()) {
        ended_ = status;
        return;
      }
      // The client's position is beyond the log, so it is of another log. The client is told to
      // forget its events, and gets all events of this one.
      if (absl::IsOutOfRange(status) && !sent_) {
        again = sent_ = true;
        Begin();
        static_cast<void>(exchange_->Write("event: reset\ndata: {}\n\n"));
        call_.request = From(*call_.request, 0);
      }
    }
    if (again) return Follow();
    Finish(status);
  }

  void OnHangUp() { Finish(absl::CancelledError("the client hung up"), /*gone=*/true); }

  void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (begun_) return;
    begun_ = true;
    wrote_ = SteadyNow();
    http::Response head;
    head.headers = headers_;
    head.headers.Set("Content-Type", "text/event-stream");
    head.headers.Set("Cache-Control", "no-cache, no-transform");
    head.headers.Set("X-Accel-Buffering", "no");  // nginx would hold events back
    head.body = absl::StrCat("retry: ", absl::ToInt64Milliseconds(all_.options_.retry), "\n\n");
    exchange_->Begin(std::move(head));
  }

  void Finish(const absl::Status& status, bool gone = false) {
    std::shared_ptr<http::Exchange> exchange;
    std::shared_ptr<Upstream::Feed> feed;
    absl::AnyInvocable<void(const absl::Status&) &&> on_end;
    {
      const MutexLock lock(mu_);
      if (exchange_ == nullptr) return;
      exchange = std::exchange(exchange_, nullptr);
      feed = std::exchange(feed_, nullptr);
      on_end = std::exchange(on_end_, nullptr);
    }
    if (feed != nullptr) feed->Cancel();
    if (!gone) SayEnd(*exchange, status);
    if (on_end) std::move(on_end)(status);
    all_.Remove(id_);
  }

  void SayEnd(http::Exchange& exchange, const absl::Status& status) {
    bool begun = false;
    {
      const MutexLock lock(mu_);
      begun = begun_;
    }
    if (!begun) {
      http::Response response = status.ok() ? http::Response{.status = 204} : ErrorResponse(status);
      for (const auto& [name, value] : headers_.all()) response.headers.Set(name, value);
      // 204 ends the attempts of a browser: it has seen all events, and there will be no more.
      return exchange.Respond(std::move(response));
    }
    if (status.ok()) {
      static_cast<void>(exchange.Write("event: end\ndata: {}\n\n"));
    } else if (!absl::IsUnavailable(status)) {
      static_cast<void>(
          exchange.Write(absl::StrCat("event: error\ndata: ", ErrorJson(status), "\n\n")));
    }
    // After a temporary failure the client just sees the end of the stream, and resumes where it
    // was.
    exchange.End();
  }

  WatchStreams& all_;
  const std::int64_t id_;
  Upstream::Call call_;
  const FieldFilter filter_;
  const std::function<void(Message&)> view_;
  const http::Headers headers_;
  Mutex mu_;
  std::shared_ptr<http::Exchange> exchange_ ABSL_GUARDED_BY(mu_);  // null once it is over
  std::shared_ptr<Upstream::Feed> feed_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void(const absl::Status&) &&> on_end_ ABSL_GUARDED_BY(mu_);
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  bool sent_ ABSL_GUARDED_BY(mu_) = false;                  // an event, or a reset
  std::string waiting_ ABSL_GUARDED_BY(mu_);                // an event that found no room
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mu_);  // once that has been sent
  absl::Time wrote_ ABSL_GUARDED_BY(mu_);
};

WatchStreams::WatchStreams(Upstream& upstream, Options options)
    : upstream_(upstream),
      options_(options),
      ticks_(
          [this] {
            std::map<std::int64_t, std::shared_ptr<Session>> all;
            {
              const MutexLock lock(mu_);
              all = sessions_;
            }
            for (const auto& [id, session] : all) session->Tick();
            return options_.tick;
          },
          options_.tick) {}

WatchStreams::~WatchStreams() { EndAll(); }

void WatchStreams::Start(Stream stream) {
  std::shared_ptr<Session> session;
  bool ending = false;
  {
    const MutexLock lock(mu_);
    ending = ending_;
    session = std::make_shared<Session>(*this, ++last_, std::move(stream));
    sessions_[last_] = session;
  }
  if (ending) return session->EndEarly();
  session->Start();
}

void WatchStreams::EndAll() {
  std::map<std::int64_t, std::shared_ptr<Session>> all;
  {
    const MutexLock lock(mu_);
    ending_ = true;
    all = sessions_;
  }
  for (const auto& [id, session] : all) session->EndEarly();
}

std::size_t WatchStreams::open() const {
  const MutexLock lock(mu_);
  return sessions_.size();
}

void WatchStreams::Remove(std::int64_t id) {
  std::shared_ptr<Session> freed;  // outside the lock
  const MutexLock lock(mu_);
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  freed = std::move(it->second);
  sessions_.erase(it);
}

}  // namespace galen::gateway
