#ifndef SERVICES_GATEWAY_API_UPSTREAM_H_
#define SERVICES_GATEWAY_API_UPSTREAM_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clients/call.h"
#include "services/gateway/api/access.h"

namespace galen::gateway {

// The services behind the API, called by method rather than by name: a method that is new in the
// proto needs nothing here. Thread-safe; nothing blocks, and answers come on any thread.
class Upstream {
 public:
  virtual ~Upstream() = default;

  struct Call {
    const google::protobuf::MethodDescriptor* method = nullptr;
    std::shared_ptr<const google::protobuf::Message> request;
    // The tenant's resource that the call is about, "tenants/t/..."; the call goes out in the name
    // of that tenant.
    std::string resource;
    absl::Time deadline = absl::InfiniteFuture();
    // Whether it may be sent once more if it never arrived.
    bool again = false;
    // The client; a customer without a name for calls that no client asked for.
    Principal asker;
  };
  using Answer = std::unique_ptr<google::protobuf::Message>;

  // A call with one answer.
  virtual clients::Cancel Ask(Call call, clients::Done<Answer> done) = 0;

  // A call with many answers. They come one by one, each when it was asked for, so nothing piles up
  // here. Nothing comes before the first Next(), and nothing from within Next() or Cancel().
  class Feed {
   public:
    virtual ~Feed() = default;
    // Asks for one more; `on_message` or `done` follows. Not again before that.
    virtual void Next() = 0;
    // Ends it early; `done` follows.
    virtual void Cancel() = 0;
  };
  virtual std::shared_ptr<Feed> Follow(
      Call call, absl::AnyInvocable<void(const google::protobuf::Message&)> on_message,
      absl::AnyInvocable<void(absl::Status) &&> done) = 0;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_UPSTREAM_H_
