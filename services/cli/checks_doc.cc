#include "services/cli/checks_doc.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/knowledge/words.h"
#include "services/cli/show_check.h"

namespace galen::cli {
namespace {

using knowledge::v1::Check;
using knowledge::v1::Rule;

// Title of each group of checks; the group is the part of a check's name before the dot.
const std::map<std::string, std::string, std::less<>>& GroupTitles() {
  static const std::map<std::string, std::string, std::less<>> kTitles = {
      {"gpu", "GPUs, their memory, links and driver"},
      {"rdma", "RDMA adapters and their fabric"},
      {"net", "Ethernet, routes and TCP"},
      {"nccl", "Collective communication"},
      {"system", "The operating system and its platform"},
      {"job", "The job as it runs"},
      {"container", "The container around the job"},
      {"framework", "Frameworks and libraries"},
      {"user", "The user's settings"},
      {"log", "Logs"},
      {"history", "Changes and earlier failures"},
      {"telemetry", "Time series"},
      {"exec", "Programs of others, where they are installed"},
  };
  return kTitles;
}

// Text of a cell: one line, no bar that ends it.
std::string Cell(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}});
}

std::string Code(absl::string_view text) { return absl::StrCat("`", Cell(text), "`"); }

std::string GroupOf(absl::string_view check) {
  return std::string(check.substr(0, check.find('.')));
}

// The page's own anchor of a check: headings lose their dots.
std::string Link(absl::string_view check) {
  return absl::StrCat("[", check, "](#", absl::StrReplaceAll(check, {{".", ""}}), ")");
}

std::string OpText(Rule::Op op) {
  for (const auto& word : knowledge::OpWords()) {
    if (word.value == op) return std::string(word.text);
  }
  return "";
}

std::string KindText(const Check& check) {
  switch (check.kind()) {
    case Check::EXTRACT:
      return "declared in YAML";
    case Check::EXEC:
      return "a program of the site";
    case Check::PROMQL:
      return "telemetry";
    case Check::LOG:
      return "logs";
    case Check::HISTORY:
      return "earlier diagnoses";
    default:
      return "native";
  }
}

// A check's demands on the machine, for the index.
std::string Mark(const Check& check) {
  std::vector<std::string> marks(check.needs().begin(), check.needs().end());
  if (check.intrusive()) marks.emplace_back("**intrusive**");
  return absl::StrJoin(marks, ", ");
}

std::string BoundsOf(const knowledge::v1::Parameter& parameter) {
  if (parameter.choices_size() > 0) return absl::StrJoin(parameter.choices(), ", ");
  if (parameter.has_min() && parameter.has_max()) {
    return absl::StrFormat("%.15g to %.15g", parameter.min(), parameter.max());
  }
  return "";
}

// Those of telemetry and history are answered by execution, all others by nodes.
bool Has(const Check& check, const std::set<std::string>& available) {
  return check.kind() == Check::PROMQL || check.kind() == Check::HISTORY ||
         available.contains(check.name());
}

void Facts(const Check& check, bool available, std::string& page) {
  std::vector<std::string> facts = {KindText(check),
                                    absl::StrCat("about ", SecondsText(check.cost()))};
  if (check.has_time_limit())
    facts.push_back(absl::StrCat("at most ", SecondsText(check.time_limit())));
  if (check.needs_size() > 0) {
    facts.push_back(absl::StrCat("needs ", absl::StrJoin(check.needs(), ", ")));
  }
  if (check.intrusive()) facts.emplace_back("**intrusive**: runs only where the call allows it");
  if (!check.occupies().empty()) {
    facts.push_back(absl::StrCat("one at a time on a node's ", check.occupies()));
  }
  if (!available) facts.emplace_back("not in this version");
  absl::StrAppend(&page, check.title(), ".\n\n", absl::StrJoin(facts, "; "), ".\n\n");
}

void Reads(const Check& check, std::string& page) {
  if (check.reads_size() == 0 && check.kind() != Check::EXEC) return;
  absl::StrAppend(&page, "Reads ");
  std::vector<std::string> reads;
  for (const std::string& read : check.reads()) reads.push_back(Code(read));
  if (reads.empty()) reads.push_back(Code(absl::StrJoin(check.exec().argv(), " ")));
  absl::StrAppend(&page, absl::StrJoin(reads, ", "), ".\n\n");
}

void ParametersTable(const Check& check, std::string& page) {
  if (check.parameters_size() == 0) return;
  absl::StrAppend(&page, "| parameter | default | bounds | |\n|---|---|---|---|\n");
  for (const auto& parameter : check.parameters()) {
    absl::StrAppend(&page, "| ", Code(parameter.name()), " | ", Cell(parameter.default_value()),
                    " ", parameter.unit(), " | ", Cell(BoundsOf(parameter)), " | ",
                    Cell(parameter.description()), " |\n");
  }
  absl::StrAppend(&page, "\n");
}

void FindingsTable(const Check& check, std::string& page) {
  if (check.findings_size() == 0) return;
  std::map<std::string, std::string> compared;
  for (const auto& comparison : check.comparisons()) {
    compared[comparison.finding()] =
        absl::StrCat("over nodes: ", comparison.how(), " of ", Code(comparison.of()));
  }
  absl::StrAppend(&page, "| finding | of | type | fails when |\n|---|---|---|---|\n");
  for (const auto& finding : check.findings()) {
    std::string type = finding.type();
    if (!finding.unit().empty()) absl::StrAppend(&type, ", ", finding.unit());
    std::string limit;
    if (finding.abnormal().op() != Rule::OP_UNSPECIFIED) {
      limit = Code(absl::StrCat(OpText(finding.abnormal().op()), " ", finding.abnormal().value()));
    }
    if (const auto it = compared.find(finding.name()); it != compared.end()) {
      absl::StrAppend(&limit, limit.empty() ? "" : "; ", it->second);
    }
    absl::StrAppend(&page, "| ", Code(finding.name()), " | ", finding.subject(), " | ", Cell(type),
                    " | ", limit, " |\n");
  }
  absl::StrAppend(&page, "\n");
}

void DataTable(const Check& check, std::string& page) {
  if (check.data_size() == 0) return;
  absl::StrAppend(&page, "| data | value | source |\n|---|---|---|\n");
  for (const auto& datum : check.data()) {
    std::string value;
    if (datum.has_number()) value = absl::StrCat(datum.number());
    if (datum.texts_size() > 0) value = Cell(absl::StrJoin(datum.texts(), ", "));
    if (!datum.pattern().empty()) {
      absl::StrAppend(&value, value.empty() ? "" : " ", Code(datum.pattern()));
    }
    absl::StrAppend(&page, "| ", Code(datum.name()), " | ", value, " | ", Cell(datum.reference()),
                    " |\n");
  }
  absl::StrAppend(&page, "\n");
}

// Labels that a rule over the check confirms, by check.
std::map<std::string, std::vector<std::string>> CausesByCheck(
    const knowledge::Knowledge& knowledge) {
  std::map<std::string, std::vector<std::string>> causes;
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    for (const Rule& rule : label.confirm()) {
      if (rule.context()) continue;
      std::vector<std::string>& labels = causes[rule.check()];
      if (labels.empty() || labels.back() != label.label()) labels.push_back(label.label());
    }
  }
  for (auto& [check, labels] : causes) std::sort(labels.begin(), labels.end());
  return causes;
}

}  // namespace

std::string ChecksDocument(const knowledge::Knowledge& knowledge,
                           const std::set<std::string>& available) {
  std::map<std::string, std::vector<const Check*>> groups;
  std::size_t count = 0;
  for (const Check& check : knowledge.base().checks()) {
    groups[GroupOf(check.name())].push_back(&check);
    count += Has(check, available) ? 1 : 0;
  }
  const auto causes = CausesByCheck(knowledge);
  std::string page = absl::StrCat(knowledge.base().checks_size(), " checks, ", count,
                                  " of them in this version.\n\n");
  for (auto& [group, checks] : groups) {
    std::sort(checks.begin(), checks.end(),
              [](const Check* a, const Check* b) { return a->name() < b->name(); });
    const auto title = GroupTitles().find(group);
    absl::StrAppend(&page, "**", group,
                    "**: ", title == GroupTitles().end() ? "of this site" : title->second,
                    "\n\n| check | looks at | takes | needs |\n|---|---|---|---|\n");
    for (const Check* const check : checks) {
      absl::StrAppend(&page, "| ", Link(check->name()), " | ", Cell(check->title()),
                      Has(*check, available) ? "" : " (not in this version)", " | ",
                      SecondsText(check->cost()), " | ", Mark(*check), " |\n");
    }
    absl::StrAppend(&page, "\n");
  }
  for (const auto& [group, checks] : groups) {
    absl::StrAppend(&page, "## ", group, "\n\n");
    for (const Check* const check : checks) {
      absl::StrAppend(&page, "### ", check->name(), "\n\n");
      Facts(*check, Has(*check, available), page);
      Reads(*check, page);
      ParametersTable(*check, page);
      FindingsTable(*check, page);
      DataTable(*check, page);
      if (const auto it = causes.find(check->name()); it != causes.end()) {
        std::vector<std::string> labels;
        for (const std::string& label : it->second) labels.push_back(Code(label));
        absl::StrAppend(&page, "Points to ", absl::StrJoin(labels, ", "), ".\n\n");
      }
    }
  }
  return page;
}

}  // namespace galen::cli
