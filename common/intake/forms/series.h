#ifndef COMMON_INTAKE_FORMS_SERIES_H_
#define COMMON_INTAKE_FORMS_SERIES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/intake/forms/forms.h"

namespace galen::intake {

// The exporter's name for the quantity of a column of nvidia-smi, or of a table that a person or a
// script made of it ("temperature.gpu", "gpu_temp_c", "sm_clock [MHz]"); "" for another column.
std::string MetricOfColumn(absl::string_view column);

// A time as tables have it, in seconds since 1970: of nvidia-smi, ISO 8601, seconds or milliseconds
// since 1970. A time without a zone is taken for UTC. Nothing for another text.
std::optional<double> TimeOfTable(absl::string_view text);

// The readings of a table.
class Readings {
 public:
  // Adds the value of a column in a row; skips a value that is not a number.
  void Add(absl::string_view column, absl::string_view device, absl::string_view value,
           double time);
  // The samples, if the table has at least two times; else none.
  std::vector<Sample> Take() &&;

 private:
  std::vector<Sample> samples_;
  std::set<double> times_;
};

}  // namespace galen::intake

#endif  // COMMON_INTAKE_FORMS_SERIES_H_
