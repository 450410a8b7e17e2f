#ifndef SERVICES_CONCLUSION_REASONING_GRAPH_H_
#define SERVICES_CONCLUSION_REASONING_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// What models thought in the course of a diagnosis, by the question ("rank"), oldest first.
using ModelSteps = std::map<std::string, std::vector<galen::v1::ReasoningStep>>;

// The steps of all questions. Pure.
ModelSteps StepsByQuestion(const google::protobuf::RepeatedPtrField<galen::v1::Reasoned>& reasoned);

// The reasoning of a diagnosis as a graph without cycles (Diagram of Thought): each hypothesis is a
// PROPOSITION and, once judged, a VERIFICATION below it; those that self-evaluation added hang
// below a CRITIQUE; each cause that turned out to be an effect is a REFINEMENT; the SUMMARY stands
// below all of them. What a model thought stands where its question was asked: above the
// propositions that came of it, above the verdict that it was asked about, or above the summary.
// Parents stand before children. Pure.
std::vector<galen::v1::ReasoningStep> MakeReasoning(const v1::ConcludeRequest& request,
                                                    const galen::v1::Report& report,
                                                    const ModelSteps& model);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_REASONING_GRAPH_H_
