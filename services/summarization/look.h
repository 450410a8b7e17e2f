#ifndef SERVICES_SUMMARIZATION_LOOK_H_
#define SERVICES_SUMMARIZATION_LOOK_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "galen/summarization/v1/summarization.pb.h"

namespace galen::summarization {

// Shows what an incident came with, to a language model that investigates it: the report, what the
// customer added, the logs, what was captured of the machines of its bundle, and what checks said.
// A call names an artefact by the name that the list gives it: no text of a model is a path, and
// nothing but these artefacts is ever opened. A pattern is RE2's, whose time does not explode.
//
// INVALID_ARGUMENT too many calls, or a call of another kind; the errors of ResolveBundle. A call
// that asks for what is not there says so in its result. Reading stops, and says so, when the time
// for it is used up.
absl::StatusOr<v1::LookResponse> Look(const v1::LookRequest& request,
                                      absl::Span<const std::string> roots, const Clock& clock,
                                      absl::Time deadline);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_LOOK_H_
