#ifndef SERVICES_GATEWAY_API_WATCH_STREAM_H_
#define SERVICES_GATEWAY_API_WATCH_STREAM_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/periodic_task.h"
#include "services/gateway/api/field_filter.h"
#include "services/gateway/api/upstream.h"
#include "services/gateway/http/handler.h"

namespace galen::gateway {

// Streams of events to HTTP clients as server-sent events (WHATWG HTML, section 9.2): `id` is the
// sequence of the event, from which a client that lost the stream goes on (`Last-Event-ID`). The
// log is the queue of each: an event is asked for when the one before has found room, so a slow
// client holds one event and what the server's limit for streams allows. docs/api.md has the wire.
// Thread-safe.
class WatchStreams {
 public:
  struct Options {
    absl::Duration heartbeat = absl::Seconds(15);
    // A stream without any event begins after this time all the same.
    absl::Duration begin_after = absl::Milliseconds(500);
    absl::Duration tick = absl::Milliseconds(100);
    // The pause before a client that lost its stream tries again.
    absl::Duration retry = absl::Seconds(2);
  };
  struct Stream {
    std::shared_ptr<http::Exchange> exchange;
    Upstream::Call call;  // its request has a field `after_sequence`
    FieldFilter filter;
    // Removes the parts of an event that this client may not see, in addition to `filter`; empty:
    // removes nothing.
    std::function<void(google::protobuf::Message& event)> view;
    http::Headers headers;  // of the answer, beside those of an event stream
    // Gets the result of the stream, once; CANCELLED if the client left.
    absl::AnyInvocable<void(const absl::Status&) &&> on_end;
  };

  // `upstream` must outlive the streams.
  WatchStreams(Upstream& upstream, Options options);
  ~WatchStreams();
  WatchStreams(const WatchStreams&) = delete;
  WatchStreams& operator=(const WatchStreams&) = delete;

  void Start(Stream stream);
  // Ends all streams, present and future, so that their clients connect elsewhere: called before a
  // server stops.
  void EndAll();
  std::size_t open() const;

 private:
  class Session;
  void Remove(std::int64_t id);

  Upstream& upstream_;
  const Options options_;
  mutable Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::int64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::int64_t, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mu_);
  PeriodicTask ticks_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_WATCH_STREAM_H_
