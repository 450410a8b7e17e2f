#include "bench/eval/metrics/model_calibrations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/eval/metrics/score.h"

namespace galen::eval {
namespace {

using knowledge::v1::LlmCalibration;

struct Tally {
  std::int64_t right = 0;
  std::int64_t of = 0;
};
using Tallies = std::map<std::pair<std::string, std::string>, Tally>;  // by model and opinion

template <typename List>
bool Names(const List& list, const std::string& label) {
  return std::find(list.begin(), list.end(), label) != list.end();
}

std::vector<LlmCalibration> Entries(const Tallies& tallies) {
  std::vector<LlmCalibration> entries;
  for (const auto& [of_what, tally] : tallies) {
    LlmCalibration& entry = entries.emplace_back();
    entry.set_model(of_what.first);
    entry.set_built_in(of_what.second);
    entry.set_right(tally.right);
    entry.set_of(tally.of);
  }
  return entries;
}

}  // namespace

std::vector<LlmCalibration> MeasureModels(const std::vector<v1::Case>& cases,
                                          const std::vector<v1::CaseResult>& results) {
  Tallies tallies;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const v1::ModelOpinion& opinion : results[i].opinions()) {
      const bool right =
          HasCause(cases[i]) && (Names(cases[i].labels(), opinion.label()) ||
                                 Names(cases[i].labels_acceptable(), opinion.label()));
      if (!right && Names(cases[i].labels_secondary(), opinion.label())) continue;
      Tally& tally = tallies[{opinion.model(), opinion.built_in()}];
      ++tally.of;
      tally.right += right ? 1 : 0;
    }
  }
  return Entries(tallies);
}

std::string CalibrationsYaml(const std::vector<LlmCalibration>& measured) {
  Tallies tallies;
  for (const LlmCalibration& each : measured) {
    Tally& tally = tallies[{each.model(), each.built_in()}];
    tally.right += each.right();
    tally.of += each.of();
  }
  std::string yaml =
      "# How often causes that a language model confirmed were right: `galen-eval\n"
      "# --llm-calibrations` wrote this. docs/llm.md says how it is used.\n";
  absl::StrAppend(&yaml, "llm_calibrations:", tallies.empty() ? " []" : "", "\n");
  for (const LlmCalibration& entry : Entries(tallies)) {
    absl::StrAppend(&yaml, "  - {model: '", absl::StrReplaceAll(entry.model(), {{"'", "''"}}),
                    "', built_in: ", entry.built_in(), ", right: ", entry.right(),
                    ", of: ", entry.of(), "}\n");
  }
  return yaml;
}

}  // namespace galen::eval
