#ifndef SERVICES_CLI_DIAGNOSE_H_
#define SERVICES_CLI_DIAGNOSE_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "galen/v1/incident.pb.h"
#include "services/cli/diagnosis_api.h"
#include "services/cli/exit_code.h"
#include "services/cli/reasoning_text.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// `galen diagnose` as it was called.
struct DiagnoseArguments {
  std::vector<std::string> words;  // sentences, pasted text, files, folders, "-"
  std::vector<std::string> logs;
  std::vector<std::string> nodes;
  std::string bundle;  // directory; archives are unpacked before
  std::string server;  // "": a mesh in this process
  std::string request_id;
  std::string strategy;
  std::string start;     // RFC 3339, of the trouble; "": not known
  std::string end;       // the same
  std::string baseline;  // "START,END": a time that was as it should be; ""
  std::string svg;       // file for the picture of the time series; "": none
  std::string keep_in;   // folder where what was given is kept; "": only meanwhile
  bool stored = false;   // the diagnosis is there afterwards: it can be answered by name
  bool here = false;     // the logs are of this machine
  bool verbose = false;  // the report with all that was ruled out and left undecided
  bool json = false;
  std::optional<ReasoningForm> show_reasoning;  // after the report; a drawing: instead of it
};

// Streams of a command.
struct Console {
  std::istream& in;
  std::ostream& out;     // the answer
  std::ostream& err;     // errors, and progress with --json
  Terminal terminal;     // of `out`
  bool may_ask = false;  // a person sits there
};

// Tells the progress of a diagnosis after event `after`, unless `silent`, and gives it once it is
// over or waits for a person.
absl::StatusOr<v1::Diagnosis> FollowDiagnosis(DiagnosisApi& api, const std::string& name,
                                              std::int64_t after, bool silent, Console& console);

// Creates the diagnosis, tells its progress, and prints the report, or the Diagnosis as JSON.
ExitCode Diagnose(DiagnosisApi& api, const v1::Incident& incident,
                  const DiagnoseArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_DIAGNOSE_H_
