#ifndef SERVICES_CONCLUSION_SYSTEM_REVIEW_H_
#define SERVICES_CONCLUSION_SYSTEM_REVIEW_H_

#include <string>

#include "common/knowledge/knowledge.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::conclusion {

// The examined parts of the system by family (`family` of a check). A family is absent if none of
// its checks ran: a part that was not examined is unknown, never clean. Pure.
galen::v1::SystemReview ReviewSystem(const knowledge::Knowledge& knowledge,
                                     const galen::v1::EvidenceSet& evidence);

// One sentence for people: "The system is fine: ..."; "" unless it is.
std::string FineSystem(const galen::v1::SystemReview& review);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_SYSTEM_REVIEW_H_
