#ifndef COMMON_INTAKE_WRITER_H_
#define COMMON_INTAKE_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen::intake {

// The machine that wrote a line of a log, by the prefix of NCCL, syslog, journald, Open MPI and
// pdsh, or by the phrases of Slurm. "" when the line names none. Pure.
std::string WriterOf(absl::string_view line);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_WRITER_H_
