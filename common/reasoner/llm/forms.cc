#include "common/reasoner/llm/forms.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/reasoner/llm/schema.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::Reason;
using galen::v1::Verdict;

constexpr std::size_t kThought = 300;
constexpr std::size_t kMostReason = 200;
constexpr std::size_t kSummary = 800;
constexpr std::size_t kKeyword = 40;
constexpr std::size_t kKeywords = 8;
constexpr std::size_t kRemark = 240;
constexpr std::size_t kRemarks = 2;
constexpr std::size_t kAdded = 2;
constexpr std::size_t kSuggestions = 3;
constexpr std::size_t kTitle = 120;
constexpr std::size_t kStep = 200;
constexpr std::size_t kSteps = 6;
constexpr std::size_t kMostEntries = 64;

Json Text() { return TextSchema(); }

Json ListOfChoices(const std::set<std::string>& choices) {
  return choices.empty() ? Json{{"type", "array"}, {"items", Text()}, {"maxItems", 0}}
                         : ListOf(OneOf(choices));
}

Json WithThoughts(Json properties) {
  properties["thoughts"] =
      Object({{"proposition", Text()}, {"critique", Text()}, {"refinement", Text()}});
  return Object(std::move(properties));
}

Json NoThoughts() { return {{"proposition", ""}, {"critique", ""}, {"refinement", ""}}; }

std::set<std::string> Keys(const Citable& citable) {
  std::set<std::string> keys;
  for (const auto& [name, id] : citable) keys.insert(name);
  return keys;
}

absl::StatusOr<std::vector<std::string>> Cited(const Json& answer, const Citable& citable) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         ChoicesOf(answer, "evidence", Keys(citable)));
  std::vector<std::string> ids;
  ids.reserve(names.size());
  for (const std::string& name : names) ids.push_back(citable.at(name));
  return ids;
}

// The order that the answer gives to what was offered, as labels; reasons by label.
struct Order {
  std::vector<std::string> labels;
  std::map<std::string, std::string> reasons;
};
absl::StatusOr<Order> OrderOf(const Json& answer, absl::string_view list,
                              const std::set<std::string>& choices) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<Json> entries, ObjectsOf(answer, list, kMostEntries));
  Order order;
  for (const Json& entry : entries) {
    GALEN_ASSIGN_OR_RETURN(std::string label, ChoiceOf(entry, "label", choices));
    GALEN_ASSIGN_OR_RETURN(std::string reason, TextOf(entry, "reason", kMostReason, true));
    if (!order.reasons.emplace(label, std::move(reason)).second) {
      return absl::InvalidArgumentError(absl::StrCat("\"", list, "\" holds \"", label, "\" twice"));
    }
    order.labels.push_back(std::move(label));
  }
  return order;
}

Json OrderSchema(absl::string_view list, const std::set<std::string>& choices) {
  return WithThoughts(
      {{std::string(list), ListOf(Object({{"label", OneOf(choices)}, {"reason", Text()}}))}});
}

template <typename Causes>
std::set<std::string> LabelsOf(const Causes& causes) {
  std::set<std::string> labels;
  for (const auto& cause : causes) labels.insert(cause.label());
  return labels;
}

template <typename Answer>
Form CausesForm(const Answer& offered, int max_causes) {
  Json causes = Json::array();
  for (const auto& cause : offered.causes()) {
    if (static_cast<int>(causes.size()) == max_causes) break;
    causes.push_back({{"label", cause.label()}, {"reason", ""}});
  }
  return {OrderSchema("causes", LabelsOf(offered.causes())),
          {{"thoughts", NoThoughts()}, {"causes", std::move(causes)}}};
}

template <typename Answer>
absl::StatusOr<Answer> TakeCauses(const Json& answer, const Answer& offered, int max_causes) {
  GALEN_ASSIGN_OR_RETURN(Order order, OrderOf(answer, "causes", LabelsOf(offered.causes())));
  Answer taken;
  if (offered.causes().empty()) return taken;
  std::vector<std::string>& labels = order.labels;
  const std::string& first = offered.causes(0).label();
  if (static_cast<int>(labels.size()) > max_causes) labels.resize(std::max(max_causes, 0));
  if (std::find(labels.begin(), labels.end(), first) == labels.end()) {
    if (static_cast<int>(labels.size()) == max_causes) labels.pop_back();
    labels.push_back(first);
  }
  // What the rules would have tested besides fills the places that are left.
  for (const auto& cause : offered.causes()) {
    if (static_cast<int>(labels.size()) >= max_causes) break;
    if (std::find(labels.begin(), labels.end(), cause.label()) == labels.end()) {
      labels.push_back(cause.label());
    }
  }
  for (const std::string& label : labels) {
    const auto cause = std::find_if(offered.causes().begin(), offered.causes().end(),
                                    [&](const auto& each) { return each.label() == label; });
    *taken.add_causes() = *cause;
  }
  return taken;
}

}  // namespace

absl::StatusOr<Thoughts> ThoughtsOf(const Json& answer) {
  Thoughts thoughts;
  const auto found = answer.find("thoughts");
  if (found == answer.end() || found->is_null()) return thoughts;
  if (!found->is_object()) {
    return absl::InvalidArgumentError("\"thoughts\" must be an object");
  }
  GALEN_ASSIGN_OR_RETURN(thoughts.proposition, TextOf(*found, "proposition", kThought, true));
  GALEN_ASSIGN_OR_RETURN(thoughts.critique, TextOf(*found, "critique", kThought, true));
  GALEN_ASSIGN_OR_RETURN(thoughts.refinement, TextOf(*found, "refinement", kThought, true));
  return thoughts;
}

Form SummarizeForm(const std::set<std::string>& categories, const v1::SummarizeAnswer& draft) {
  std::set<std::string> classes = categories;
  classes.insert("");
  return {WithThoughts(
              {{"text", Text()}, {"failure_class", OneOf(classes)}, {"keywords", ListOf(Text())}}),
          {{"thoughts", NoThoughts()},
           {"text", draft.text()},
           {"failure_class", draft.failure_class()},
           {"keywords", Json::array()}}};
}

absl::StatusOr<v1::SummarizeAnswer> TakeSummarize(const Json& answer,
                                                  const std::set<std::string>& categories) {
  std::set<std::string> classes = categories;
  classes.insert("");
  v1::SummarizeAnswer taken;
  GALEN_ASSIGN_OR_RETURN(std::string text, TextOf(answer, "text", kSummary));
  if (text.empty()) return absl::InvalidArgumentError("\"text\" is empty");
  taken.set_text(std::move(text));
  GALEN_ASSIGN_OR_RETURN(std::string failure_class, ChoiceOf(answer, "failure_class", classes));
  taken.set_failure_class(std::move(failure_class));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> keywords,
                         TextsOf(answer, "keywords", kKeyword, kKeywords));
  for (const std::string& keyword : keywords) taken.add_keywords(keyword);
  return taken;
}

Form HistoryForm(const v1::HistoryAnswer& offered, int max_causes) {
  return CausesForm(offered, max_causes);
}

absl::StatusOr<v1::HistoryAnswer> TakeHistory(const Json& answer, const v1::HistoryAnswer& offered,
                                              int max_causes) {
  return TakeCauses(answer, offered, max_causes);
}

Form PresumeForm(const v1::PresumeAnswer& offered, int max_causes) {
  return CausesForm(offered, max_causes);
}

absl::StatusOr<v1::PresumeAnswer> TakePresume(const Json& answer, const v1::PresumeAnswer& offered,
                                              int max_causes) {
  return TakeCauses(answer, offered, max_causes);
}

Form RankForm(const v1::RankAnswer& draft) {
  std::set<std::string> open;
  Json order = Json::array();
  for (const v1::RankAnswer::Ranked& ranked : draft.ranked()) {
    if (ranked.pruned()) continue;
    open.insert(ranked.label());
    order.push_back({{"label", ranked.label()}, {"reason", ""}});
  }
  return {OrderSchema("ranked", open), {{"thoughts", NoThoughts()}, {"ranked", std::move(order)}}};
}

absl::StatusOr<v1::RankAnswer> TakeRank(const Json& answer, const v1::RankAnswer& draft) {
  std::map<std::string, const v1::RankAnswer::Ranked*> open;
  std::set<std::string> choices;
  std::vector<double> shares;
  for (const v1::RankAnswer::Ranked& ranked : draft.ranked()) {
    if (ranked.pruned()) continue;
    open.emplace(ranked.label(), &ranked);
    choices.insert(ranked.label());
    shares.push_back(ranked.probability());
  }
  GALEN_ASSIGN_OR_RETURN(Order order, OrderOf(answer, "ranked", choices));
  if (order.labels.empty() && !choices.empty()) {
    return absl::InvalidArgumentError("\"ranked\" is empty");
  }
  // What the answer leaves out follows in the order of the rules.
  for (const v1::RankAnswer::Ranked& ranked : draft.ranked()) {
    if (ranked.pruned() || order.reasons.count(ranked.label()) > 0) continue;
    order.labels.push_back(ranked.label());
  }
  std::sort(shares.rbegin(), shares.rend());
  v1::RankAnswer taken;
  for (std::size_t i = 0; i < order.labels.size(); ++i) {
    v1::RankAnswer::Ranked& ranked = *taken.add_ranked();
    ranked = *open.at(order.labels[i]);
    ranked.set_probability(shares[i]);
    const std::string& reason = order.reasons[order.labels[i]];
    if (!reason.empty()) ranked.set_reason(reason);
  }
  for (const v1::RankAnswer::Ranked& ranked : draft.ranked()) {
    if (ranked.pruned()) *taken.add_ranked() = ranked;
  }
  return taken;
}

Form JudgeForm(const Citable& citable) {
  return {WithThoughts({{"opinion", OneOf({"supports", "opposes", "undecided"})},
                        {"text", Text()},
                        {"evidence", ListOfChoices(Keys(citable))}}),
          {{"thoughts", NoThoughts()},
           {"opinion", "undecided"},
           {"text", ""},
           {"evidence", Json::array()}}};
}

absl::StatusOr<Verdict> TakeJudge(const Json& answer, const Verdict& draft, const Citable& citable,
                                  absl::string_view model) {
  GALEN_ASSIGN_OR_RETURN(const std::string opinion,
                         ChoiceOf(answer, "opinion", {"supports", "opposes", "undecided"}));
  GALEN_ASSIGN_OR_RETURN(const std::string text, TextOf(answer, "text", kMostReason));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Cited(answer, citable));
  Verdict verdict = draft;
  if (opinion == "undecided" || text.empty()) return verdict;
  if (ids.empty()) {
    return absl::InvalidArgumentError("an opinion needs \"evidence\"; without any say undecided");
  }
  Reason& reason = *verdict.add_reasons();
  reason.set_direction(opinion == "supports" ? Reason::SUPPORTS : Reason::OPPOSES);
  reason.set_text(absl::StrCat("noted by the model ", model, ", not weighed: ", text));
  for (const std::string& id : ids) reason.add_evidence_ids(id);
  return verdict;
}

Form CritiqueForm(const v1::CritiqueAnswer& draft, const std::set<std::string>& choices) {
  Json labels = Json::array();
  for (const std::string& label : draft.labels()) {
    if (choices.count(label) > 0) labels.push_back(label);
  }
  return {WithThoughts({{"labels", ListOfChoices(choices)}, {"remarks", ListOf(Text())}}),
          {{"thoughts", NoThoughts()}, {"labels", std::move(labels)}, {"remarks", Json::array()}}};
}

absl::StatusOr<v1::CritiqueAnswer> TakeCritique(const Json& answer, const v1::CritiqueAnswer& draft,
                                                const std::set<std::string>& choices,
                                                absl::string_view model) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> labels,
                         ChoicesOf(answer, "labels", choices));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> remarks,
                         TextsOf(answer, "remarks", kRemark, kRemarks));
  v1::CritiqueAnswer taken = draft;
  std::size_t added = 0;
  for (const std::string& label : labels) {
    const auto& known = taken.labels();
    if (std::find(known.begin(), known.end(), label) != known.end()) continue;
    if (++added > kAdded) break;
    taken.add_labels(label);
  }
  for (const std::string& remark : remarks) {
    taken.add_remarks(absl::StrCat("the model ", model, " remarks: ", remark));
  }
  return taken;
}

Form ExploreForm() {
  return {WithThoughts({{"suggestions", ListOf(Object({{"title", Text()},
                                                       {"rationale", Text()},
                                                       {"steps", ListOf(Text())}}))}}),
          {{"thoughts", NoThoughts()}, {"suggestions", Json::array()}}};
}

absl::StatusOr<v1::ExploreAnswer> TakeExplore(const Json& answer, const v1::ExploreAnswer& draft,
                                              absl::string_view model) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<Json> suggestions,
                         ObjectsOf(answer, "suggestions", kMostEntries));
  v1::ExploreAnswer taken = draft;
  for (std::size_t i = 0; i < std::min(suggestions.size(), kSuggestions); ++i) {
    GALEN_ASSIGN_OR_RETURN(const std::string title, TextOf(suggestions[i], "title", kTitle));
    GALEN_ASSIGN_OR_RETURN(std::string rationale, TextOf(suggestions[i], "rationale", kRemark));
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> steps,
                           TextsOf(suggestions[i], "steps", kStep, kSteps));
    if (title.empty()) continue;
    galen::v1::Suggestion& suggestion = *taken.add_suggestions();
    suggestion.set_title(absl::StrCat(title, " (an idea of the model ", model, ")"));
    suggestion.set_rationale(std::move(rationale));
    for (const std::string& step : steps) suggestion.add_steps(step);
  }
  return taken;
}

Form ConcludeForm(const Citable& citable, const v1::ConcludeAnswer& draft) {
  return {WithThoughts({{"summary", Text()}, {"evidence", ListOfChoices(Keys(citable))}}),
          {{"thoughts", NoThoughts()}, {"summary", draft.headline()}, {"evidence", Json::array()}}};
}

absl::StatusOr<Summing> TakeConclude(const Json& answer, const Citable& citable) {
  Summing summing;
  GALEN_ASSIGN_OR_RETURN(summing.text, TextOf(answer, "summary", kSummary));
  if (summing.text.empty()) return absl::InvalidArgumentError("\"summary\" is empty");
  GALEN_ASSIGN_OR_RETURN(summing.evidence_ids, Cited(answer, citable));
  return summing;
}

}  // namespace galen::reasoner::llm
