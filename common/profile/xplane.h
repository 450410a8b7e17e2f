#ifndef COMMON_PROFILE_XPLANE_H_
#define COMMON_PROFILE_XPLANE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/profile/json_stream.h"

namespace galen::profile {

// Whether bytes begin as XPlane does, by which JAX's and TensorFlow's profiler keeps a trace
// (*.xplane.pb: tsl/profiler/protobuf/xplane.proto).
bool LooksLikeXplane(absl::string_view head);

// The same trace in Chrome's format, as xprof's trace viewer writes it, in pieces: processes and
// threads first, then all events. Runs of programs are derived from the modules of operations, as
// in the viewer ("XLA Modules - from #N"). DATA_LOSS: it is not an XPlane, or damaged. Hostile
// content ends the reading and does no harm.
absl::StatusOr<JsonStream::Source> XplaneAsTrace(std::string bytes);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_XPLANE_H_
