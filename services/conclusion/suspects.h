#ifndef SERVICES_CONCLUSION_SUSPECTS_H_
#define SERVICES_CONCLUSION_SUSPECTS_H_

#include "common/knowledge/knowledge.h"
#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// Names in `report`, where nothing is confirmed, the causes that messages speak for most strongly:
// a decisive message before strong ones, one that few causes share before one that many do, the
// first symptom before its consequences, an earlier line before a later one. A cause that was
// rejected is not named, nor one that only names how failures look while another is left. Pure.
void FillSuspects(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                  galen::v1::Report& report);

// Presumes the first suspect, where nothing is confirmed and nothing more than how failures look is
// presumed: if a message that speaks for it alone was printed, and no other suspect has one as
// strong. Of 16 abstentions on held-out incidents the rule named the cause in 3 and a wrong one in
// 1 (docs/reasoner.md). Pure.
void PresumeSuspect(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                    galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_SUSPECTS_H_
