#ifndef COMMON_PROFILE_SQLITE_TRACE_H_
#define COMMON_PROFILE_SQLITE_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/profile/families.h"
#include "common/profile/json_stream.h"

namespace galen::profile {

// Whether a file begins as a database of SQLite does.
bool LooksLikeSqlite(absl::string_view head);

// Limits of the reading of a foreign database.
struct SqliteLimits {
  std::int64_t operations = 4'000'000'000;  // of SQLite's machine, for all queries together
};

// The trace in a database as a trace in Chrome's format, in one pass:
// - `nsys export --type sqlite` (docs.nvidia.com/nsight-systems/nsys-exporter/exported_data.html)
// - `rocprofv3 --output-format rocpd` (ROCm/rocprofiler-sdk source/share/rocprofiler-sdk-rocpd)
// The file is opened for reading, without locks; nothing in it is trusted. A column that a version
// of the program does not write is done without. `families` must outlive the source. DATA_LOSS: it
// is not such a database.
absl::StatusOr<JsonStream::Source> SqliteAsTrace(const std::string& path, const Families& families,
                                                 const SqliteLimits& limits = {});
// The same of a database in memory.
absl::StatusOr<JsonStream::Source> SqliteBytesAsTrace(std::string bytes, const Families& families,
                                                      const SqliteLimits& limits = {});

}  // namespace galen::profile

#endif  // COMMON_PROFILE_SQLITE_TRACE_H_
