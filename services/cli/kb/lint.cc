#include "services/cli/kb/lint.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/curation/json.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/log_analysis/triage/signatures.h"
#include "common/perfmodel/tables/read_table.h"
#include "common/phrases/outcome.h"
#include "common/phrases/vocabulary.h"
#include "common/profile/families.h"
#include "common/remediation/run_action.h"
#include "common/telemetry/rules.h"
#include "services/advisor/learning/known_mismatches.h"
#include "services/advisor/learning/signs.h"
#include "services/execution/playbook/lint.h"
#include "services/execution/playbook/playbook_catalogue.h"
#include "services/watch/early_warning/detection/rules.h"

namespace galen::cli {
namespace {

using knowledge::Problem;

// Reports signals that RE2 compiles and the scan's engine does not, with file and line.
void CompileSignals(const knowledge::v1::KnowledgeBase& base, std::vector<Problem>& problems) {
  if (log_scan::Scanner::Create(base.signals(), knowledge::DefaultCacheDirectory()).ok()) return;
  for (const knowledge::v1::SignalPattern& signal : base.signals()) {
    log_scan::Patterns one;
    *one.Add() = signal;
    const absl::Status status = log_scan::Scanner::Create(std::move(one), "").status();
    if (status.ok()) continue;
    problems.push_back(
        {Problem::Severity::kError, signal.source().file(), signal.source().line(),
         absl::StrCat("signal ", signal.id(),
                      " has a pattern that the log scan cannot take: ", status.message()),
         "write it without what is named there"});
  }
}

// The catalogue of the log triage, which stands apart from the rest: its first mistake.
void LintTriage(const std::vector<std::string>& directories,
                const knowledge::v1::KnowledgeBase& base, std::vector<Problem>& problems) {
  absl::StatusOr<triage::Catalogue> catalogue = triage::LoadCatalogue(directories);
  if (absl::IsNotFound(catalogue.status())) return;
  absl::Status status = catalogue.status();
  if (status.ok()) {
    status = triage::CompiledCatalogue::Create(*std::move(catalogue),
                                               triage::SignaturesOf(knowledge::Knowledge(base)),
                                               knowledge::DefaultCacheDirectory())
                 .status();
  }
  if (status.ok()) return;
  problems.push_back({Problem::Severity::kError, "triage", 0,
                      absl::StrCat("log triage: ", status.message()),
                      "see docs/triage.md for what an entry has"});
}

// The playbooks of telemetry, and what they measure.
void LintPlaybooks(const std::vector<std::string>& directories,
                   const knowledge::v1::KnowledgeBase& base, std::vector<Problem>& problems) {
  const auto fault = [&](absl::string_view what) {
    problems.push_back({Problem::Severity::kError, "playbooks", 0, std::string(what),
                        "see docs/telemetry.md for what an entry has"});
  };
  const absl::StatusOr<playbook::PlaybookCatalogue> book = playbook::LoadPlaybooks(directories);
  const absl::StatusOr<telemetry::Rules> rules = telemetry::LoadRules(directories);
  if (absl::IsNotFound(book.status()) || absl::IsNotFound(rules.status())) return;
  if (!book.ok()) fault(book.status().message());
  if (!rules.ok()) fault(rules.status().message());
  if (!book.ok() || !rules.ok()) return;
  for (const std::string& what : playbook::Lint(*book, *rules, knowledge::Knowledge(base))) {
    fault(what);
  }
}

// Checks the actions against the causes they are for and the checks that judge them.
void LintActions(const std::vector<std::string>& directories,
                 const knowledge::v1::KnowledgeBase& base, std::vector<Problem>& problems) {
  const auto fault = [&](absl::string_view what) {
    problems.push_back({Problem::Severity::kError, "actions", 0, std::string(what),
                        "see docs/repair.md for what an entry has"});
  };
  const absl::StatusOr<std::vector<remediation::RunAction>> actions =
      remediation::LoadRunActions(directories);
  if (absl::IsNotFound(actions.status())) return;
  if (!actions.ok()) return fault(actions.status().message());
  const knowledge::Knowledge knowledge(base);
  for (const remediation::RunAction& action : *actions) {
    for (const std::string& label : action.labels) {
      if (knowledge.FindLabel(label) == nullptr) {
        fault(absl::StrCat(action.name, ": labels: ", label, ": the taxonomy has no such label"));
      }
    }
    for (const remediation::RunAction::Recovery& recovery : action.verify) {
      if (knowledge.FindFinding(recovery.check, recovery.finding) == nullptr) {
        fault(absl::StrCat(action.name, ": verify: ", recovery.check, " has no finding ",
                           recovery.finding));
      }
    }
  }
}

// The families of kernels, likewise.
void LintProfile(const std::vector<std::string>& directories, std::vector<Problem>& problems) {
  const absl::Status status = profile::Families::Load(directories).status();
  if (status.ok() || absl::IsNotFound(status)) return;
  problems.push_back({Problem::Severity::kError, "profile", 0,
                      absl::StrCat("families of kernels: ", status.message()),
                      "see docs/profiles.md for what an entry has"});
}

// The words that people use, likewise.
void LintTalk(const std::vector<std::string>& directories, std::vector<Problem>& problems) {
  const auto vocabulary = phrases::Vocabulary::Load(directories);
  if (absl::IsNotFound(vocabulary.status())) return;
  absl::Status status = vocabulary.status();
  if (status.ok()) status = phrases::OutcomeWords::From(*vocabulary).status();
  if (status.ok()) return;
  problems.push_back({Problem::Severity::kError, "talk", 0,
                      absl::StrCat("words of talk: ", status.message()),
                      "see the head of knowledge/talk/outcomes.yaml for what a list has"});
}

// Measurements of the performance model, likewise.
void LintMeasurements(const std::vector<std::string>& directories,
                      const knowledge::v1::KnowledgeBase& base, std::vector<Problem>& problems) {
  std::map<std::string, std::map<std::string, double>> facts;
  for (const knowledge::v1::Hardware& hardware : base.hardware()) {
    facts[hardware.model()] = {hardware.facts().begin(), hardware.facts().end()};
  }
  const absl::Status status =
      perfmodel::LoadTables(directories, [&facts](const std::string& model) {
        const auto found = facts.find(model);
        return found != facts.end() ? &found->second : nullptr;
      }).status();
  if (status.ok() || absl::IsNotFound(status)) return;
  problems.push_back({Problem::Severity::kError, "perfmodel", 0,
                      absl::StrCat("measurements: ", status.message()),
                      "see docs/perfmodel.md for what an entry has"});
}

// The rules of early warning, beside the quantities they measure and the causes they point to.
void LintWarning(const std::vector<std::string>& directories,
                 const knowledge::v1::KnowledgeBase& base, std::vector<Problem>& problems) {
  const auto fault = [&](absl::string_view what) {
    problems.push_back({Problem::Severity::kError, "warning", 0, std::string(what),
                        "see docs/warning.md for what an entry has"});
  };
  const absl::StatusOr<watch::detection::RuleSet> book = watch::detection::LoadRules(directories);
  const absl::StatusOr<telemetry::Rules> rules = telemetry::LoadRules(directories);
  if (absl::IsNotFound(book.status()) || !rules.ok()) return;
  if (!book.ok()) return fault(book.status().message());
  const knowledge::Knowledge knowledge(base);
  for (const watch::detection::Rule& rule : book->rules) {
    std::vector<std::string> measures = {rule.measure};
    if (!rule.bound.empty()) measures.push_back(rule.bound);
    for (const watch::detection::Rule::Given& given : rule.given) measures.push_back(given.measure);
    for (const std::string& measure : measures) {
      if (rules->Find(measure) == nullptr) {
        fault(absl::StrCat(rule.name, ": ", measure,
                           ": telemetry/sources.yaml has no such quantity"));
      }
    }
    for (const std::string& label : rule.points_to) {
      if (knowledge.FindLabel(label) == nullptr) {
        fault(absl::StrCat(rule.name, ": points_to: ", label, ": the taxonomy has no such label"));
      }
    }
  }
}

// Checks the advisor's known mismatches, and that the checks they name exist.
void LintAdvisor(const std::vector<std::string>& directories,
                 const knowledge::v1::KnowledgeBase& base, std::vector<Problem>& problems) {
  const knowledge::Knowledge knowledge(base);
  const auto fault = [&](absl::string_view what) {
    problems.push_back({Problem::Severity::kError, "advisor", 0, absl::StrCat("advisor: ", what),
                        "see docs/advisor.md for what an entry has"});
  };
  const auto known = advisor::KnownMismatches::Load(directories);
  if (!known.ok() && !absl::IsNotFound(known.status())) fault(known.status().message());
  if (known.ok()) {
    for (const advisor::KnownMismatch* each : known->all()) {
      if (knowledge.FindCheck(each->check) != nullptr) continue;
      fault(absl::StrCat(each->name, ": there is no check ", each->check));
    }
  }
  const auto signs = advisor::BuildUpSigns::Load(directories);
  if (!signs.ok() && !absl::IsNotFound(signs.status())) fault(signs.status().message());
  if (!signs.ok()) return;
  for (const advisor::BuildUpSign& each : signs->all()) {
    if (knowledge.FindCheck(each.check) != nullptr) continue;
    fault(absl::StrCat(each.name, ": there is no check ", each.check));
  }
}

}  // namespace

ExitCode LintKnowledge(const std::vector<std::string>& directories, bool json, Console& console) {
  const absl::StatusOr<std::vector<std::string>> found = knowledge::FindDirectories(directories);
  if (!found.ok()) {
    console.err << "galen: " << found.status().message() << std::endl;
    return ExitCodeOf(found.status());
  }
  std::vector<Problem> problems;
  const absl::StatusOr<knowledge::v1::KnowledgeBase> base = knowledge::Parse(*found, problems);
  if (!base.ok()) {
    console.err << "galen: " << base.status().message() << std::endl;
    return ExitCodeOf(base.status());
  }
  for (Problem& problem : knowledge::Lint(*base)) problems.push_back(std::move(problem));
  const auto is_error = [](const Problem& problem) {
    return problem.severity == Problem::Severity::kError;
  };
  if (std::none_of(problems.begin(), problems.end(), is_error)) {
    CompileSignals(*base, problems);
    LintTriage(*found, *base, problems);
    LintPlaybooks(*found, *base, problems);
    LintActions(*found, *base, problems);
    LintProfile(*found, problems);
    LintTalk(*found, problems);
    LintMeasurements(*found, *base, problems);
    LintWarning(*found, *base, problems);
    LintAdvisor(*found, *base, problems);
  }
  std::stable_sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  const auto errors = std::count_if(problems.begin(), problems.end(), is_error);
  for (const Problem& problem : problems) {
    if (json) {
      console.out << curation::JsonObject()
                         .Add("severity", is_error(problem) ? "error" : "warning")
                         .Add("file", problem.file)
                         .Add("line", problem.line)
                         .Add("text", problem.text)
                         .Add("remedy", problem.remedy)
                         .Text()
                  << '\n';
    } else {
      console.out << Paint(console.terminal, is_error(problem) ? Colour::kRed : Colour::kYellow,
                           knowledge::ToString(problem))
                  << '\n';
    }
  }
  if (!json) {
    console.out << base->labels_size() << " labels, " << base->checks_size() << " checks, "
                << base->signals_size() << " signals, " << base->incidents_size()
                << " past incidents, " << base->error_codes_size() << " error codes, "
                << base->hardware_size() << " hardware models: " << errors << " errors, "
                << problems.size() - static_cast<std::size_t>(errors) << " warnings";
    console.out << '\n';
  }
  console.out.flush();
  return errors == 0 ? kOk : kBadInput;
}

}  // namespace galen::cli
