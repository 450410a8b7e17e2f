#ifndef COMMON_REASONER_RATES_H_
#define COMMON_REASONER_RATES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"

namespace galen::reasoner {

// The name of what a rule sees, the same for every label that has such a rule: "gpu.ecc
// dram_uncorrectable_volatile > 0", with its conditions after "with".
// `on_some`: a contrast, as IsOnSome tells it; that has " on some" behind the finding's name, and a
// rate of its own: what one of eight GPUs shows is rarer than what all of them show.
std::string ObservationName(const knowledge::v1::Rule& rule, bool on_some = false);

// The same of a refute rule, which asks for more devices: "against gpu.ecc ... == 0".
std::string RefutationName(const knowledge::v1::Rule& rule);

// The name of a message, in a log or in the words of a person: "message nccl.dup_gpu", "words
// nccl.dup_gpu".
std::string MessageName(absl::string_view signal, bool words);

// The name under which the number of incidents stands that were read for messages.
inline constexpr absl::string_view kMessages = "message";

// In how many incidents something was asked, and in how many it was seen although the cause was
// another one.
struct Rate {
  double seen = 0;
  double asked = 0;
};

// The measured rates of the knowledge, looked up by rule and by signal. Refers to the knowledge.
// Immutable and thread-safe.
class Rates {
 public:
  explicit Rates(const knowledge::Knowledge& knowledge);

  // Nothing asked where nobody measured it.
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
