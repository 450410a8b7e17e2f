#include "services/conclusion/model_note.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/llm/usage/usage.h"

namespace galen::conclusion {
namespace {

using galen::v1::Reasoned;

absl::string_view Why(Reasoned::Fallback fallback) {
  switch (fallback) {
    case Reasoned::BUDGET_SPENT:
      return "the budget is spent";
    case Reasoned::GAVE_UP:
      return "it had failed before";
    case Reasoned::UNAVAILABLE:
      return "it could not be asked";
    case Reasoned::OUT_OF_TIME:
      return "out of time";
    case Reasoned::BAD_ANSWER:
      return "its answer could not be used";
    default:
      return "it was not needed";
  }
}

std::string Counted(std::int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

// The search for past incidents, if a model was to embed the question; the last search counts.
std::string SearchNote(const Reasoned& embedded) {
  if (embedded.fallback() == Reasoned::NONE) {
    return absl::StrCat("past incidents were searched by the vectors of ", embedded.model());
  }
  return absl::StrCat("past incidents were searched without the vectors of ", embedded.model(),
                      ": ", Why(embedded.fallback()),
                      embedded.detail().empty() ? "" : absl::StrCat(" (", embedded.detail(), ")"));
}

}  // namespace

galen::v1::Spent SpentOn(const google::protobuf::RepeatedPtrField<Reasoned>& reasoned) {
  galen::v1::Spent spent;
  for (const Reasoned& each : reasoned) usage::Add(each, spent);
  return spent;
}

std::string ModelNote(const google::protobuf::RepeatedPtrField<Reasoned>& reasoned,
                      const std::string& money) {
  std::int64_t taken = 0;
  std::int64_t cached = 0;
  bool estimated = false;
  std::string model;
  std::map<Reasoned::Fallback, std::int64_t> instead;
  std::string detail;  // of the first time that the model failed
  const Reasoned* embedded = nullptr;
  for (const Reasoned& each : reasoned) {
    if (each.fallback() == Reasoned::NOT_NEEDED) continue;
    estimated |= each.estimated();
    if (each.question() == usage::kEmbedding) {
      embedded = &each;
      continue;
    }
    model = each.model();
    if (each.fallback() == Reasoned::NONE) {
      ++taken;
      if (each.cached()) ++cached;
      continue;
    }
    ++instead[each.fallback()];
    if (detail.empty()) detail = each.detail();
  }
  if (model.empty() && embedded == nullptr) return "";
  const galen::v1::Spent spent = SpentOn(reasoned);
  std::string note = model.empty() ? "No model answered a question"
                                   : absl::StrCat("The model ", model, " answered ",
                                                  Counted(taken, "question", "questions"));
  if (cached > 0) absl::StrAppend(&note, ", ", cached, " of them from the cache");
  if (!instead.empty()) {
    std::int64_t count = 0;
    std::vector<std::string> whys;
    for (const auto& [fallback, times] : instead) {
      count += times;
      whys.push_back(instead.size() == 1 ? std::string(Why(fallback))
                                         : absl::StrCat(Why(fallback), " (", times, ")"));
    }
    absl::StrAppend(&note, "; the built-in reasoner answered ", count,
                    " in its place: ", absl::StrJoin(whys, ", "));
    if (!detail.empty()) absl::StrAppend(&note, " (", detail, ")");
  }
  if (embedded != nullptr) absl::StrAppend(&note, "; ", SearchNote(*embedded));
  absl::StrAppend(&note, "; ", Counted(spent.calls(), "call", "calls"), ", ", spent.input_tokens(),
                  " tokens in, ", spent.output_tokens(), " out",
                  estimated ? " (counted by length)" : "");
  if (!money.empty()) absl::StrAppend(&note, ", ", money);
  return note;
}

}  // namespace galen::conclusion
