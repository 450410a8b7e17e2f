#ifndef COMMON_TELEMETRY_PROMETHEUS_ANSWER_H_
#define COMMON_TELEMETRY_PROMETHEUS_ANSWER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

// The body of an answer of Prometheus' HTTP API v1.
struct ApiBody {
  bool success = false;
  std::string error_type;  // "bad_data"
  std::string error;
  std::vector<std::string> warnings;
  std::string result_type;  // "matrix", "vector", "scalar", "string"; "" of series and label values
  std::vector<TimeSeries> series;   // of results, and of /series without samples
  std::vector<std::string> values;  // of /label/.../values
  bool cut = false;                 // there was more than the limits allow
  bool histograms = false;          // there were native histograms; they are left out
  bool partial = false;             // parts of the server did not answer
  bool disordered = false;          // samples that did not come after the one before are left out
};

// Reads an answer in a single pass, without a tree of it. DATA_LOSS: it is not JSON, not of this
// API, or cut short. At a limit, reading ends.
absl::StatusOr<ApiBody> ParseApiBody(absl::string_view text, const Limits& limits);

// The error of a response without a usable answer, by its HTTP code and its body.
absl::Status ErrorOf(int code, absl::string_view body);

// The error of a body with status "error".
absl::Status ErrorOf(const ApiBody& body);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_PROMETHEUS_ANSWER_H_
