#ifndef COMMON_BASE_READ_FILE_H_
#define COMMON_BASE_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace galen {

// The whole of a file. The error names it: NOT_FOUND, PERMISSION_DENIED and so on as the system
// says; INVALID_ARGUMENT if it has more than `most` bytes.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path,
                                          std::size_t most = std::size_t{1} << 20);

}  // namespace galen

#endif  // COMMON_BASE_READ_FILE_H_
