#ifndef SERVICES_ADVISOR_CONVERT_H_
#define SERVICES_ADVISOR_CONVERT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/advisor/v1/advisor.pb.h"
#include "services/advisor/learning/context.h"
#include "services/advisor/learning/known_mismatches.h"
#include "services/advisor/learning/learner.h"
#include "services/advisor/learning/run_record.h"
#include "services/advisor/learning/signs.h"

// Between protos and the values of services/advisor/learning. Errors are INVALID_ARGUMENT and name
// the field.
namespace galen::advisor {

absl::StatusOr<Hardware> HardwareOf(const v1::Hardware& hardware);

// The facts of a job's registration, checked against their bounds: needs of the closed list,
// versions and words of at most 64 bytes. The driver of the hardware is a version, too.
absl::StatusOr<JobFacts> FactsOf(const v1::RegisterJobRequest& request);

// INVALID_ARGUMENT unless both are tokens.
absl::Status CheckSignature(const v1::Signature& signature);

// If `unknown` is given, a sign that is missing from `signs` is left out and counted there; else it
// is an error. (A site takes signs out, and replicas are not given new ones at the same time.)
absl::StatusOr<Signs> SignsOf(const google::protobuf::RepeatedPtrField<v1::SignLevel>& levels,
                              const BuildUpSigns& signs, std::int64_t* unknown = nullptr);

absl::StatusOr<RunRecord> RunOf(const v1::Run& run, const BuildUpSigns& signs,
                                std::int64_t* unknown = nullptr);

// All learned patterns, in order, without their origin.
std::vector<v1::Pattern> PatternsOf(const Learned& learned, const BuildUpSigns& signs);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_CONVERT_H_
