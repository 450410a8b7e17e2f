#include "services/cli/answer.h"

#include <fstream>

#include "absl/strings/str_cat.h"

namespace galen::cli {

void DeclareKnowledge(CLI::App& command, std::vector<std::string>& knowledge) {
  command
      .add_option("--knowledge", knowledge,
                  "Knowledge directory; repeatable, or separated by commas: later ones overlay "
                  "earlier ones")
      ->delimiter(',')
      ->type_name("DIR");
}

void DeclareAnswer(CLI::App& command, bool& json, std::vector<std::string>& knowledge) {
  command.add_flag("--json", json, "Print only JSON");
  DeclareKnowledge(command, knowledge);
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return absl::PermissionDeniedError(absl::StrCat(path, ": cannot be written"));
  return absl::OkStatus();
}

ExitCode ExitWith(const absl::Status& status, Console& console) {
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
