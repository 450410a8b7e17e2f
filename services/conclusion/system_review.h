#ifndef SERVICES_CONCLUSION_SYSTEM_REVIEW_H_
#define SERVICES_CONCLUSION_SYSTEM_REVIEW_H_

#include <string>

#include "common/knowledge/knowledge.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::conclusion {

// What was looked at of the system, family by family (`family` of a check). Without a family: none
// of their checks ran. What was not looked at is unknown, never clean. Pure.
galen::v1::SystemReview ReviewSystem(const knowledge::Knowledge& knowledge,
                                     const galen::v1::EvidenceSet& evidence);

// One sentence for people: "The system is fine: ..."; "" unless it is.
std::string FineSystem(const galen::v1::SystemReview& review);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_SYSTEM_REVIEW_H_
