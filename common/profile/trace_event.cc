#include "common/profile/trace_event.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace galen::profile {
namespace {

// Microseconds; of two such times the difference in nanoseconds has 64 bits. (It is the year 2096.)
constexpr std::int64_t kLatest = 4'000'000'000'000'000;

}  // namespace

void Event::Clear() {
  for (std::string* text : {&phase, &category, &name, &process, &thread, &begin, &duration, &label,
                            &device, &stream, &group, &sequence, &begin_ns, &end_ns}) {
    text->clear();
  }
}

// By the category; traces of 2021 write it with a capital letter, and use other names for some.
Sort SortOf(const Event& event) {
  const absl::string_view category = event.category;
  for (const char* gpu :
       {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "concurrent_kernel"}) {
    if (category == gpu) return Sort::kGpu;
  }
  if (absl::StartsWith(event.name, "ProfilerStep#") &&
      (category == "user_annotation" || category == "cpu_op" || category == "Operator")) {
    return Sort::kStep;
  }
  if (category == "step_mark") return Sort::kStep;  // of TraceWriter
  for (const char* host : {"cpu_op", "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver",
                           "Operator", "Runtime"}) {
    if (category == host) return Sort::kHost;
  }
  return Sort::kOther;
}

// Stamps of the age of the epoch have more digits than a double.
std::optional<std::int64_t> Nanoseconds(absl::string_view text) {
  const std::size_t point = text.find('.');
  std::int64_t whole = 0;
  if (absl::StrContains(text, 'e') || absl::StrContains(text, 'E')) {
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !(number > -4e15 && number < 4e15)) return std::nullopt;
    return static_cast<std::int64_t>(number * 1000);
  }
  if (!absl::SimpleAtoi(text.substr(0, point), &whole) || whole > kLatest || whole < -kLatest) {
    return std::nullopt;
  }
  std::int64_t part = 0;
  if (point != absl::string_view::npos) {
    std::int64_t unit = 100;
    for (const char c : text.substr(point + 1, 3)) {
      if (c < '0' || c > '9') return std::nullopt;
      part += unit * (c - '0');
      unit /= 10;
    }
  }
  return whole * 1000 + (absl::StartsWith(text, "-") ? -part : part);
}

}  // namespace galen::profile
