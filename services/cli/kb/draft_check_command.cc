#include "services/cli/kb/draft_check_command.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/curation/description_words.h"
#include "common/curation/draft_check.h"
#include "common/curation/json.h"
#include "common/knowledge/load.h"
#include "common/knowledge/write_yaml.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {
namespace {

absl::StatusOr<std::string> ReadShown(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("--shown ", path, ": cannot be read"));
  std::string text;
  text.resize(curation::kMostShownBytes + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

absl::Status Draft(const DraftCheckArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const knowledge::Knowledge> knowledge,
                         LoadKnowledge(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const curation::DescriptionWords words,
                         curation::DescriptionWords::Load(directories));
  curation::CheckRequest request;
  request.description = CleanText(arguments.description, curation::kMostDescriptionBytes);
  if (!arguments.shown.empty()) {
    GALEN_ASSIGN_OR_RETURN(std::string text, ReadShown(arguments.shown));
    request.shown = curation::ShownOutput{std::move(text), arguments.faulty};
  }
  GALEN_ASSIGN_OR_RETURN(const curation::CheckDraft draft,
                         curation::DraftCheck(knowledge->base(), request, words));
  if (!draft.call.empty()) {
    std::vector<std::string> parameters;
    for (const auto& [name, value] : draft.parameters)
      parameters.push_back(absl::StrCat(name, "=", value));
    if (arguments.json) {
      console.out
          << curation::JsonObject().Add("call", draft.call).Add("parameters", parameters).Text()
          << std::endl;
      return absl::OkStatus();
    }
    console.out << draft.remarks.front() << "\n  galen checks run " << draft.call;
    for (const std::string& each : parameters)
      console.out << " --set " << draft.call << "." << each;
    console.out << std::endl;
    return absl::OkStatus();
  }
  knowledge::v1::KnowledgeBase alone;
  *alone.add_checks() = draft.check;
  const std::string yaml = knowledge::ToYaml(alone);
  if (arguments.json) {
    console.out << curation::JsonObject()
                       .Add("check", draft.check.name())
                       .Add("file", yaml)
                       .Add("remarks", draft.remarks)
                       .Text()
                << std::endl;
    return absl::OkStatus();
  }
  for (const std::string& remark : draft.remarks) console.out << "# " << remark << '\n';
  for (const knowledge::Problem& problem : knowledge::Lint(alone)) {
    console.out << "# lint: " << problem.text << "; " << problem.remedy << '\n';
  }
  console.out << yaml << std::flush;
  return absl::OkStatus();
}

}  // namespace

ExitCode DraftCheckCommand(const DraftCheckArguments& arguments, Console& console) {
  const absl::Status status = Draft(arguments, console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
