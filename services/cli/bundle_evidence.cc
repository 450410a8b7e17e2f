#include "services/cli/bundle_evidence.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "common/intake/evidence.h"
#include "common/intake/recognise.h"

namespace galen::cli {
namespace {

// Does a check ask for exactly this command? "<...>" stands for a word.
bool IsAskedFor(const knowledge::Knowledge& knowledge, const std::vector<std::string>& argv) {
  const auto is_it = [&](absl::string_view read) {
    const std::vector<absl::string_view> words = absl::StrSplit(read, ' ');
    return std::equal(words.begin(), words.end(), argv.begin(), argv.end(),
                      [](absl::string_view wanted, absl::string_view word) {
                        return wanted == word || (!wanted.empty() && wanted[0] == '<');
                      });
  };
  return std::any_of(knowledge.base().checks().begin(), knowledge.base().checks().end(),
                     [&](const auto& check) {
                       return std::any_of(check.reads().begin(), check.reads().end(), is_it);
                     });
}

}  // namespace

absl::StatusOr<std::string> AddAsChecksRead(const AddArguments& arguments,
                                            absl::string_view content, const intake::Kinds& kinds,
                                            const knowledge::Knowledge& knowledge) {
  const std::string shown =
      arguments.log.empty() ? absl::StrJoin(arguments.command, " ") : arguments.log;
  if (!arguments.command.empty() && IsAskedFor(knowledge, arguments.command)) {
    return absl::StrCat(shown, ": checks read it");
  }
  const std::vector<intake::Text> texts = {
      {.name = arguments.log.empty() ? arguments.command.front() : arguments.log,
       .content = std::string(content),
       .attached = true}};
  intake::Recognised recognised = intake::Recognise(kinds, texts);
  recognised.prose.clear();
  for (intake::Artefact& artefact : recognised.artefacts) {
    if (artefact.host.empty() || !arguments.log.empty()) artefact.host = arguments.node;
    if (!arguments.node.empty()) artefact.machine = arguments.node;
    artefact.in_container = arguments.in_job;
  }
  if (!arguments.command.empty()) {
    // The typed command is known, and says more than the look of the lines.
    intake::Artefact artefact;
    artefact.first_line = 1;
    artefact.content_line = 2;
    artefact.typed = shown;
    artefact.last_line =
        static_cast<std::int64_t>(std::count(content.begin(), content.end(), '\n')) + 1;
    artefact.content = std::string(content);
    artefact.host = artefact.machine = arguments.node;
    artefact.in_container = arguments.in_job;
    artefact.command.argv = arguments.command;
    const std::vector<absl::string_view> lines = absl::StrSplit(content, '\n');
    std::vector<intake::LineShape> shapes;
    shapes.reserve(lines.size());
    for (const absl::string_view line : lines) shapes.push_back(kinds.ShapeOf(line));
    const intake::KindMatch match =
        kinds.Recognise(lines, shapes, intake::ReadCommand(shown), arguments.output);
    artefact.kind = match.kind;
    artefact.argument = match.argument;
    recognised.artefacts = {std::move(artefact)};
  } else if (std::all_of(recognised.artefacts.begin(), recognised.artefacts.end(),
                         [](const intake::Artefact& artefact) {
                           return artefact.kind == nullptr ||
                                  artefact.kind->log == v1::LogSource::JOB;
                         })) {
    const bool known = !recognised.artefacts.empty() && recognised.artefacts[0].kind != nullptr;
    return absl::StrCat(shown, ": ", known ? recognised.artefacts[0].kind->title : "a log",
                        "; checks of logs read it");
  }
  GALEN_ASSIGN_OR_RETURN(const auto bundle, host::Bundle::Open(arguments.directory));
  v1::Incident reported = bundle->incident();
  reported.clear_bundle();
  GALEN_ASSIGN_OR_RETURN(const v1::Incident incident,
                         intake::AddEvidence(arguments.directory, recognised, texts, reported));
  if (incident.artefacts().empty()) return absl::StrCat(shown, ": empty; no check reads it");
  const v1::Artefact& told = incident.artefacts(0);
  if (told.kind().empty()) {
    return absl::StrCat(shown, ": not understood; it is searched for messages only");
  }
  if (!told.unread()) return absl::StrCat(shown, ": ", told.title(), "; checks read it");
  return absl::StrCat(
      shown, ": ", told.title(), "; no check reads it",
      told.instead().empty() ? "" : absl::StrCat(", `", told.instead(), "` would be read"));
}

}  // namespace galen::cli
