#ifndef SERVICES_CONCLUSION_MODEL_VERDICTS_H_
#define SERVICES_CONCLUSION_MODEL_VERDICTS_H_

#include "common/knowledge/knowledge.h"
#include "galen/conclusion/v1/conclusion.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::conclusion {

// Lets what a language model judged count, in a report that holds the built-in reasoner's causes.
// The rule who leads:
//
// 1. If the built-in reasoner confirmed a cause, that leads, whatever a model says: another
// cause
//    that the model confirms is told beside it, and that it disagrees is told too.
// 2. If nothing is confirmed, the cause that the model confirms is presumed. If it confirms
//    none and rejects what the built-in reasoner presumes, or finds no fault at all, nothing is
//    presumed.
//
// So a model names causes and takes presumptions away; it convicts nobody, and nothing is repaired
// on its word. A verdict that does not stand, or whose cause a fact excludes, counts for nothing.
// Each verdict of the report says what became of it. Pure.
void LetModelCount(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                   galen::v1::Report& report);

// The headline of a report whose presumed cause a model judged; "" of any other.
std::string HeadlineOfModel(const galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_MODEL_VERDICTS_H_
