#include "services/planning/consult.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/llm/usage/usage.h"
#include "common/reasoner/llm/lines.h"

namespace galen::planning {
namespace {

using galen::v1::CheckResult;
using galen::v1::Citation;
using galen::v1::EvidenceSet;
using galen::v1::ToolCall;
using galen::v1::ToolResult;
using knowledge::v1::Label;

constexpr int kMostCalls = 8;
constexpr std::size_t kMostOfCheck = 40;  // lines of one result
constexpr std::size_t kMostBytes = 3600;  // of one answer
constexpr int kMostPast = 5;
constexpr std::size_t kMostPastText = 500;
constexpr std::size_t kMostLeaves = 12;
// A cause is near to words that make it at least this much likelier than by chance (logarithm).
constexpr double kNear = 0.7;
constexpr int kMostRules = 6;

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& texts,
                   absl::string_view between, int most) {
  std::vector<std::string> shown(texts.begin(), texts.begin() + std::min(texts.size(), most));
  return absl::StrJoin(shown, between);
}

// Adds the lines of a result that may be cited; true while there is room.
bool AddLine(const CheckResult& result, std::int64_t number, const std::string& text,
             std::size_t& bytes, ToolResult& shown) {
  if (bytes + text.size() > kMostBytes) return false;
  bytes += text.size();
  Citation& line = *shown.add_lines();
  line.set_artefact(result.id());
  line.set_line(number);
  line.set_quote(text);
  line.set_node(result.node());
  return true;
}

void AddPlain(const std::string& text, ToolResult& shown) {
  shown.add_lines()->set_quote(CleanText(text, kMostPastText));
}

void AddRules(absl::string_view verb,
              const google::protobuf::RepeatedPtrField<knowledge::v1::Rule>& rules,
              std::string& text) {
  for (int i = 0; i < std::min(rules.size(), kMostRules); ++i) {
    absl::StrAppend(&text, "\n", verb, rules[i].defining() ? " by itself: " : ": ",
                    rules[i].observation(), " (check ", rules[i].check(), ")");
  }
}

}  // namespace

std::string ConsultationTools::UnknownCheck(const EvidenceSet& evidence,
                                            const std::string& check) const {
  if (knowledge_.FindCheck(check) != nullptr) {
    return "That check has not run for this incident; run_checks runs it.";
  }
  std::set<std::string> ran;
  for (const CheckResult& result : evidence.results()) ran.insert(result.check());
  return absl::StrCat("There is no check of that name. Those that have run: ",
                      absl::StrJoin(ran, ", "));
}

ToolResult ConsultationTools::ShowCheck(const EvidenceSet& evidence,
                                        const ToolCall::ShowCheck& given) const {
  ToolCall::ShowCheck call = given;
  // Results are shown by their ids, so an id names its check and node.
  if (const std::size_t at = call.check().find('@'); at != std::string::npos) {
    if (call.node().empty()) call.set_node(call.check().substr(at + 1));
    call.mutable_check()->resize(at);
  }
  ToolResult shown;
  std::size_t bytes = 0;
  bool found = false;
  for (const CheckResult& result : evidence.results()) {
    if (result.check() != call.check()) continue;
    if (!call.node().empty() && result.node() != call.node()) continue;
    found = true;
    std::int64_t number = 0;
    for (const std::string& line : reasoner::llm::LinesOfResult(result)) {
      if (++number > static_cast<std::int64_t>(kMostOfCheck) ||
          !AddLine(result, number, line, bytes, shown)) {
        shown.set_text("More of it is not shown; search finds lines of it.");
        break;
      }
    }
  }
  if (!found) shown.set_text(UnknownCheck(evidence, call.check()));
  return shown;
}

ToolResult ConsultationTools::Compare(const EvidenceSet& evidence,
                                      const ToolCall::CompareNodes& given) const {
  ToolCall::CompareNodes call = given;
  call.set_check(given.check().substr(0, given.check().find('@')));
  ToolResult shown;
  std::size_t bytes = 0;
  bool found = false;
  for (const CheckResult& result : evidence.results()) {
    if (result.check() != call.check()) continue;
    found = true;
    const std::vector<std::string> lines = reasoner::llm::LinesOfResult(result);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool wanted = i == 0 || call.finding().empty() ||
                          absl::StartsWith(lines[i], call.finding()) ||
                          (absl::StartsWith(lines[i], "not known: ") &&
                           absl::StrContains(lines[i], call.finding()));
      if (!wanted) continue;
      if (!AddLine(result, static_cast<std::int64_t>(i) + 1, lines[i], bytes, shown)) {
        shown.set_text("More is not shown; name one finding.");
        return shown;
      }
    }
  }
  if (!found) shown.set_text(UnknownCheck(evidence, call.check()));
  return shown;
}

ToolResult ConsultationTools::SearchHistory(const std::string& query, v1::ConsultResponse& response,
                                            galen::v1::Spending& spending,
                                            absl::Time deadline) const {
  ToolResult shown;
  reasoner::v1::HistoryQuestion question;
  question.mutable_incident()->set_description(query);
  question.set_max_causes(kMostPast);
  *question.mutable_spending() = spending;
  const absl::StatusOr<reasoner::v1::HistoryAnswer> answer =
      reasoner_.ProposeFromHistory(question, deadline);
  if (!answer.ok()) {
    shown.set_text("Past incidents cannot be searched now.");
    return shown;
  }
  if (answer->has_embedded()) {
    usage::Add(answer->embedded(), spending);
    *response.add_reasoned() = answer->embedded();
  }
  std::map<absl::string_view, const knowledge::v1::PastIncident*> known;
  for (const auto& incident : knowledge_.base().incidents()) known[incident.id()] = &incident;
  for (const auto& cause : answer->causes()) {
    std::string text = absl::StrCat(cause.label(), ": ", cause.reason());
    for (const std::string& id : cause.incidents()) {
      const auto incident = known.find(id);
      if (incident == known.end()) continue;
      absl::StrAppend(&text, ". ", incident->second->description());
      if (!incident->second->verification().empty()) {
        absl::StrAppend(&text, " Verified by: ", Joined(incident->second->verification(), "; ", 2));
      }
      if (!incident->second->resolution().empty()) {
        absl::StrAppend(&text, " Cured by: ", incident->second->resolution());
      }
      break;
    }
    AddPlain(text, shown);
  }
  if (shown.lines().empty()) shown.set_text("No past incident is similar enough.");
  return shown;
}

ToolResult ConsultationTools::SearchPlaybooks(const std::string& query) const {
  ToolResult shown;
  shown.set_text(playbooks_ == nullptr ? "There are no playbooks."
                                       : playbooks_->Search(query, kMostBytes));
  return shown;
}

ToolResult ConsultationTools::SearchTaxonomy(const std::string& query) const {
  std::call_once(made_,
                 [this] { leaves_ = std::make_unique<const reasoner::LikenessIndex>(knowledge_); });
  const std::string words = CleanText(query, 2000);
  ToolResult shown;
  std::string text;
  const std::shared_ptr<const reasoner::Likeness> likeness = leaves_->Of(words, "");
  bool near = false;
  for (const std::string& leaf : leaves_->MostLike(words, kMostLeaves)) {
    const Label* const label = knowledge_.FindLabel(leaf);
    const auto like = likeness->find(leaf);
    near = near || (like != likeness->end() && like->second.weight >= kNear);
    absl::StrAppend(&text, text.empty() ? "" : "\n", label->label(), ": ", label->title());
  }
  if (!near && !text.empty()) {
    text = absl::StrCat("Nothing is near to that; least far are\n", text);
  }
  shown.set_text(text.empty() ? "Nothing in the taxonomy is like that; read_taxonomy without a "
                                "label lists the main categories."
                              : text);
  return shown;
}

ToolResult ConsultationTools::ReadTaxonomy(const std::string& name) const {
  ToolResult shown;
  const Label* const label = knowledge_.FindLabel(name);
  if (label == nullptr && !name.empty()) {
    shown.set_text("There is no label of that name; search_taxonomy finds labels by words.");
    return shown;
  }
  std::string text;
  if (label != nullptr) {
    text = absl::StrCat(label->label(), ": ", label->title(), ". ", label->description());
    if (!label->symptoms().empty()) {
      absl::StrAppend(&text, "\nPeople see: ", Joined(label->symptoms(), "; ", 4));
    }
    AddRules("It is shown", label->confirm(), text);
    AddRules("It is excluded", label->refute(), text);
    if (!label->confused_with().empty()) {
      absl::StrAppend(&text, "\nLooks alike: ", absl::StrJoin(label->confused_with(), ", "));
    }
    if (!label->secondary_effects().empty()) {
      absl::StrAppend(&text, "\nIts effects: ", absl::StrJoin(label->secondary_effects(), ", "));
    }
    if (!label->mitigation().empty()) absl::StrAppend(&text, "\nCure: ", label->mitigation());
  }
  for (const Label* child : knowledge_.Children(name)) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "Below it: ", child->label(), ": ",
                    child->title());
  }
  shown.set_text(CleanText(text, kMostBytes));
  return shown;
}

absl::StatusOr<v1::ConsultResponse> ConsultationTools::Answer(const v1::ConsultRequest& request,
                                                              absl::Time deadline) const {
  if (request.calls_size() > kMostCalls) {
    return absl::InvalidArgumentError(
        absl::StrCat("calls: has ", request.calls_size(), ", at most ", kMostCalls, " are taken"));
  }
  v1::ConsultResponse response;
  galen::v1::Spending spending = request.spending();
  for (const ToolCall& call : request.calls()) {
    switch (call.call_case()) {
      case ToolCall::kShowCheck:
        *response.add_results() = ShowCheck(request.evidence(), call.show_check());
        break;
      case ToolCall::kCompareNodes:
        *response.add_results() = Compare(request.evidence(), call.compare_nodes());
        break;
      case ToolCall::kSearchHistory:
        *response.add_results() =
            SearchHistory(call.search_history().query(), response, spending, deadline);
        break;
      case ToolCall::kSearchPlaybooks:
        *response.add_results() = SearchPlaybooks(call.search_playbooks().query());
        break;
      case ToolCall::kSearchTaxonomy:
        *response.add_results() = SearchTaxonomy(call.search_taxonomy().query());
        break;
      case ToolCall::kReadTaxonomy:
        *response.add_results() = ReadTaxonomy(call.read_taxonomy().label());
        break;
      default:
        return absl::InvalidArgumentError("calls: one of them asks nothing of planning");
    }
  }
  return response;
}

}  // namespace galen::planning
