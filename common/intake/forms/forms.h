#ifndef COMMON_INTAKE_FORMS_FORMS_H_
#define COMMON_INTAKE_FORMS_FORMS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::intake {

// A reading of a quantity at a time, under the name that an exporter gives it
// (knowledge/telemetry).
struct Sample {
  std::string metric;
  std::string device;  // the number of the GPU; "" where it is of the machine
  double value = 0;
  double time = 0;  // seconds since 1970
};

// The facts of a pasted text, in the form that checks read.
struct Converted {
  // Content of the command's output or of the file.
  std::string text = {};
  // Absolute path to content, for forms that become files.
  std::map<std::string, std::string> files = {};
  // The samples of a table that was recorded over time.
  std::vector<Sample> samples = {};
  // The command whose output `text` is, if the kind is a log from which facts are also read.
  std::vector<std::string> argv = {};
  // The value of <arg> in the command that checks ask for: the name of a pod. "" when the text does
  // not have it.
  std::string argument = {};
  // The text visibly holds less than the program prints: grep or head selected lines, the command
  // asked for one device, an end is cut off, or columns are missing. Missing lines and columns are
  // unknown, so a check must not conclude anything from their absence.
  bool partial = false;
};

// Converts what people paste into the one form that the parsers of the checks read. Pure, linear in
// the text, safe on hostile text; the output is at most some times longer than the text, of which
// only the first 8 MiB are read. A value that the text does not hold is missing in the output.
//
// `form`: a name of knowledge/intake (`form:`). `command`: the command as typed, "" unknown; its
// arguments may name columns, units or devices.
//
// NOT_FOUND if the form does not exist; INVALID_ARGUMENT if nothing of `text` could be read as it.
absl::StatusOr<Converted> Convert(absl::string_view form, absl::string_view text,
                                  absl::string_view command);

// The names of all forms, sorted.
std::vector<absl::string_view> Forms();

}  // namespace galen::intake

#endif  // COMMON_INTAKE_FORMS_FORMS_H_
