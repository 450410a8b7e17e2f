#ifndef COMMON_REASONER_WORDING_H_
#define COMMON_REASONER_WORDING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/belief.h"
#include "common/reasoner/entry.h"
#include "galen/v1/evidence.pb.h"

namespace galen::reasoner {

// Sentences for people, put together from what knowledge and checks say. No full stop at the end,
// so that they can be joined. Pure.

// "gpu:1 on node-92", "node-92".
std::string Place(const galen::v1::Device& device);
// "gpu:1 on node-92, gpu:3 on node-92 and 6 more".
std::string Places(const google::protobuf::RepeatedPtrField<galen::v1::Device>& devices);

// "gpu:1 on node-92: links inactive 12 (expected 0)".
std::string Describe(const knowledge::Knowledge& knowledge, const galen::v1::Finding& finding,
                     absl::string_view node);
// The entry that is true: its findings, and what its rule makes of them.
std::string Describe(const knowledge::Knowledge& knowledge, const Entry& entry);
// The entry that is false: what was read instead, on how many devices.
std::string DescribeAbsence(const knowledge::Knowledge& knowledge, const Entry& entry);
// "train.log line 17: connection refused by a peer (3 times)".
std::string Describe(const galen::v1::Signal& signal);
// Whether the report is so much like what people tell of a leaf that it is worth a word.
bool TellsOfIt(const Like& like);
// "the report reads like: Only one rank saves the model, and all others wait."
std::string Describe(const Like& like);
// The observation that speaks most for a leaf; "" where nothing does.
std::string DescribeBest(const knowledge::Knowledge& knowledge, const Belief& belief);
// "Xid 48 (double bit ECC error)"; "" for a finding that is no event.
std::string DescribeEvent(const knowledge::Knowledge& knowledge, const galen::v1::Finding& finding);

// "links_inactive" becomes "links inactive".
std::string Words(absl::string_view identifier);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_WORDING_H_
