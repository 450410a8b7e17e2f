#include "common/base/retry_hint.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace galen {
namespace {

constexpr char kUrl[] = "galen/retry-after";  // the payload is a number of microseconds
constexpr absl::Duration kLongest = absl::Hours(1);

}  // namespace

absl::Status WithRetryAfter(absl::Status status, absl::Duration wait) {
  if (!status.ok()) {
    wait = std::clamp(wait, absl::ZeroDuration(), kLongest);
    status.SetPayload(kUrl, absl::Cord(absl::StrCat(absl::ToInt64Microseconds(wait))));
  }
  return status;
}

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kUrl);
  std::int64_t micros = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &micros)) {
    return std::nullopt;
  }
  return std::clamp(absl::Microseconds(micros), absl::ZeroDuration(), kLongest);
}

}  // namespace galen
