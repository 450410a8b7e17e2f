#include "services/conclusion/ticket.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::Device;
using galen::v1::Evidence;
using galen::v1::Report;

constexpr size_t kMaxDescriptionBytes = 4000;
constexpr size_t kMaxExcerptBytes = 600;
constexpr size_t kMaxInlineBytes = 800;

// One line of foreign text that cannot open a heading, a table, a link or HTML.
std::string Inline(absl::string_view text) {
  std::string line = CleanText(text, kMaxInlineBytes);
  absl::StrReplaceAll({{"\n", " "},
                       {"\t", " "},
                       {"<", "&lt;"},
                       {"|", "\\|"},
                       {"[", "\\["},
                       {"`", "'"},
                       {"*", "\\*"}},
                      &line);
  absl::RemoveExtraAsciiWhitespace(&line);
  return line;
}

std::string Quote(absl::string_view text, size_t max_bytes) {
  std::string quoted;
  for (absl::string_view line : absl::StrSplit(CleanText(text, max_bytes), '\n')) {
    absl::StrAppend(&quoted, "> ", absl::StrReplaceAll(line, {{"<", "&lt;"}}), "\n");
  }
  return quoted;
}

std::string TicketPlaces(const Cause& cause) {
  std::vector<std::string> places;
  for (const Device& device : cause.devices()) {
    std::string place = device.device().empty()
                            ? device.node()
                            : absl::StrCat(device.device(), " on ", device.node());
    if (!device.pci_address().empty()) absl::StrAppend(&place, " (", device.pci_address(), ")");
    places.push_back(Inline(place));
  }
  return absl::StrJoin(places, ", ");
}

std::string Cites(const Cause& cause) {
  if (cause.evidence_ids().empty()) return "";
  std::vector<std::string> ids;
  for (const std::string& id : cause.evidence_ids())
    ids.push_back(absl::StrCat("`", Inline(id), "`"));
  return absl::StrCat(" (", absl::StrJoin(ids, ", "), ")");
}

void TellCause(absl::string_view heading, const Cause& cause, std::string& out) {
  absl::StrAppend(&out, "## ", heading, ": ", Inline(cause.title()), "\n\n");
  absl::StrAppend(&out, "- Label: `", cause.label(), "`\n");
  absl::StrAppend(&out, absl::StrFormat("- Probability: %.2f\n", cause.probability()));
  if (const std::string places = TicketPlaces(cause); !places.empty()) {
    absl::StrAppend(&out, "- Where: ", places, "\n");
  }
  if (!cause.owner().empty()) absl::StrAppend(&out, "- Owner: ", cause.owner(), "\n");
  if (!cause.severity().empty()) absl::StrAppend(&out, "- Severity: ", cause.severity(), "\n");
  absl::StrAppend(&out, "- Why: ", Inline(cause.explanation()), Cites(cause), "\n\n");
}

void TellList(absl::string_view heading, const google::protobuf::RepeatedPtrField<Cause>& causes,
              std::string& out) {
  if (causes.empty()) return;
  absl::StrAppend(&out, "## ", heading, "\n\n");
  for (const Cause& cause : causes) {
    absl::StrAppend(&out, "- `", Inline(cause.label()), "`");
    if (!cause.title().empty()) absl::StrAppend(&out, " ", Inline(cause.title()));
    if (const std::string places = TicketPlaces(cause); !places.empty()) {
      absl::StrAppend(&out, ", ", places);
    }
    if (!cause.explained_by().empty()) {
      absl::StrAppend(&out, ", follows from `", cause.explained_by(), "`");
    }
    absl::StrAppend(&out, ": ", Inline(cause.explanation()), Cites(cause), "\n");
  }
  out += "\n";
}

void TellEvidence(const Report& report, std::string& out) {
  if (!report.has_primary_cause() && !report.has_presumed_cause()) return;
  const Cause& cause =
      report.has_primary_cause() ? report.primary_cause() : report.presumed_cause();
  absl::StrAppend(&out, "## Evidence\n\n");
  for (const Evidence& evidence : report.evidence()) {
    const auto& ids = cause.evidence_ids();
    if (std::find(ids.begin(), ids.end(), evidence.id()) == ids.end()) continue;
    absl::StrAppend(&out, "`", Inline(evidence.id()), "`: ", Inline(evidence.text()), "\n\n");
    if (!evidence.excerpt().empty()) {
      absl::StrAppend(&out, Quote(evidence.excerpt(), kMaxExcerptBytes), "\n");
    }
  }
}

void TellLines(absl::string_view heading,
               const google::protobuf::RepeatedPtrField<std::string>& lines, bool numbered,
               std::string& out) {
  if (lines.empty()) return;
  absl::StrAppend(&out, "## ", heading, "\n\n");
  int number = 0;
  for (const std::string& line : lines) {
    absl::StrAppend(&out, numbered ? absl::StrCat(++number, ". ") : "- ", Inline(line), "\n");
  }
  out += "\n";
}

}  // namespace

std::string WriteTicket(const v1::ConcludeRequest& request, const Report& report) {
  std::string out = absl::StrCat("# ", Inline(report.headline()), "\n\n");
  if (!request.diagnosis().empty()) {
    absl::StrAppend(&out, "Diagnosis: `", Inline(request.diagnosis()), "`\n\n");
  }
  absl::StrAppend(&out, "## Reported\n\n",
                  Quote(request.incident().description(), kMaxDescriptionBytes), "\n");
  if (report.has_primary_cause()) TellCause("Cause", report.primary_cause(), out);
  if (report.has_presumed_cause()) {
    TellCause("Presumed cause, not verified", report.presumed_cause(), out);
  }
  for (const Cause& cause : report.other_causes()) TellCause("Independent cause", cause, out);
  TellList("Secondary effects", report.secondary_effects(), out);
  TellEvidence(report, out);
  TellLines("Next steps", report.next_steps(), /*numbered=*/true, out);
  TellList("Ruled out", report.ruled_out(), out);
  TellList("Undecided", report.undecided(), out);
  absl::StrAppend(&out, "## Checks\n\n",
                  absl::StrFormat("%d passed, %d failed, %d skipped, %d with an error\n\n",
                                  report.checks().pass(), report.checks().fail(),
                                  report.checks().skipped(), report.checks().error()));
  TellLines("Notes", report.notes(), /*numbered=*/false, out);
  absl::StrAppend(&out, "Knowledge ", report.knowledge_digest().substr(0, 12), ", reasoner ",
                  Inline(report.reasoner()), "\n");
  return out;
}

}  // namespace galen::conclusion
