#include "services/cli/advisor/advisor_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/base/text.h"
#include "services/cli/kb/table.h"

namespace galen::cli {
namespace {

using advisor::v1::Pattern;
using advisor::v1::Warning;

constexpr std::size_t kMostCell = 300;

std::string Word(const std::string& enumerator) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(enumerator), {{"_", "-"}});
}

std::string Cell(const std::string& text) { return CleanText(text, kMostCell); }

// Subject of the pattern, without its evidence.
std::string About(const Pattern& pattern) {
  switch (pattern.kind()) {
    case Pattern::BUILD_UP:
      return pattern.sign();
    case Pattern::LEMON:
      return absl::StrCat(pattern.node(), " (", pattern.fault(), ")");
    default:
      return absl::StrCat(pattern.archetype().substr(0, 8), " on ", pattern.context());
  }
}

}  // namespace

std::string SignedText(const Signed& workload) {
  return absl::StrCat("archetype  ", workload.signature.archetype(), "\nstack      ",
                      workload.signature.stack(), "\ndigested   ", workload.mix, "\n           ",
                      workload.versions.empty() ? "no versions" : workload.versions, "\n");
}

bool HasError(const advisor::v1::RegisterJobResponse& response) {
  return std::any_of(response.warnings().begin(), response.warnings().end(),
                     [](const Warning& warning) { return warning.severity() == Warning::ERROR; });
}

std::string RegistrationText(const advisor::v1::RegisterJobResponse& response,
                             const Terminal& terminal) {
  std::string text =
      absl::StrCat("context   ", Cell(response.context()), "\nlearned   ",
                   response.version() == 0 ? std::string("nothing yet")
                                           : absl::StrCat("version ", response.version()),
                   "\n");
  if (response.warnings().empty()) {
    return absl::StrCat(text,
                        "warnings  none: nothing that was told or learned speaks against it\n");
  }
  std::vector<std::vector<std::string>> rows;
  for (const Warning& warning : response.warnings()) {
    rows.push_back({Word(Warning::Severity_Name(warning.severity())),
                    Word(Warning::Kind_Name(warning.kind())), Cell(warning.name()),
                    warning.check().empty() ? "-" : Cell(warning.check()), Cell(warning.title())});
  }
  absl::StrAppend(&text, "\n",
                  Table({"SEVERITY", "KIND", "NAME", "CHECK", "WHAT"}, rows, terminal));
  for (const Warning& warning : response.warnings()) {
    absl::StrAppend(&text, "\n", Cell(warning.name()), ": ", Cell(warning.advice()),
                    "\n  source: ", CleanText(warning.source(), 1000), "\n");
  }
  return text;
}

std::string ProgressText(const advisor::v1::ReportProgressResponse& response) {
  const advisor::v1::Hazard& hazard = response.hazard();
  if (!hazard.known()) return absl::StrCat("hazard  unknown: ", Cell(hazard.why()), "\n");
  std::string text = absl::StrFormat(
      "hazard  %.2g %% within %.3g hours\nratio   %.2f (95 %% from %.2f to %.2f) beside the same "
      "job without signs\nsigns   %s\n",
      100 * hazard.probability(), hazard.horizon_hours(), hazard.ratio(), hazard.ratio_low(),
      hazard.ratio_high(),
      hazard.because().empty() ? "none that raises it"
                               : Cell(absl::StrJoin(hazard.because(), ", ")));
  absl::StrAppend(&text, "check   ",
                  response.check().empty() ? "none now" : Cell(response.check()));
  if (!response.reason().empty()) absl::StrAppend(&text, ": ", Cell(response.reason()));
  return absl::StrCat(text, "\n");
}

std::string PatternsText(const advisor::v1::PatternSet& set, const Terminal& terminal) {
  if (set.version() == 0) return "nothing was learned yet\n";
  std::vector<std::vector<std::string>> rows;
  for (const Pattern& pattern : set.patterns()) {
    rows.push_back(
        {Cell(pattern.id()), Word(Pattern::Kind_Name(pattern.kind())),
         absl::StrFormat("%.2g", pattern.p()),
         pattern.effect() > 0 ? absl::StrFormat("%.1f", pattern.effect()) : "-",
         pattern.runs() > 0 ? absl::StrCat(pattern.runs()) : "-", absl::StrCat(pattern.failures()),
         pattern.has_revoked() ? absl::StrCat("revoked by ", Cell(pattern.revoked().by()))
                               : std::string("in use"),
         Cell(About(pattern))});
  }
  std::string text =
      absl::StrCat("version ", set.version(), ": ", set.patterns_size(), " patterns");
  if (!set.patterns().empty()) {
    const Pattern::Origin& origin = set.patterns(0).origin();
    absl::StrAppend(
        &text, " of ", origin.runs(), " runs, learned ",
        absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixSeconds(origin.learned_at().seconds()),
                         absl::UTCTimeZone()),
        " UTC, false-discovery rate ", origin.false_discovery_rate());
  }
  if (rows.empty()) return absl::StrCat(text, "\n");
  return absl::StrCat(text, "\n\n",
                      Table({"ID", "KIND", ">P", ">EFFECT", ">RUNS", ">FAILURES", "STATE", "WHAT"},
                            rows, terminal));
}

}  // namespace galen::cli
