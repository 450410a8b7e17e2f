#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/log_analysis/triage/process_end.h"
#include "common/log_analysis/triage/signatures.h"
#include "common/log_analysis/triage/step_line.h"
#include "common/log_analysis/triage/writer.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

// The shipped catalogue.
const triage::CompiledCatalogue& Shipped() {
  static const triage::CompiledCatalogue* const compiled = [] {
    std::vector<knowledge::Problem> problems;
    auto base = knowledge::Parse(
        std::vector<std::string>{absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/checks")}, problems);
    auto catalogue = triage::LoadCatalogue(
        std::vector<std::string>{absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")});
    auto made = triage::CompiledCatalogue::Create(
        std::move(catalogue).value(),
        triage::SignaturesOf(knowledge::Knowledge(std::move(base).value())), "");
    return std::move(made).value().release();
  }();
  return *compiled;
}

triage::JobReport ReportOf(absl::string_view text, std::size_t piece,
                           triage::SchedulerState scheduler) {
  triage::TriageOptions options;
  options.scheduler = scheduler;
  options.now = absl::FromUnixSeconds(1'715'000'000);
  triage::JobTriage job(Shipped(), options);
  job.BeginLog("logs/rank-3.log");
  for (std::size_t at = 0; at < text.size(); at += piece) job.Feed(text.substr(at, piece));
  job.EndLog();
  return job.Finish();
}

// The report does not depend on how the text is cut.
void Logs(absl::string_view text) {
  const auto scheduler = static_cast<triage::SchedulerState>(text.size() % 3);
  const triage::JobReport whole = ReportOf(text, 1 << 20, scheduler);
  const triage::JobReport cut = ReportOf(text, 7, scheduler);
  const auto name = [](const triage::JobReport& report) {
    return report.primary.has_value()
               ? absl::StrCat(report.primary->name, ":", report.primary->first.line)
               : std::string();
  };
  if (whole.decision.status != cut.decision.status || name(whole) != name(cut) ||
      whole.progress.last_step != cut.progress.last_step ||
      whole.progress.sum_seconds != cut.progress.sum_seconds ||
      whole.logs[0].lines != cut.logs[0].lines || whole.others.size() != cut.others.size()) {
    std::abort();
  }
  for (const triage::Shown& shown : whole.others) Use(shown);
}

void Steps(absl::string_view text) {
  for (const triage::StepFormat& format : Shipped().catalogue().formats) {
    const auto step = triage::ReadStepLine(format, text);
    if (!step.has_value()) continue;
    if (step->step > triage::kMostSteps) std::abort();
    Use(step->Seconds());
  }
}

void Prefixes(absl::string_view text) {
  const absl::string_view prefix = triage::WriterPrefix(text);
  if (prefix.size() > text.size()) std::abort();
  Use(triage::ToString(triage::ParseWriter(prefix)));
  Use(triage::FindExit(text));
  Use(triage::FindWatchdogTimeout(text));
}

void Catalogues(absl::string_view text) {
  triage::Catalogue catalogue;
  Use(triage::AddTo(catalogue, text, "site.yaml"));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"logs", Logs}, {"steps", Steps}, {"prefixes", Prefixes}, {"catalogue", Catalogues}};
  return kParsers;
}

}  // namespace galen::fuzz
