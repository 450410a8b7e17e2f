#include "common/rpc/status.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "common/base/proto_time.h"
#include "common/base/retry_hint.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace galen::rpc {
namespace {

constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::ErrorInfo info;
  if (const auto payload = status.GetPayload(kErrorInfoUrl)) {
    info.ParseFromString(std::string(*payload));
  }
  if (info.reason().empty()) info.set_reason(absl::StatusCodeToString(status.code()));
  info.set_domain("galen");
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(std::string(status.message()));
  wire.add_details()->PackFrom(info);
  if (const auto wait = RetryAfter(status)) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = ToProtoDuration(*wait);
    wire.add_details()->PackFrom(retry);
  }
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
          wire.SerializeAsString()};
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status wire;
  if (wire.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : wire.details()) {
      google::rpc::ErrorInfo info;
      if (detail.UnpackTo(&info)) {
        result.SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
      }
      google::rpc::RetryInfo retry;
      if (detail.UnpackTo(&retry)) {
        result = WithRetryAfter(std::move(result), ToDuration(retry.retry_delay()));
      }
    }
  }
  return result;
}

}  // namespace galen::rpc
