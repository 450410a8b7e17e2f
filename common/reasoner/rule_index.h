#ifndef COMMON_REASONER_RULE_INDEX_H_
#define COMMON_REASONER_RULE_INDEX_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"

namespace galen::reasoner {

// The leaves that have a rule over a finding. Refers to the knowledge, which must
// outlive it. Immutable and thread-safe.
class RuleIndex {
 public:
  explicit RuleIndex(const knowledge::Knowledge& knowledge);

  using Labels = std::vector<const knowledge::v1::Label*>;

  // Leaves with a confirm rule over that finding, in the order of the files.
  const Labels& Confirming(absl::string_view check, absl::string_view finding) const;
  // All leaves, in the order of the files.
  const Labels& leaves() const { return leaves_; }

 private:
  Labels leaves_;
  absl::flat_hash_map<std::pair<std::string, std::string>, Labels> confirming_;
};

// "Xid 48", "amdgpu ring timeout": the knowledge's name of the logged event of a finding, in lower
// case; "": the finding is not an event.
std::string EffectName(const galen::v1::Finding& finding);

// Whether `cause` lists the effect (a label or the name of an event, case-insensitive).
bool ListsEffect(const knowledge::v1::Label& cause, absl::string_view effect);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_RULE_INDEX_H_
