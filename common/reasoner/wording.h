#ifndef COMMON_REASONER_WORDING_H_
#define COMMON_REASONER_WORDING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/belief.h"
#include "common/reasoner/entry.h"
#include "galen/v1/evidence.pb.h"

namespace galen::reasoner {

// Sentences for people, built from the knowledge and the check results. No full stop at the end, so
// that they can be joined. Pure.

// "gpu:1 on node-92", "node-92".
std::string Place(const galen::v1::Device& device);
// "gpu:1 on node-92, gpu:3 on node-92 and 6 more".
std::string Places(const google::protobuf::RepeatedPtrField<galen::v1::Device>& devices);

// "gpu:1 on node-92: links inactive 12 (expected 0)".
std::string Describe(const knowledge::Knowledge& knowledge, const galen::v1::Finding& finding,
                     absl::string_view node);
// A true entry: its findings, and what its rule concludes from them.
std::string Describe(const knowledge::Knowledge& knowledge, const Entry& entry);
// A false entry: the values that were read instead, and on how many devices.
std::string DescribeAbsence(const knowledge::Knowledge& knowledge, const Entry& entry);
// "train.log line 17: connection refused by a peer (3 times)".
std::string Describe(const galen::v1::Signal& signal);
// Whether the report is similar enough to people's descriptions of a leaf to mention it.
bool TellsOfIt(const Like& like);
// "the report reads like: Only one rank saves the model, and all others wait."
std::string Describe(const Like& like);
// The observation that supports a leaf most; "": none.
std::string DescribeBest(const knowledge::Knowledge& knowledge, const Belief& belief);
// "Xid 48 (double bit ECC error)"; "": the finding is not an event.
std::string DescribeEvent(const knowledge::Knowledge& knowledge, const galen::v1::Finding& finding);

// "links_inactive" becomes "links inactive".
std::string Words(absl::string_view identifier);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_WORDING_H_
