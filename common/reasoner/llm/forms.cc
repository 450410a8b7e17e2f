#include "common/reasoner/llm/forms.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/reasoner/llm/schema.h"

namespace galen::reasoner::llm {
namespace {

constexpr std::size_t kThought = 300;
constexpr std::size_t kMostReason = 200;
constexpr std::size_t kMostEntries = 64;

// The answer's order of the offered labels; reasons by label.
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
  return WithThoughts({{std::string(list), ListOf(Object({{"label", OneOf(choices)},
                                                          {"reason", TextSchema(kMostReason)}}),
                                                  choices.size())}});
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
  // The rules' other causes fill the remaining places.
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

Json WithThoughts(Json properties) {
  const Json thought = TextSchema(kThought);
  Json all = {{"thoughts",
               Object({{"proposition", thought}, {"critique", thought}, {"refinement", thought}})}};
  for (auto& [name, schema] : properties.items()) all[name] = std::move(schema);
  return Object(std::move(all));
}

Json NoThoughts() { return {{"proposition", ""}, {"critique", ""}, {"refinement", ""}}; }

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

Form PresumeForm(const v1::PresumeAnswer& offered, int max_causes) {
  return CausesForm(offered, max_causes);
}

absl::StatusOr<v1::PresumeAnswer> TakePresume(const Json& answer, const v1::PresumeAnswer& offered,
                                              int max_causes) {
  return TakeCauses(answer, offered, max_causes);
}

}  // namespace galen::reasoner::llm
