#ifndef COMMON_PROFILE_JOB_H_
#define COMMON_PROFILE_JOB_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/profile/analyse.h"
#include "common/profile/families.h"
#include "common/profile/hangs/flight_record.h"
#include "common/profile/hangs/nccl_ras.h"
#include "common/profile/ranks.h"
#include "common/profile/read_trace.h"
#include "common/profile/report.h"

namespace galen::profile {

// The joint verdict on the dumps of PyTorch's flight recorder in one directory.
struct Hang {
  std::string directory;
  std::set<int> ranks;  // of which there is a dump
  hangs::TraceVerdict verdict;
};

// One answer of NCCL's RAS.
struct RasAnswer {
  std::string file;
  hangs::RasReport report;
};

// The results of all files of a job.
struct JobProfile {
  std::vector<TraceReport> traces;
  RankComparison ranks;
  std::vector<Hang> hangs;
  std::vector<RasAnswer> answers;
  std::vector<std::string> troubles;  // files that could not be read, and why
};

struct JobOptions {
  AnalyseOptions analyse;
  ReadLimits limits;
  std::set<std::string> equal_sizes;  // collectives whose inputs have one size on all ranks
  // Limits for all traces together: collectives that are kept to be compared, 32 bytes each, and
  // traces of which a step is kept to be drawn.
  std::size_t met = 8'000'000;
  std::size_t drawn = 64;
};

inline constexpr std::size_t kMostFiles = 4096;

// Reads the traces, dumps and answers at `paths`: files, and files in directories and below them
// (*.json, *.json.gz, and those that are named like a trace, a dump or an answer). Their content
// identifies the kind; they may be compressed with gzip or zstd. One trace is in memory at a time.
// NOT_FOUND: a path that is not there, or nothing that can be read; RESOURCE_EXHAUSTED: more than
// kMostFiles.
absl::StatusOr<JobProfile> ReadJob(const std::vector<std::string>& paths, const Families& families,
                                   const JobOptions& options = {});

// The files of `paths`, in the order of the numbers in their names.
absl::StatusOr<std::vector<std::string>> FilesOf(const std::vector<std::string>& paths);

// Whether a file has a name that profilers give to a trace; others, such as *.json, may be one.
bool NamedLikeTrace(absl::string_view path);

// How many files below `directory` are a trace, a dump or an answer by their names alone.
std::size_t CountProfiles(const std::string& directory);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_JOB_H_
