#ifndef SERVICES_CONCLUSION_EXCLUSION_H_
#define SERVICES_CONCLUSION_EXCLUSION_H_

#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::conclusion {

// Machines of the confirmed causes to leave out of the job, the one with the greatest gain first. A
// machine is a candidate if it appears in courses of results that the causes cite.
//
// The gain assumes that the slowest machine limits a synchronous job: a phase of throughput is
// regained once all machines that stand out in it are left out, and not before. The gain is unknown
// if throughput has no better phase. Empty if no machine is to blame, or if most machines are:
// without them no job is left. Pure.
galen::v1::NodeExclusion ExcludeNodes(const galen::v1::Report& report,
                                      const galen::v1::EvidenceSet& evidence);

// Fills in the courses that the picture of a report shows: throughput, then those that the causes
// cite, then other abnormal ones. Pure.
void FillCourses(const galen::v1::EvidenceSet& evidence, galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_EXCLUSION_H_
