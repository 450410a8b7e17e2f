#ifndef COMMON_KUBE_CLIENT_H_
#define COMMON_KUBE_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/mutex.h"
#include "common/kube/answer.h"
#include "common/kube/config.h"
#include "common/kube/http.h"
#include "common/kube/rate.h"
#include "common/kube/resource.h"
#include "common/kube/token.h"

namespace galen::kube {

// The client's dependencies; tests give their own.
struct Dependencies {
  std::unique_ptr<Transport> transport;  // null: libcurl
  std::function<absl::Time()> now;       // on SteadyNow()'s scale
  // True when it was cancelled.
  std::function<bool(absl::Duration, const Cancellation&)> sleep;
  std::function<double()> chance;  // in [0, 1); thread-safe
};

// Time limit of a call with its pauses and retries, and its cancellation.
struct Call {
  absl::Duration timeout = absl::Seconds(30);
  const Cancellation* cancellation = nullptr;
};

// The selected objects of a kind: of one namespace or, with "", of all, narrowed by the server.
struct Selection {
  Resource resource;
  std::string space;
  std::string labels;  // "job-name=train"
  std::string fields;  // "spec.nodeName=gpu-1"
};

struct Listing {
  std::vector<Json> items;
  std::string resource_version;  // a watch goes on from here
};

struct Patch {
  enum class Kind {
    kMerge,      // RFC 7396: lists are replaced
    kStrategic,  // lists are merged by their key, as node conditions by type; not for custom ones
    kApply,      // server-side apply: the whole state that `manager` wants
  };
  Kind kind = Kind::kMerge;
  Json content;
  std::string subresource;  // "status"
  std::string manager = "galen";
  bool force = false;  // kApply: takes fields over from other managers
};

// The wanted part of a pod's log.
struct LogQuestion {
  std::string container;
  absl::Time since;       // whole seconds count
  bool previous = false;  // of the container's run before
  std::size_t most_bytes = std::size_t{64} << 20;
};

// Requests to the Kubernetes API, limited to the rate in the options. A transient refusal (429,
// 5xx) is retried, after the server's own delay and a pause that differs from client to client; so
// is an interrupted request, unless it creates an object, which may have happened. A refused token
// is read again once. Errors are those of common/kube/answer.h and common/http/curl_transport.h.
// Thread-safe; calls block.
class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> Make(const Options& options,
                                                      Dependencies dependencies = {});

  absl::StatusOr<Json> Get(const Resource& resource, const ObjectName& object, const Call& call);
  // The whole list, page by page. If a page has expired because the list takes too long (410), it
  // starts again, a few times.
  absl::StatusOr<Listing> List(const Selection& selection, const Call& call, int page = 500);
  absl::StatusOr<Json> Create(const Resource& resource, absl::string_view space, const Json& object,
                              const Call& call);
  absl::StatusOr<Json> Apply(const Resource& resource, const ObjectName& object, const Patch& patch,
                             const Call& call);
  // One connection of a watch from a version on; its lines come as bytes. OK if the server ends it.
  // Not retried: common/kube/watch.h does that. `call.timeout` is how long the server may keep it.
  absl::Status WatchOnce(const Selection& selection, absl::string_view version,
                         const std::function<absl::Status(absl::string_view)>& on_bytes,
                         const Call& call);

  // The log of a pod's container, each line after its time; it comes as bytes. An error of
  // `on_bytes` ends it and is returned. Not retried.
  absl::Status ReadLog(const ObjectName& pod, const LogQuestion& question,
                       const std::function<absl::Status(absl::string_view)>& on_bytes,
                       const Call& call);

  const Options& options() const { return options_; }
  // For callers that retry themselves: the pause before retry `number`, its sleep, and a number in
  // [0, 1).
  absl::Duration PauseBefore(int number, std::optional<absl::Duration> retry_after) const;
  bool Sleep(absl::Duration duration, const Cancellation& cancellation) const {
    return dependencies_.sleep(duration, cancellation);
  }
  double Chance() const { return dependencies_.chance(); }

 private:
  Client(const Options& options, Dependencies dependencies);
  absl::Status TakeTurn(absl::Time deadline, const Cancellation& cancellation);
  // One request, two if the token was refused.
  absl::StatusOr<HttpReply> SendOnce(const HttpRequest& request);
  absl::StatusOr<Json> Ask(HttpRequest request, absl::Time deadline, const Call& call);
  absl::StatusOr<Listing> ListOnce(const Selection& selection, const std::string& path, int page,
                                   absl::Time deadline, const Call& call);

  const Options options_;
  const Dependencies dependencies_;
  TokenFile token_;
  Mutex mu_;
  TokenBucket bucket_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::kube

#endif  // COMMON_KUBE_CLIENT_H_
