#ifndef COMMON_PROFILE_REPORT_H_
#define COMMON_PROFILE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/profile/families.h"
#include "common/profile/intervals.h"

namespace galen::profile {

// The time of a GPU by activity, in nanoseconds. At any moment the first of these that applies
// counts, so that the parts add up to `wall`.
struct Split {
  std::int64_t wall = 0;
  std::int64_t compute = 0;  // something computed, whatever else ran beside it
  std::int64_t exposed = 0;  // communication that no compute covers
  std::int64_t memory = 0;   // only copies and fills
  std::int64_t host = 0;     // nothing ran, while the host launched, synchronised or prepared work
  std::int64_t idle = 0;     // nothing ran, and the trace does not show the host at work
  std::int64_t communication = 0;  // all of it, covered or not
  std::int64_t kernels = 0;        // sum of what each operation took, beside others or not

  // Communication that compute covers.
  std::int64_t Hidden() const { return communication - exposed; }
};
Split& operator+=(Split& to, const Split& more);

struct StepSplit {
  std::string name;
  Interval when;
  Split split;
};

struct FamilyTime {
  std::size_t family = 0;  // of Families::all()
  std::int64_t count = 0;
  std::int64_t time = 0;  // nanoseconds within the steps, of one after the other
};

struct KernelTime {
  std::string name;
  std::size_t family = 0;
  std::int64_t count = 0;
  std::int64_t time = 0;
  std::int64_t longest = 0;
};

// One step as it is drawn: pieces of one kind with gaps too small to see are merged.
struct DrawnPiece {
  Interval when;
  Kind kind = Kind::kCompute;
};
struct DrawnStream {
  std::string name;
  std::int64_t busy = 0;  // nanoseconds
  std::vector<DrawnPiece> pieces;
};
struct DrawnStep {
  std::string name;
  Interval when;
  std::vector<DrawnStream> streams;  // the busiest first
  std::size_t more_streams = 0;
  Intervals host;
};

// A collective of this GPU, to be found again on other ranks.
struct Met {
  std::uint32_t key = 0;       // of DeviceReport::keys
  std::int64_t sequence = -1;  // -1: unknown
  Interval when;
};

struct DeviceReport {
  std::string name;
  bool marked = false;       // the trace marks steps; else it is taken as one
  std::string marks;         // by what: "ProfilerStep", "Steps", a module's name
  std::int64_t outside = 0;  // nanoseconds of GPU time outside of all steps
  Split total;               // of all steps
  std::vector<StepSplit> steps;
  std::vector<FamilyTime> families;  // the longest first
  std::vector<KernelTime> kernels;   // the longest first, at most AnalyseOptions::kernels
  std::size_t kernels_in_all = 0;
  std::vector<std::string> keys;
  std::vector<Met> met;
  DrawnStep drawn;
};

struct TraceReport {
  std::string file;
  bool xla = false;
  std::optional<int> rank;
  std::optional<int> world_size;
  std::vector<std::string> gpus;
  bool host_known = false;
  std::int64_t bytes = 0;
  std::int64_t events = 0;
  std::vector<DeviceReport> devices;
  std::vector<std::string> remarks;
};

}  // namespace galen::profile

#endif  // COMMON_PROFILE_REPORT_H_
