#ifndef SERVICES_ADVISOR_LEARNING_MIX_H_
#define SERVICES_ADVISOR_LEARNING_MIX_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/profile/families.h"
#include "common/profile/report.h"

// The composition of a workload, as its tenant sees it. Only the output of signature.h leaves the
// tenant's side.
namespace galen::advisor {

// Shares of GPU time by operator; they add up to 1, or there is none. Operators are words of a
// closed list (Operators()) and never the tenant's own names.
using OperatorMix = std::map<std::string, double>;

// The closed list, sorted: families of compute kernels (knowledge/profile) and kinds of
// collectives.
bool IsOperator(absl::string_view word);

// The mix of a profiled job: all devices together. Collectives are distinguished by the names of
// their kernels; if a name does not show which ("nccl:other") it is "collective". INVALID_ARGUMENT:
// nothing ran on a GPU. To distinguish the shares of collectives, analyse the trace with
// AnalyseOptions::kernels large enough for all (missing ones count as "collective").
absl::StatusOr<OperatorMix> MixOf(const profile::TraceReport& trace,
                                  const profile::Families& families);

// A workload as declared by its launcher, if there is no profile.
struct Declared {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;  // 0: 4 * hidden
  std::int64_t vocabulary = 32'000;
  std::int64_t sequence = 0;
  std::int64_t experts = 1;  // of a layer
  std::int64_t active = 1;   // experts of a token
  std::int64_t micro_batch = 1;
  std::int64_t accumulation = 1;  // micro-batches of a step
  bool training = true;
  bool sharded = false;  // parameters are gathered when used (ZeRO-3, FSDP)
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t expert = 1;   // expert parallel
  std::int64_t context = 1;  // context parallel (ring attention)
};

// The mix by arithmetic: floating-point operations and bytes of a step by the transformer's shape
// (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021,
// appendix; volumes of collectives by their ring algorithms), each divided by the rate of one fixed
// reference machine, so that the same declaration gives the same mix on all hardware. A coarse
// estimate: right to about the width of a bucket of signature.h. INVALID_ARGUMENT names a field
// that is out of bounds.
absl::StatusOr<OperatorMix> MixOf(const Declared& declared);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_MIX_H_
