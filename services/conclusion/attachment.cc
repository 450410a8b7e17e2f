#include "services/conclusion/attachment.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/conclusion/markdown.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::Report;

constexpr std::size_t kMostPlaces = 16;

std::string Cites(const Cause& cause) {
  if (cause.evidence_ids().empty()) return "";
  std::vector<std::string> ids;
  for (const std::string& id : cause.evidence_ids())
    ids.push_back(absl::StrCat("`", Inline(id), "`"));
  return absl::StrCat(" (", absl::StrJoin(ids, ", "), ")");
}

void TellList(absl::string_view heading, const google::protobuf::RepeatedPtrField<Cause>& causes,
              std::string& out) {
  if (causes.empty()) return;
  absl::StrAppend(&out, "## ", heading, "\n\n");
  for (const Cause& cause : causes) {
    absl::StrAppend(&out, "- `", Inline(cause.label()), "`");
    if (!cause.title().empty()) absl::StrAppend(&out, " ", Inline(cause.title()));
    if (const std::string places = TicketPlaces(cause, kMostPlaces, false); !places.empty()) {
      absl::StrAppend(&out, ", ", places);
    }
    if (!cause.explained_by().empty()) {
      absl::StrAppend(&out, ", follows from `", Inline(cause.explained_by()), "`");
    }
    absl::StrAppend(&out, ": ", Inline(cause.explanation()), Cites(cause), "\n");
  }
  out += "\n";
}

}  // namespace

std::string WriteAttachment(const Report& report) {
  std::string out =
      absl::StrCat("# Everything that was examined: ", Inline(report.headline()), "\n\n");
  TellList("Secondary effects", report.secondary_effects(), out);
  TellList("Ruled out", report.ruled_out(), out);
  TellList("Undecided", report.undecided(), out);
  if (!report.suggestions().empty()) {
    absl::StrAppend(&out, "## Ideas\n\n");
    for (const galen::v1::Suggestion& idea : report.suggestions()) {
      absl::StrAppend(&out, "- ", Inline(idea.title()), ": ", Inline(idea.rationale()), "\n");
      for (const std::string& step : idea.steps())
        absl::StrAppend(&out, "  - ", Inline(step), "\n");
    }
    out += "\n";
  }
  absl::StrAppend(&out, "## Checks\n\n",
                  absl::StrFormat("%d passed, %d failed, %d skipped, %d with an error\n\n",
                                  report.checks().pass(), report.checks().fail(),
                                  report.checks().skipped(), report.checks().error()));
  if (!report.notes().empty()) {
    absl::StrAppend(&out, "## Notes\n\n");
    for (const std::string& note : report.notes()) absl::StrAppend(&out, "- ", Inline(note), "\n");
    out += "\n";
  }
  absl::StrAppend(&out, "Knowledge ", report.knowledge_digest().substr(0, 12), ", reasoner ",
                  Inline(report.reasoner()), "\n");
  return out;
}

}  // namespace galen::conclusion
