#ifndef SERVICES_CONCLUSION_REASONING_GRAPH_H_
#define SERVICES_CONCLUSION_REASONING_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "galen/conclusion/v1/conclusion.pb.h"

namespace galen::conclusion {

// Reasoning steps of models in a diagnosis, by question ("rank"), oldest first.
using ModelSteps = std::map<std::string, std::vector<galen::v1::ReasoningStep>>;

// The steps of all questions. Pure.
ModelSteps StepsByQuestion(const google::protobuf::RepeatedPtrField<galen::v1::Reasoned>& reasoned);

// The reasoning of a diagnosis as a directed acyclic graph (Diagram of Thought). Each hypothesis is
// a PROPOSITION and, once judged, a VERIFICATION below it; hypotheses added by self-evaluation are
// below a CRITIQUE; each cause that turned out to be an effect is a REFINEMENT; the SUMMARY is
// below all of them. The steps of a model are placed where their question was asked: above the
// propositions that resulted from it, above the verdict in question, or above the summary. Parents
// precede children. Pure.
std::vector<galen::v1::ReasoningStep> MakeReasoning(const v1::ConcludeRequest& request,
                                                    const galen::v1::Report& report,
                                                    const ModelSteps& model);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_REASONING_GRAPH_H_
