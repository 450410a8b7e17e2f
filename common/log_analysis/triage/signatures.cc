#include "common/log_analysis/triage/signatures.h"

#include <utility>

#include "absl/strings/strip.h"

namespace galen::triage {

Signatures SignaturesOf(const knowledge::Knowledge& knowledge) {
  Signatures signatures;
  const knowledge::v1::Check* check = knowledge.FindCheck("log.triage");
  if (check == nullptr) return signatures;
  for (const knowledge::v1::CheckDatum& datum : check->data()) {
    if (!datum.pattern().empty()) signatures.emplace_back(datum.name(), datum.pattern());
  }
  return signatures;
}

SignatureName ParseSignatureName(absl::string_view name) {
  using Kind = SignatureName::Kind;
  SignatureName parsed;
  for (const auto& [prefix, kind] : {std::pair("none:", Kind::kHarmless),
                                     {"done:", Kind::kDone},
                                     {"connected:", Kind::kConnected}}) {
    if (absl::ConsumePrefix(&name, prefix)) parsed.kind = kind;
  }
  parsed.of_survivor = absl::ConsumePrefix(&name, "after:");
  parsed.of_start = absl::ConsumePrefix(&name, "start:");
  parsed.name = name;
  return parsed;
}

}  // namespace galen::triage
