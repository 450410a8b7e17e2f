#ifndef COMMON_PROFILE_TRACE_H_
#define COMMON_PROFILE_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/profile/intervals.h"

namespace galen::profile {

// Something that ran on a GPU.
struct Span {
  std::int64_t begin = 0;  // nanoseconds
  std::int64_t end = 0;
  std::uint32_t name = 0;  // of Trace::names
};

// A name of spans and its family.
struct Name {
  std::string text;
  std::size_t family = 0;  // of Families::all()
};

enum class Lane {
  kStream,    // spans may overlap, and all of them ran
  kOps,       // instructions of XLA: an outer one does nothing while an inner one runs
  kAsyncOps,  // the same, beside the others
};

struct Stream {
  std::string name;
  Lane lane = Lane::kStream;
  std::vector<Span> spans;  // in the order of the trace
};

struct Step {
  std::string name;
  Interval when;
};

// A collective that the trace identifies.
struct Collective {
  Interval when;
  std::string group;           // of ranks
  std::int64_t sequence = -1;  // within the group; -1: unknown
  std::uint32_t name = 0;
};

struct Device {
  std::string name;  // "GPU 0"
  std::vector<Stream> streams;
  std::vector<Step> steps;    // of a trace of JAX: its own
  std::vector<Step> modules;  // likewise, runs of programs
  std::vector<Collective> collectives;
};

// A trace of one process, in memory no further than the limits of the reader.
struct Trace {
  bool xla = false;
  std::optional<int> rank;
  std::optional<int> world_size;
  std::vector<std::string> gpus;  // their product names, from deviceProperties
  std::vector<Name> names;
  std::vector<Device> devices;
  std::vector<Step> steps;  // ProfilerStep#N
  Intervals host;           // when the host worked for its GPUs
  bool host_known = false;
  std::int64_t bytes = 0;
  std::int64_t events = 0;
  std::int64_t damaged = 0;          // events that make no sense
  std::vector<std::string> remarks;  // what was not read, and why
};

}  // namespace galen::profile

#endif  // COMMON_PROFILE_TRACE_H_
