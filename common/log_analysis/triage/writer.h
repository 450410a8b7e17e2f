#ifndef COMMON_LOG_ANALYSIS_TRIAGE_WRITER_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_WRITER_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::triage {

// The part of the beginning of a line that a launcher put there to tell who wrote it; "" where
// there is none. Cheap. Pure.
absl::string_view WriterPrefix(absl::string_view line);

// Who wrote a line, as far as its prefix tells.
struct Writer {
  std::optional<int> rank;  // "[rank3]:", of all processes of the job
  std::optional<int> task;  // "3: " of `srun -l`: a process of Slurm, of which each may have many
  std::optional<int> local_rank;  // "[default3]:" of torchrun: of the processes of one machine
  std::string worker;             // "(actor pid=81234, ip=10.0.3.17)" of Ray
  std::string host;               // "vm-07-05: " of pdsh

  bool operator==(const Writer&) const = default;
};

// Of a prefix that WriterPrefix() found. Pure.
Writer ParseWriter(absl::string_view prefix);

// "rank 3", "task 3", "local rank 3 of vm-07-05", "pid=81234, ip=10.0.3.17"; "" for nobody. Pure.
std::string ToString(const Writer& writer);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_WRITER_H_
