#ifndef COMMON_PROFILE_ROCPROF_JSON_H_
#define COMMON_PROFILE_ROCPROF_JSON_H_

#include "absl/strings/string_view.h"
#include "common/profile/families.h"
#include "common/profile/json_stream.h"

namespace galen::profile {

// Whether a file begins as the JSON of rocprofv3 (`rocprofv3 --output-format json`).
bool LooksLikeRocprofJson(absl::string_view head);

// The same trace in Chrome's format, in one pass and in constant memory but for names. `families`
// must outlive the source. Fields: ROCm/rocprofiler-sdk source/docs/rocprofv3-schema.json,
// source/lib/output/generateJSON.cpp.
JsonStream::Source RocprofJsonAsTrace(JsonStream::Source json, const Families& families);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_ROCPROF_JSON_H_
