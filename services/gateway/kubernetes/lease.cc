#include "services/gateway/kubernetes/lease.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace galen::gateway::kubernetes {
namespace {

constexpr char kSpace[] = "kubernetes.lease";

struct Held {
  std::string owner;
  absl::Time until = absl::InfinitePast();
};

// "milliseconds owner"; an invalid value is held by nobody.
Held Parse(const std::string& value) {
  const std::vector<std::string> parts = absl::StrSplit(value, absl::MaxSplits(' ', 1));
  std::int64_t until = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &until)) return {};
  return {parts[1], absl::FromUnixMillis(until)};
}

}  // namespace

absl::StatusOr<bool> Lease::Hold() {
  const absl::Time now = clock_.Now();
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record, records_.Get(kSpace, name_));
  const Held held = record.has_value() ? Parse(record->value) : Held{};
  const absl::Duration left = held.until - now;
  // (A lease that ends later than any of ours could was taken by a gateway with a wrong clock.)
  const bool good = left > absl::ZeroDuration() && left <= 2 * kTime;
  if (good && held.owner != owner_) return false;
  if (good && left > kTime * 2 / 3 && left <= kTime) return true;
  const absl::Status put =
      records_
          .Put(kSpace, name_, absl::StrCat(absl::ToUnixMillis(now + kTime), " ", owner_),
               record.has_value() ? record->version : 0)
          .status();
  if (absl::IsAborted(put)) return false;  // another one was quicker
  GALEN_RETURN_IF_ERROR(put);
  return true;
}

void Lease::GiveUp() {
  const auto record = records_.Get(kSpace, name_);
  if (!record.ok() || !record->has_value() || Parse((*record)->value).owner != owner_) return;
  // (Should it fail, it runs out.)
  records_.Remove(kSpace, name_, (*record)->version).IgnoreError();
}

}  // namespace galen::gateway::kubernetes
