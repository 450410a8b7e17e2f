#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/lint.h"
#include "common/knowledge/nothing_wrong.h"
#include "re2/re2.h"

namespace galen::knowledge {
namespace {

constexpr std::size_t kMaxPattern = 2048;

// Error unless the pattern compiles and says something.
void LintPattern(LintContext& context, const v1::SourceRef& at, absl::string_view who,
                 const std::string& pattern) {
  if (pattern.empty() || pattern.size() > kMaxPattern) {
    context.Error(at, absl::StrCat(who, " has a pattern of ", pattern.size(), " characters"),
                  absl::StrCat("write 1 to ", kMaxPattern));
    return;
  }
  const RE2 compiled(pattern, RE2::Quiet);
  if (!compiled.ok()) {
    context.Error(at, absl::StrCat(who, " has a pattern that does not compile: ", compiled.error()),
                  "correct the RE2 syntax; look-around and back references do not exist there");
  } else if (RE2::PartialMatch("", compiled)) {
    context.Error(at, absl::StrCat(who, " has a pattern that matches every line"),
                  "make at least one part of it compulsory");
  }
}

void LintSignals(LintContext& context) {
  LintDuplicates(context, "signal", context.base.signals(),
                 [](const v1::SignalPattern& signal) { return signal.id(); });
  for (const v1::SignalPattern& signal : context.base.signals()) {
    const std::string who = absl::StrCat("signal ", signal.id());
    LintPattern(context, signal.source(), who, signal.pattern());
    if (signal.id().find_first_of("@/ ") != std::string::npos) {
      context.Error(signal.source(), absl::StrCat(who, " has \"@\", \"/\" or a space in its id"),
                    "use letters, digits, dots and underscores");
    }
    if (signal.where().empty()) {
      context.Error(signal.source(), absl::StrCat(who, " does not say where it is read"),
                    "add `where:` with description, job_log, kernel_log or tool_output");
    }
    if (signal.role() == galen::v1::SIGNAL_ROLE_UNSPECIFIED ||
        signal.strength() == galen::v1::STRENGTH_UNSPECIFIED) {
      context.Error(signal.source(), absl::StrCat(who, " has no role or no strength"),
                    "add `role:` and `strength:`");
    }
    const bool only_told = signal.where_size() == 1 && signal.where(0) == galen::v1::DESCRIPTION;
    if (signal.outcome() != v1::OUTCOME_UNSPECIFIED && !only_told) {
      context.Error(signal.source(),
                    absl::StrCat(who, " has an outcome and is not for words alone"),
                    "write `where: description`: programs do not tell what cured them");
    }
    for (const std::string& label : signal.labels()) {
      context.RequireLabel(signal.source(), label, who);
    }
    for (const std::string& label : signal.refutes()) {
      context.RequireLabel(signal.source(), label, who);
    }
  }
}

void LintErrorCodes(LintContext& context) {
  LintDuplicates(context, "error code", context.base.error_codes(), [](const v1::ErrorCode& code) {
    return absl::StrCat(code.family(), " ", code.code());
  });
  for (const v1::ErrorCode& code : context.base.error_codes()) {
    if (code.meaning().empty() && code.name().empty()) {
      context.Error(code.source(),
                    absl::StrCat("error code ", code.family(), " ", code.code(),
                                 " has no name and no meaning"),
                    "say what it means");
    }
  }
}

void LintHardware(LintContext& context) {
  LintDuplicates(context, "hardware model", context.base.hardware(),
                 [](const v1::Hardware& hardware) { return hardware.model(); });
  for (const v1::Hardware& hardware : context.base.hardware()) {
    LintPattern(context, hardware.source(), absl::StrCat("hardware model ", hardware.model()),
                hardware.match());
    if (hardware.facts().empty()) {
      context.Error(hardware.source(),
                    absl::StrCat("hardware model ", hardware.model(), " has no facts"),
                    "add `facts:` with numbers");
    }
  }
}

void LintKernelLines(LintContext& context) {
  LintDuplicates(context, "kernel line", context.base.kernel_lines(),
                 [](const v1::KernelLine& line) { return line.id(); });
  for (const v1::KernelLine& line : context.base.kernel_lines()) {
    const std::string who = absl::StrCat("kernel line ", line.id());
    LintPattern(context, line.source(), who, line.match());
    const RE2 pattern(line.match(), RE2::Quiet);
    bool tells_code = !line.code().empty();
    for (const auto& [number, name] : pattern.CapturingGroupNames()) {
      tells_code = tells_code || name == "code";
      if (name == "pci" || name == "code" || name == "subject") continue;
      context.Error(line.source(), absl::StrCat(who, " has a group \"", name, "\""),
                    "name a group pci, code or subject, or none");
    }
    if (pattern.ok() && !tells_code) {
      context.Error(line.source(), absl::StrCat(who, " has no code"),
                    "add `code:`, or a group of that name to the pattern");
    }
    if (!line.program_codes().empty() && !line.platform()) {
      context.Error(line.source(), absl::StrCat(who, " lists program_codes without platform: true"),
                    "leave one of them out: every code is a program's");
    }
    if (!(line.settle_s() >= 0)) {
      context.Error(line.source(), absl::StrCat(who, " has settle_s ", line.settle_s()),
                    "write seconds, 0 or more");
    }
  }
}

void LintArtefactKinds(LintContext& context) {
  LintDuplicates(context, "artefact kind", context.base.artefact_kinds(),
                 [](const v1::ArtefactKind& kind) { return kind.id(); });
  for (const v1::ArtefactKind& kind : context.base.artefact_kinds()) {
    const std::string who = absl::StrCat("artefact kind ", kind.id());
    for (const auto* patterns : {&kind.typed(), &kind.header(), &kind.lines(), &kind.file()}) {
      for (const std::string& pattern : *patterns)
        LintPattern(context, kind.source(), who, pattern);
    }
    if (kind.typed().empty() && kind.header().empty() && kind.lines().empty() &&
        kind.file().empty()) {
      context.Error(kind.source(), absl::StrCat(who, " has nothing that it is known by"),
                    "add `typed:`, `header:`, `lines:` or `file:`");
    }
    // A converter may find nothing in a text.
    if (!kind.instead().empty() && kind.reads_as() != "nothing" && kind.form().empty()) {
      context.Error(kind.source(), absl::StrCat(who, " is read, and says what is read instead"),
                    "take `instead:` out");
    }
  }
}

void LintBaseRates(LintContext& context) {
  LintDuplicates(context, "base rate", context.base.base_rates(),
                 [](const v1::BaseRate& rate) { return rate.of(); });
  for (const v1::BaseRate& rate : context.base.base_rates()) {
    if (rate.seen() <= rate.asked()) continue;
    context.Error(rate.source(),
                  absl::StrCat("base rate of \"", rate.of(), "\" was seen ", rate.seen(),
                               " times in ", rate.asked(), " incidents"),
                  "measure it again: galen-eval --base-rates");
  }
}

void LintComplaints(LintContext& context) {
  LintDuplicates(context, "list of complaints", context.base.complaints(),
                 [](const v1::Complaints& complaints) { return complaints.label(); });
  for (const v1::Complaints& complaints : context.base.complaints()) {
    const std::string who = absl::StrCat("list of complaints of ", complaints.label());
    if (complaints.label() != kNothingWrong) {
      context.RequireLabel(complaints.source(), complaints.label(), who);
    }
    const auto label = context.labels.find(complaints.label());
    if (label != context.labels.end() && !IsLeaf(*label->second)) {
      context.Error(complaints.source(), absl::StrCat(who, ": it is an inner label"),
                    "name the leaf that people complain of");
    }
    if (complaints.told().empty()) {
      context.Error(complaints.source(), absl::StrCat(who, " is empty"),
                    "add `told:` with the sentences of people");
    }
  }
}

void LintIncidents(LintContext& context) {
  LintDuplicates(context, "past incident", context.base.incidents(),
                 [](const v1::PastIncident& incident) { return incident.id(); });
  for (const v1::PastIncident& incident : context.base.incidents()) {
    const std::string who = absl::StrCat("past incident ", incident.id());
    context.RequireLabel(incident.source(), incident.label(), who);
    const auto label = context.labels.find(incident.label());
    if (label != context.labels.end() && !IsLeaf(*label->second)) {
      context.Error(incident.source(),
                    absl::StrCat(who, " names the inner label ", incident.label()),
                    "name the leaf that was the cause");
    }
    for (const std::string& name : incident.labels_secondary()) {
      if (absl::StrContains(name, '.') && !absl::StrContains(name, ' ')) {
        context.RequireLabel(incident.source(), name, who);
      }
    }
    if (incident.description().empty() && incident.title().empty()) {
      context.Error(incident.source(), absl::StrCat(who, " has no title and no description"),
                    "say what was reported");
    }
  }
}

}  // namespace

void LintCatalogues(LintContext& context) {
  LintSignals(context);
  LintErrorCodes(context);
  LintHardware(context);
  LintKernelLines(context);
  LintArtefactKinds(context);
  LintBaseRates(context);
  LintComplaints(context);
  LintIncidents(context);
}

}  // namespace galen::knowledge
