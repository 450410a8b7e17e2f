#ifndef COMMON_LOG_ANALYSIS_TRIAGE_WRITER_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_WRITER_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::triage {

// The prefix of a line by which a launcher identifies its writer; "": none. Cheap. Pure.
absl::string_view WriterPrefix(absl::string_view line);

// The writer of a line, as far as its prefix identifies it.
struct Writer {
  std::optional<int> rank;        // "[rank3]:", of all processes of the job
  std::optional<int> task;        // "3: " of `srun -l`: a task of Slurm, which may have many ranks
  std::optional<int> local_rank;  // "[default3]:" of torchrun: of the processes of one machine
  std::string worker;             // "(actor pid=81234, ip=10.0.3.17)" of Ray
  std::string host;               // "vm-07-05: " of pdsh

  bool operator==(const Writer&) const = default;
};

// Parses a prefix that WriterPrefix() returned. Pure.
Writer ParseWriter(absl::string_view prefix);

// "rank 3", "task 3", "local rank 3 of vm-07-05", "pid=81234, ip=10.0.3.17"; "" for nobody. Pure.
std::string ToString(const Writer& writer);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_WRITER_H_
