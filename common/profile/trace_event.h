#ifndef COMMON_PROFILE_TRACE_EVENT_H_
#define COMMON_PROFILE_TRACE_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::profile {

// One event, as far as it is of use. Reused, so that its texts keep their memory.
struct Event {
  std::string phase;
  std::string category;
  std::string name;
  std::string process;
  std::string thread;
  std::string begin;
  std::string duration;
  std::string label;  // args.name
  std::string device;
  std::string stream;
  std::string group;
  std::string sequence;
  std::string begin_ns;  // of rocprof
  std::string end_ns;

  void Clear();
};

// The subject of an event of PyTorch's profiler.
enum class Sort { kOther, kGpu, kHost, kStep };
Sort SortOf(const Event& event);

// Reads microseconds as the trace writes them, to the nanosecond; nothing when it is not a time.
std::optional<std::int64_t> Nanoseconds(absl::string_view text);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_TRACE_EVENT_H_
