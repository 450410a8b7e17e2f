#include "services/gateway/uploads/uploads_api.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/time_text.h"
#include "common/observability/trace/trace.h"
#include "common/security/identity.h"
#include "services/gateway/api/admission.h"
#include "services/gateway/api/errors.h"
#include "services/gateway/api/json_response.h"
#include "services/gateway/api/transcode.h"

namespace galen::gateway {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr absl::Duration kUploadTimeout = absl::Hours(2);

OrderedJson ToJson(const Upload& upload) {
  OrderedJson json{{"name", upload.name},
                   {"kind", NameOf(upload.kind)},
                   {"fileName", upload.file_name},
                   {"sizeBytes", absl::StrCat(upload.bytes)},
                   {"createTime", TimeText(upload.created)},
                   {"expireTime", TimeText(upload.expires)}};
  if (upload.kind == UploadKind::kBundle) {
    json["description"] = upload.description;
    json["nodes"] = upload.nodes;
  }
  return json;
}

std::string Text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

absl::string_view PathOf(const http::Request& request) {
  return absl::string_view(request.target).substr(0, request.target.find('?'));
}

}  // namespace

// A request on its way. Answered once.
class UploadsApi::Call {
 public:
  Call(http::Request asked, std::shared_ptr<http::Exchange> exchange)
      : request(std::move(asked)), exchange_(std::move(exchange)) {}

  void Answer(http::Response response) {
    incoming.reset();
    for (const auto& [name, value] : headers.all()) response.headers.Set(name, value);
    exchange_->Respond(std::move(response));
  }
  void Fail(const absl::Status& status) {
    const bool large = absl::StrContains(ErrorJson(status), "UPLOAD_TOO_LARGE");
    Answer(ErrorResponse(status, large ? 413 : 0));
  }

  const http::Request request;
  http::Headers headers;
  std::string tenant;
  std::string id;  // "": the collection
  UploadKind kind = UploadKind::kLog;
  std::string file_name;
  std::unique_ptr<UploadStore::Incoming> incoming;
  std::string piece;

 private:
  const std::shared_ptr<http::Exchange> exchange_;
};

UploadsApi::UploadsApi(UploadStore& store, Access& access, RateLimiter& rates, Executor& executor,
                       Executor& unpacking)
    : store_(store),
      access_(access),
      rates_(rates),
      executor_(executor),
      unpacking_(unpacking),
      collection_(PathTemplate::Parse("/v1/{parent=tenants/*}/uploads").value()),
      one_(PathTemplate::Parse("/v1/{name=tenants/*/uploads/*}").value()) {}

http::Response UploadsApi::Refuse(int status, const std::string& why) {
  return ErrorResponse(absl::InvalidArgumentError(why), status);
}

std::optional<http::BodyRules> UploadsApi::TakesPieces(const http::Request& head) {
  if (head.method != "POST" || !collection_.Match(PathOf(head))) return std::nullopt;
  return http::BodyRules{.max_bytes = static_cast<std::uint64_t>(store_.options().most_bytes),
                         .timeout = kUploadTimeout};
}

void UploadsApi::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  const auto call = std::make_shared<Call>(std::move(request), std::move(exchange));
  call->headers.Add("X-Request-Id", trace::TraceIdOf(trace::NewTrace()));
  const std::string& method = call->request.method;
  const absl::string_view path = PathOf(call->request);
  const auto collection = collection_.Match(path);
  const auto one = one_.Match(path);
  if (!collection && !one) {
    return call->Fail(absl::NotFoundError("there is no such path"));
  }
  const bool reads = method == "GET" || method == "HEAD";
  if (!reads && method != (collection ? "POST" : "DELETE")) {
    call->headers.Add("Allow", collection ? "GET, HEAD, POST" : "GET, HEAD, DELETE");
    return call->Answer(
        ErrorResponse(WithReason(absl::UnimplementedError("this path does not take that method"),
                                 "METHOD_NOT_ALLOWED"),
                      405));
  }
  const std::string resource = collection ? collection->at("parent") : one->at("name");
  call->tenant = std::string(security::TenantOf(resource));
  if (one) call->id = resource.substr(resource.rfind('/') + 1);
  Admit(access_, rates_, call->request,
        {.resource = resource, .scope = reads ? kScopeRead : kScopeWrite}, call->headers,
        [this, call, reads](const absl::StatusOr<Principal>& principal) {
          if (!principal.ok()) return call->Fail(principal.status());
          Later(call, reads || !call->id.empty() ? &UploadsApi::Do : &UploadsApi::Begin);
        });
}

// Runs the disk work of a call, outside the server's threads.
void UploadsApi::Later(const std::shared_ptr<Call>& call,
                       void (UploadsApi::*work)(const std::shared_ptr<Call>&)) {
  if (executor_.TrySchedule([this, call, work] { (this->*work)(call); })) return;
  call->Fail(absl::UnavailableError("too many uploads wait for the disk; try again"));
}

void UploadsApi::Do(const std::shared_ptr<Call>& call) {
  if (call->request.method == "DELETE") {
    const absl::Status deleted = store_.Delete(call->tenant, call->id);
    return deleted.ok() ? call->Answer(JsonResponse("{}")) : call->Fail(deleted);
  }
  if (!call->id.empty()) {
    const absl::StatusOr<Upload> upload = store_.Get(call->tenant, call->id);
    return upload.ok() ? call->Answer(JsonResponse(Text(ToJson(*upload))))
                       : call->Fail(upload.status());
  }
  const absl::StatusOr<std::vector<Upload>> uploads = store_.List(call->tenant);
  if (!uploads.ok()) return call->Fail(uploads.status());
  OrderedJson list = OrderedJson::array();
  for (const Upload& upload : *uploads) list.push_back(ToJson(upload));
  call->Answer(JsonResponse(Text(OrderedJson{{"uploads", std::move(list)}})));
}

void UploadsApi::Begin(const std::shared_ptr<Call>& call) {
  const std::size_t mark = call->request.target.find('?');
  const absl::StatusOr<Query> query =
      ParseQuery(mark == std::string::npos ? "" : call->request.target.substr(mark + 1));
  if (!query.ok()) return call->Fail(query.status());
  bool kind_given = false;
  for (const auto& [name, value] : *query) {
    if (name == "kind" && (value == "log" || value == "bundle")) {
      call->kind = value == "bundle" ? UploadKind::kBundle : UploadKind::kLog;
      kind_given = true;
    } else if (name == "fileName" || name == "file_name") {
      call->file_name = value;
    } else {
      return call->Fail(FieldError(
          name, name == "kind" ? "is neither log nor bundle" : "there is no such parameter"));
    }
  }
  if (!kind_given) return call->Fail(FieldError("kind", "say log or bundle"));
  if (call->request.pieces == nullptr) {
    return call->Fail(absl::InvalidArgumentError("upload: is empty; send the file itself"));
  }
  if (call->request.headers.Has("Content-Encoding")) {
    return call->Fail(WithReason(
        absl::InvalidArgumentError("Content-Encoding: send the file as it is, without it"),
        "CONTENT_ENCODING"));
  }
  std::int64_t length = 0;
  if (!absl::SimpleAtoi(call->request.headers.Get("Content-Length"), &length)) length = 0;
  absl::StatusOr<std::unique_ptr<UploadStore::Incoming>> incoming =
      store_.Begin(call->tenant, call->kind, call->file_name, length);
  if (!incoming.ok()) return call->Fail(incoming.status());
  call->incoming = *std::move(incoming);
  Next(call);
}

// Stores a piece and asks for the next: one piece is in memory at a time.
void UploadsApi::Next(const std::shared_ptr<Call>& call) {
  if (const absl::Status written = call->incoming->Write(call->piece); !written.ok()) {
    return call->Fail(written);
  }
  call->request.pieces->Read([this, call](absl::StatusOr<std::string> piece) {
    if (!piece.ok()) {
      return call->Fail(absl::IsResourceExhausted(piece.status())
                            ? WithReason(piece.status(), "UPLOAD_TOO_LARGE")
                            : piece.status());
    }
    call->piece = *std::move(piece);
    Later(call, call->piece.empty() ? &UploadsApi::End : &UploadsApi::Next);
  });
}

// Unpacking a bundle may take minutes: one at a time for each tenant, and never on the threads that
// write pieces.
void UploadsApi::End(const std::shared_ptr<Call>& call) {
  if (call->kind != UploadKind::kBundle) return Finish(call);
  {
    const MutexLock lock(mu_);
    std::deque<std::shared_ptr<Call>>& waiting = ending_[call->tenant];
    waiting.push_back(call);
    if (waiting.size() > 1) return;
  }
  EndNext(call->tenant);
}

void UploadsApi::EndNext(const std::string& tenant) {
  std::shared_ptr<Call> first;
  {
    const MutexLock lock(mu_);
    first = ending_[tenant].front();
  }
  const auto end = [this, tenant](const std::shared_ptr<Call>& call, bool taken) {
    if (taken) {
      Finish(call);
    } else {
      call->Fail(absl::UnavailableError("too many uploads wait to be unpacked; try again"));
    }
    {
      const MutexLock lock(mu_);
      std::deque<std::shared_ptr<Call>>& waiting = ending_[tenant];
      waiting.pop_front();
      if (waiting.empty()) {
        ending_.erase(tenant);
        return;
      }
    }
    EndNext(tenant);
  };
  if (!unpacking_.TrySchedule([end, first] { end(first, true); })) end(first, false);
}

void UploadsApi::Finish(const std::shared_ptr<Call>& call) {
  const absl::StatusOr<Upload> upload = call->incoming->Finish();
  if (!upload.ok()) return call->Fail(upload.status());
  call->Answer(JsonResponse(Text(ToJson(*upload))));
}

}  // namespace galen::gateway
