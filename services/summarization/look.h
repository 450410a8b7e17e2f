#ifndef SERVICES_SUMMARIZATION_LOOK_H_
#define SERVICES_SUMMARIZATION_LOOK_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "galen/summarization/v1/summarization.pb.h"

namespace galen::summarization {

// Shows an incident's artefacts to a language model that investigates it: the report, the
// customer's additions, the logs, the captures of the machines of its bundle, and the results of
// checks. A call names an artefact by its name in the list: no text of a model is a path, and
// nothing but these artefacts is ever opened. A pattern is one of RE2, whose time is linear.
//
// INVALID_ARGUMENT: too many calls, or a call of another kind; the errors of ResolveBundle. The
// result of a call says so if its artefact does not exist. Reading stops, and the result says so,
// when its time is used up.
absl::StatusOr<v1::LookResponse> Look(const v1::LookRequest& request,
                                      absl::Span<const std::string> roots, const Clock& clock,
                                      absl::Time deadline);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_LOOK_H_
