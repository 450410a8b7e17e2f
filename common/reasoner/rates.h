#ifndef COMMON_REASONER_RATES_H_
#define COMMON_REASONER_RATES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"

namespace galen::reasoner {

// The name of a rule's observation, the same for every label with such a rule: "gpu.ecc
// dram_uncorrectable_volatile > 0", with its conditions after "with".
// `on_some`: a contrast (IsOnSome); it has " on some" after the finding's name, and a separate
// rate: an observation on one of eight GPUs is rarer than one on all of them.
std::string ObservationName(const knowledge::v1::Rule& rule, bool on_some = false);

// The name for a refute rule, which needs more devices: "against gpu.ecc ... == 0".
std::string RefutationName(const knowledge::v1::Rule& rule);

// The name of a message, in a log or in a person's text: "message nccl.dup_gpu", "words
// nccl.dup_gpu".
std::string MessageName(absl::string_view signal, bool words);

// The name of the entry with the number of incidents that were read for messages.
inline constexpr absl::string_view kMessages = "message";

// Number of incidents in which an observation was possible, and in which it was made although the
// cause was another one.
struct Rate {
  double seen = 0;
  double asked = 0;
};

// The measured rates of the knowledge, looked up by rule and by signal. Refers to the knowledge.
// Immutable and thread-safe.
class Rates {
 public:
  explicit Rates(const knowledge::Knowledge& knowledge);

  // `asked` is 0 if the rate was not measured.
  Rate Of(const knowledge::v1::Rule& rule, bool on_some = false) const;
  Rate OfMessage(absl::string_view signal, bool words) const;

 private:
  absl::flat_hash_map<const knowledge::v1::Rule*, Rate> rules_;
  absl::flat_hash_map<const knowledge::v1::Rule*, Rate> on_some_;
  absl::flat_hash_map<std::string, Rate> messages_;  // by name, among others
  Rate unseen_message_;
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_RATES_H_
