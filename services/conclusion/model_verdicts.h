#ifndef SERVICES_CONCLUSION_MODEL_VERDICTS_H_
#define SERVICES_CONCLUSION_MODEL_VERDICTS_H_

#include "common/knowledge/knowledge.h"
#include "galen/conclusion/v1/conclusion.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::conclusion {

// Lets the verdicts of a language model count, in a report that holds the built-in reasoner's
// causes. The rule of precedence:
//
// 1. A cause that the built-in reasoner confirmed leads, whatever a model says. Another cause that
//    the model confirms is reported beside it, and so is the disagreement.
// 2. If nothing is confirmed, the cause that the model confirms is presumed. If it confirms none
//    and rejects the cause that the built-in reasoner presumes, or finds no fault at all, nothing
//    is presumed.
//
// So a model names causes and removes presumptions, but it confirms nothing by itself, and nothing
// is repaired on its word. A verdict that is refuted, or whose cause a fact excludes, has no
// effect. Each verdict of the report states its effect. Pure.
void LetModelCount(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                   galen::v1::Report& report);

// The headline of a report whose presumed cause a model judged; "" for any other.
std::string HeadlineOfModel(const galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_MODEL_VERDICTS_H_
