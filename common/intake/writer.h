#ifndef COMMON_INTAKE_WRITER_H_
#define COMMON_INTAKE_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen::intake {

// The machine that a line of a log names as its writer: by the prefix of NCCL, syslog, journald,
// Open MPI and pdsh, or in the words of Slurm. "" where it names none. Pure.
std::string WriterOf(absl::string_view line);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_WRITER_H_
