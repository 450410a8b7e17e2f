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

  void Clear();
};

// What an event of PyTorch's profiler is of.
enum class Sort { kOther, kGpu, kHost, kStep };
Sort SortOf(const Event& event);

// Microseconds as they are written, to the nanosecond; nothing for what is no time.
std::optional<std::int64_t> Nanoseconds(absl::string_view text);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_TRACE_EVENT_H_
