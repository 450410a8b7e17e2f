#include "services/advisor/confirmations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/crypto/sha256.h"
#include "galen/advisor/v1/advisor.pb.h"

namespace galen::advisor {
namespace {

using Stage = Confirmation::Stage;
using Kept = v1::ConfirmationSet::Job;

constexpr char kConfirmations[] = "advisor-confirmations";  // space of the records
constexpr std::size_t kDigits = 3;                          // hexadecimal: kBuckets
constexpr int kAttempts = 8;
static_assert(Confirmations::kBuckets == std::size_t{1} << (4 * kDigits));

Kept::Stage StageOf(Stage stage) {
  switch (stage) {
    case Stage::kTesting:
      return Kept::TESTING;
    case Stage::kConfirmed:
      return Kept::CONFIRMED;
    case Stage::kRefuted:
      return Kept::REFUTED;
    case Stage::kUntested:
      return Kept::UNTESTED;
    case Stage::kQuiet:
      break;
  }
  return Kept::STAGE_UNSPECIFIED;
}

Stage StageOf(Kept::Stage stage) {
  switch (stage) {
    case Kept::TESTING:
      return Stage::kTesting;
    case Kept::CONFIRMED:
      return Stage::kConfirmed;
    case Kept::REFUTED:
      return Stage::kRefuted;
    case Kept::UNTESTED:
      return Stage::kUntested;
    default:
      return Stage::kQuiet;
  }
}

Confirmation ConfirmationOf(const Kept& kept) {
  Confirmation confirmation;
  confirmation.stage = StageOf(kept.stage());
  confirmation.check = kept.check();
  confirmation.since = ToTime(kept.since());
  confirmation.probability = kept.probability();
  return confirmation;
}

void Put(const Confirmation& confirmation, Kept& kept) {
  kept.set_stage(StageOf(confirmation.stage));
  kept.set_check(confirmation.check);
  *kept.mutable_since() = ToTimestamp(confirmation.since);
  kept.set_probability(confirmation.probability);
}

}  // namespace

Confirmations::Confirmations(store::Records& records, const Clock& clock, std::size_t most_jobs)
    : records_(records),
      clock_(clock),
      most_of_a_bucket_(std::max<std::size_t>(1, most_jobs / kBuckets)) {}

absl::Status Confirmations::Change(const std::string& job,
                                   absl::FunctionRef<bool(Confirmation&)> decide) {
  const std::string bucket = Sha256Hex(job).substr(0, kDigits);
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record,
                           records_.Get(kConfirmations, bucket));
    v1::ConfirmationSet set;
    if (record.has_value() && !set.ParseFromString(record->value)) {
      return absl::DataLossError(
          absl::StrCat("the record ", bucket, " of confirmations is damaged"));
    }
    auto& jobs = *set.mutable_jobs();
    auto it = std::find_if(jobs.begin(), jobs.end(),
                           [&job](const Kept& kept) { return kept.job() == job; });
    Confirmation confirmation = it == jobs.end() ? Confirmation() : ConfirmationOf(*it);
    if (!decide(confirmation)) return absl::OkStatus();
    if (it != jobs.end()) jobs.erase(it);
    const absl::Time oldest = clock_.Now() - kKeep;
    jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                              [&](const Kept& kept) { return ToTime(kept.since()) < oldest; }),
               jobs.end());
    while (jobs.size() >= static_cast<int>(most_of_a_bucket_)) {
      jobs.erase(std::min_element(jobs.begin(), jobs.end(), [](const Kept& a, const Kept& b) {
        return ToTime(a.since()) < ToTime(b.since());
      }));
    }
    Kept& kept = *jobs.Add();
    kept.set_job(job);
    Put(confirmation, kept);
    status = records_
                 .Put(kConfirmations, bucket, set.SerializeAsString(),
                      record.has_value() ? record->version : 0)
                 .status();
    if (!absl::IsAborted(status)) return status;
  }
  return absl::UnavailableError("the confirmations are written by others all the time: try again");
}

}  // namespace galen::advisor
