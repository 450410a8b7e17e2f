#include "services/cli/exit_code.h"

#include <string>

namespace galen::cli {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kDataLoss:
      return kBadInput;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
      return kUnreachable;
    default:
      return kBroken;
  }
}

ExitCode ExitCodeOf(const v1::Diagnosis& diagnosis) {
  if (diagnosis.state() == v1::Diagnosis::FAILED) {
    return ExitCodeOf(absl::Status(static_cast<absl::StatusCode>(diagnosis.error().code()),
                                   std::string(diagnosis.error().message())));
  }
  return diagnosis.report().outcome() == v1::Report::CAUSE_CONFIRMED ? kOk : kNoCause;
}

}  // namespace galen::cli
