#ifndef SERVICES_CONCLUSION_REASONING_GRAPH_H_
#define SERVICES_CONCLUSION_REASONING_GRAPH_H_

#include <vector>

#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// The reasoning of a diagnosis as a graph without cycles (Diagram of Thought): each hypothesis is a
// PROPOSITION and, once judged, a VERIFICATION below it; those that self-evaluation added hang
// below a CRITIQUE; each cause that turned out to be an effect is a REFINEMENT; the SUMMARY stands
// below all of them. Parents stand before children. Pure.
std::vector<galen::v1::ReasoningStep> MakeReasoning(const v1::ConcludeRequest& request,
                                                    const galen::v1::Report& report);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_REASONING_GRAPH_H_
