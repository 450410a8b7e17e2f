#include "common/kube/client.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/retry_hint.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"

namespace galen::kube {
namespace {

constexpr int kMostBeginnings = 3;  // of one list
constexpr int kMostPages = 10'000;
// If the server does not end a watch in its time, we end it this much later.
constexpr absl::Duration kGrace = absl::Seconds(30);

double AnyChance() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(random);
}

const Cancellation& CancellationOf(const Call& call) {
  return call.cancellation == nullptr ? Cancellation::Never() : *call.cancellation;
}

// "get /api/v1/nodes/a", without the query, which may be long.
std::string NameOf(const HttpRequest& request) {
  return absl::StrCat(absl::AsciiStrToLower(request.method), " ",
                      request.target.substr(0, request.target.find('?')));
}

// Whether the server says that it did nothing and will do it later. 500 can also be a fault of its
// own; then only a harmless repeat is tried.
bool WillPass(int code, bool asked_to_wait, bool twice_is_once) {
  return code == 429 || (code >= 500 && code <= 599 && (asked_to_wait || twice_is_once));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Make(const Options& options,
                                                     Dependencies dependencies) {
  GALEN_RETURN_IF_ERROR(Check(options));
  if (dependencies.transport == nullptr) {
    dependencies.transport =
        std::make_unique<http::CurlTransport>(http::Options{.server = options.server,
                                                            .what = "API server",
                                                            .ca_file = options.ca_file,
                                                            .connect = options.connect});
  }
  if (!dependencies.now) dependencies.now = &SteadyNow;
  if (!dependencies.chance) dependencies.chance = &AnyChance;
  if (!dependencies.sleep) {
    dependencies.sleep = [](absl::Duration duration, const Cancellation& cancellation) {
      return cancellation.SleepFor(duration);
    };
  }
  return std::unique_ptr<Client>(new Client(options, std::move(dependencies)));
}

Client::Client(const Options& options, Dependencies dependencies)
    : options_(options),
      dependencies_(std::move(dependencies)),
      token_(options.token_file),
      bucket_(options.requests_per_second, options.burst) {}

absl::Duration Client::PauseBefore(int number, std::optional<absl::Duration> retry_after) const {
  return http::Pause(options_.retry, number, retry_after, dependencies_.chance());
}

absl::Status Client::TakeTurn(absl::Time deadline, const Cancellation& cancellation) {
  const absl::Time now = dependencies_.now();
  std::optional<absl::Duration> wait;
  {
    MutexLock lock(mu_);
    wait = bucket_.Take(now, deadline - now);
  }
  if (!wait.has_value()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "API server ", options_.server, ": more requests than its client lets through (",
        options_.requests_per_second, " a second); ask less, or raise it"));
  }
  if (*wait > absl::ZeroDuration() && dependencies_.sleep(*wait, cancellation)) {
    return absl::CancelledError("stopped by the caller");
  }
  return absl::OkStatus();
}

absl::StatusOr<HttpReply> Client::SendOnce(const HttpRequest& request) {
  GALEN_ASSIGN_OR_RETURN(const http::Secret token, token_.Get());
  absl::StatusOr<HttpReply> reply = dependencies_.transport->Send(request, token);
  if (!reply.ok() || reply->code != 401 || token.empty()) return reply;
  // It may have been exchanged since it was read.
  token_.Refused();
  GALEN_ASSIGN_OR_RETURN(const http::Secret now, token_.Get());
  if (now == token) return reply;
  return dependencies_.transport->Send(request, now);
}

absl::StatusOr<Json> Client::Ask(HttpRequest request, absl::Time deadline, const Call& call) {
  const Cancellation& cancellation = CancellationOf(call);
  const std::string name = NameOf(request);
  const bool twice_is_once = request.method != "POST";
  request.deadline = deadline;
  request.cancellation = call.cancellation;
  request.most_bytes = options_.most_bytes;
  for (int tries = 1;; ++tries) {
    GALEN_RETURN_IF_ERROR(TakeTurn(deadline, cancellation));
    absl::StatusOr<HttpReply> reply = SendOnce(request);
    absl::Status status;
    bool again = false;
    if (!reply.ok()) {
      status =
          absl::Status(reply.status().code(), absl::StrCat(name, ": ", reply.status().message()));
      again = twice_is_once && absl::IsUnavailable(status);
    } else if (reply->code >= 200 && reply->code < 300) {
      absl::StatusOr<Json> object = ParseObject(reply->body);
      if (object.ok()) return object;
      return absl::Status(object.status().code(),
                          absl::StrCat(name, ": ", object.status().message()));
    } else {
      status = StatusOfAnswer(name, reply->code, reply->body, reply->retry_after);
      again = WillPass(reply->code, RetryAfter(status).has_value(), twice_is_once);
    }
    if (!again || tries > options_.retry.most) return status;
    const absl::Duration pause = PauseBefore(tries, RetryAfter(status));
    // The server's own answer now is better than a deadline later.
    if (dependencies_.now() + pause >= deadline) return status;
    if (dependencies_.sleep(pause, cancellation)) {
      return absl::CancelledError("stopped by the caller");
    }
  }
}

absl::StatusOr<Json> Client::Get(const Resource& resource, const ObjectName& object,
                                 const Call& call) {
  if (object.name.empty()) return absl::InvalidArgumentError("get: the object has no name");
  HttpRequest request;
  GALEN_ASSIGN_OR_RETURN(request.target, PathOf(resource, object));
  return Ask(std::move(request), dependencies_.now() + call.timeout, call);
}

absl::StatusOr<Listing> Client::ListOnce(const Selection& selection, const std::string& path,
                                         int page, absl::Time deadline, const Call& call) {
  Listing listing;
  std::string next;
  std::size_t bytes = 0;
  for (int pages = 0; pages < kMostPages; ++pages) {
    HttpRequest request;
    request.target = absl::StrCat(path, QueryText({{"limit", absl::StrCat(page)},
                                                   {"labelSelector", selection.labels},
                                                   {"fieldSelector", selection.fields},
                                                   {"continue", next}}));
    GALEN_ASSIGN_OR_RETURN(Json object, Ask(std::move(request), deadline, call));
    const auto items = object.find("items");
    if (items != object.end() && items->is_array()) {
      for (Json& item : *items) {
        if (!item.is_object()) {
          return absl::DataLossError(absl::StrCat("get ", path, ": an item is not a JSON object"));
        }
        bytes += item.dump(-1, ' ', false, Json::error_handler_t::replace).size();
        if (listing.items.size() >= options_.most_items || bytes > options_.most_list_bytes) {
          return absl::ResourceExhaustedError(absl::StrCat(
              "get ", path, ": more than ", options_.most_items, " objects or ",
              options_.most_list_bytes, " bytes; narrow the selection or raise the limits"));
        }
        listing.items.push_back(std::move(item));
      }
    } else if (items == object.end() || !items->is_null()) {  // Go writes an empty list as null
      return absl::DataLossError(absl::StrCat("get ", path, ": the answer is not a list"));
    }
    listing.resource_version = TextAt(object, {"metadata", "resourceVersion"});
    next = TextAt(object, {"metadata", "continue"});
    if (next.empty()) return listing;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("get ", path, ": more than ", kMostPages, " pages; ask for larger ones"));
}

absl::StatusOr<Listing> Client::List(const Selection& selection, const Call& call, int page) {
  GALEN_ASSIGN_OR_RETURN(const std::string path, PathOf(selection.resource, {selection.space, ""}));
  const absl::Time deadline = dependencies_.now() + call.timeout;
  for (int beginning = 1;; ++beginning) {
    absl::StatusOr<Listing> listing = ListOnce(selection, path, page, deadline, call);
    if (!absl::IsOutOfRange(listing.status()) || beginning == kMostBeginnings) return listing;
  }
}

absl::StatusOr<Json> Client::Create(const Resource& resource, absl::string_view space,
                                    const Json& object, const Call& call) {
  HttpRequest request;
  request.method = "POST";
  GALEN_ASSIGN_OR_RETURN(request.target, PathOf(resource, {std::string(space), ""}));
  request.content_type = "application/json";
  request.body = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return Ask(std::move(request), dependencies_.now() + call.timeout, call);
}

absl::StatusOr<Json> Client::Apply(const Resource& resource, const ObjectName& object,
                                   const Patch& patch, const Call& call) {
  if (object.name.empty()) return absl::InvalidArgumentError("patch: the object has no name");
  HttpRequest request;
  request.method = "PATCH";
  GALEN_ASSIGN_OR_RETURN(request.target, PathOf(resource, object, patch.subresource));
  const bool apply = patch.kind == Patch::Kind::kApply;
  request.target +=
      QueryText({{"fieldManager", patch.manager}, {"force", apply && patch.force ? "true" : ""}});
  switch (patch.kind) {
    case Patch::Kind::kMerge:
      request.content_type = "application/merge-patch+json";
      break;
    case Patch::Kind::kStrategic:
      request.content_type = "application/strategic-merge-patch+json";
      break;
    case Patch::Kind::kApply:
      request.content_type = "application/apply-patch+yaml";  // JSON is YAML
      break;
  }
  request.body = patch.content.dump(-1, ' ', false, Json::error_handler_t::replace);
  return Ask(std::move(request), dependencies_.now() + call.timeout, call);
}

absl::Status Client::WatchOnce(const Selection& selection, absl::string_view version,
                               const std::function<absl::Status(absl::string_view)>& on_bytes,
                               const Call& call) {
  HttpRequest request;
  GALEN_ASSIGN_OR_RETURN(request.target, PathOf(selection.resource, {selection.space, ""}));
  request.target += QueryText({{"watch", "true"},
                               {"allowWatchBookmarks", "true"},
                               {"resourceVersion", std::string(version)},
                               {"timeoutSeconds", absl::StrCat(absl::ToInt64Seconds(call.timeout))},
                               {"labelSelector", selection.labels},
                               {"fieldSelector", selection.fields}});
  request.on_bytes = on_bytes;
  request.most_bytes = std::numeric_limits<std::size_t>::max();  // a watch goes on for hours
  request.cancellation = call.cancellation;
  request.deadline = dependencies_.now() + call.timeout + kGrace;
  GALEN_RETURN_IF_ERROR(TakeTurn(request.deadline, CancellationOf(call)));
  GALEN_ASSIGN_OR_RETURN(const HttpReply reply, SendOnce(request));
  if (reply.code >= 200 && reply.code < 300) return absl::OkStatus();
  return StatusOfAnswer(absl::StrCat("watch ", request.target.substr(0, request.target.find('?'))),
                        reply.code, reply.body, reply.retry_after);
}

absl::Status Client::ReadLog(const ObjectName& pod, const LogQuestion& question,
                             const std::function<absl::Status(absl::string_view)>& on_bytes,
                             const Call& call) {
  if (pod.name.empty()) return absl::InvalidArgumentError("log: the pod has no name");
  HttpRequest request;
  GALEN_ASSIGN_OR_RETURN(request.target, PathOf({"", "v1", "pods"}, pod, "log"));
  request.target += QueryText(
      {{"container", question.container},
       {"previous", question.previous ? "true" : ""},
       {"sinceTime", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", question.since, absl::UTCTimeZone())},
       {"timestamps", "true"}});
  request.accept = "application/json, */*";  // the log itself is text
  request.on_bytes = on_bytes;
  request.most_bytes = question.most_bytes;
  request.cancellation = call.cancellation;
  request.deadline = dependencies_.now() + call.timeout;
  GALEN_RETURN_IF_ERROR(TakeTurn(request.deadline, CancellationOf(call)));
  GALEN_ASSIGN_OR_RETURN(const HttpReply reply, SendOnce(request));
  if (reply.code >= 200 && reply.code < 300) return absl::OkStatus();
  return StatusOfAnswer(NameOf(request), reply.code, reply.body, reply.retry_after);
}

}  // namespace galen::kube
