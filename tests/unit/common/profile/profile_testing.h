#ifndef TESTS_UNIT_COMMON_PROFILE_PROFILE_TESTING_H_
#define TESTS_UNIT_COMMON_PROFILE_PROFILE_TESTING_H_

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/profile/analyse.h"
#include "common/profile/families.h"
#include "common/profile/read_trace.h"

namespace galen::profile {

// The shipped families, loaded once.
inline const Families& Shipped() {
  static const Families* const families = [] {
    auto loaded = Families::Load({std::string(GALEN_SOURCE_DIR) + "/knowledge"});
    if (!loaded.ok()) std::abort();
    return new Families(*std::move(loaded));
  }();
  return *families;
}

// `text` in pieces of `piece` bytes.
inline JsonStream::Source InPieces(absl::string_view text, std::size_t piece) {
  return [text, piece, at = std::size_t{0}]() mutable -> absl::StatusOr<absl::string_view> {
    const absl::string_view next = text.substr(std::min(at, text.size()), piece);
    at += next.size();
    return next;
  };
}

// Writers of events, times in microseconds.
inline std::string Kernel(absl::string_view name, int device, int stream, double begin,
                          double end) {
  return absl::StrCat(R"({"ph":"X","cat":"kernel","name":")", name, R"(","pid":)", device,
                      R"(,"tid":)", stream, R"(,"ts":)", begin, R"(,"dur":)", end - begin,
                      R"(,"args":{"device":)", device, R"(,"stream":)", stream, "}}");
}
inline std::string Host(absl::string_view category, double begin, double end) {
  return absl::StrCat(R"({"ph":"X","cat":")", category, R"(","name":"cudaLaunchKernel","pid":9,)",
                      R"("tid":9,"ts":)", begin, R"(,"dur":)", end - begin, "}");
}
inline std::string StepMark(int number, double begin, double end) {
  return absl::StrCat(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)", number,
                      R"(","pid":9,"tid":9,"ts":)", begin, R"(,"dur":)", end - begin, "}");
}
inline std::string TraceText(const std::vector<std::string>& events,
                             absl::string_view more = R"("schemaVersion":1,)") {
  return absl::StrCat("{", more, "\"traceEvents\":[", absl::StrJoin(events, ",\n"), "]}");
}

inline TraceReport ReportOf(absl::string_view text, std::size_t piece = 1 << 20) {
  auto trace = ReadTrace(InPieces(text, piece), Shipped());
  if (!trace.ok()) std::abort();
  return Analyse(*std::move(trace), Shipped());
}

// "wall compute exposed memory host idle" in microseconds.
inline std::string Parts(const Split& split) {
  return absl::StrCat(split.wall / 1000, " ", split.compute / 1000, " ", split.exposed / 1000, " ",
                      split.memory / 1000, " ", split.host / 1000, " ", split.idle / 1000);
}

}  // namespace galen::profile

#endif  // TESTS_UNIT_COMMON_PROFILE_PROFILE_TESTING_H_
