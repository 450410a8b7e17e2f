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

// The same trace in Chrome's format, as xprof's trace viewer tells it, in pieces: processes and
// threads first, then all events, none left out. Runs of programs, which the viewer derives from
// the modules of operations, are derived alike ("XLA Modules - from #N"). DATA_LOSS: it is no
// XPlane, or damaged. What is hostile in it ends it and does no harm.
absl::StatusOr<JsonStream::Source> XplaneAsTrace(std::string bytes);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_XPLANE_H_
