#ifndef SERVICES_CONCLUSION_EXCLUSION_H_
#define SERVICES_CONCLUSION_EXCLUSION_H_

#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::conclusion {

// Which machines of the confirmed causes to leave out of the job, the one that gains most first:
// those that stand in courses of results that the causes cite.
//
// The gain rests on what the slowest machine of a synchronous job sets: a phase of throughput is
// regained once all machines that stand out in it are left out, and no part of it before. Where
// throughput has no better phase it cannot be told. Nothing where no machine is to blame, or most
// of them are: who leaves those out has no job left. Pure.
galen::v1::NodeExclusion ExcludeNodes(const galen::v1::Report& report,
                                      const galen::v1::EvidenceSet& evidence);

// What a picture of the report shows: throughput, then what the causes rest on, then whatever else
// is abnormal. Pure.
void FillCourses(const galen::v1::EvidenceSet& evidence, galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_EXCLUSION_H_
