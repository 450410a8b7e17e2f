#ifndef COMMON_KNOWLEDGE_WORDS_H_
#define COMMON_KNOWLEDGE_WORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::knowledge {

// The words of the YAML files and their values. Pure.

template <typename Enum>
struct Word {
  absl::string_view text;
  Enum value;
};

absl::Span<const Word<v1::Rule::Op>> OpWords();                // "==", "in", ...
absl::Span<const Word<v1::Check::Kind>> KindWords();           // "native", ...
absl::Span<const Word<v1::Check::Audience>> AudienceWords();   // "verdict", ...
absl::Span<const Word<galen::v1::Where>> WhereWords();         // "job_log", ...
absl::Span<const Word<galen::v1::Strength>> StrengthWords();   // "weak", ...
absl::Span<const Word<galen::v1::SignalRole>> RoleWords();     // "primary", ...
absl::Span<const Word<v1::Outcome>> OutcomeWords();            // "works", ...
absl::Span<const Word<v1::KernelFamily>> KernelFamilyWords();  // "xid", ...

absl::Span<const absl::string_view> Owners();
absl::Span<const absl::string_view> Severities();
absl::Span<const absl::string_view> Priors();
absl::Span<const absl::string_view> FindingTypes();
absl::Span<const absl::string_view> Needs();
absl::Span<const absl::string_view> ParameterTypes();
// How a comparison over nodes is made.
absl::Span<const absl::string_view> ComparisonWords();
// Kinds of device that a check may load.
absl::Span<const absl::string_view> OccupiedKinds();
// Words in a rule's value that refer to the right value: "expected", "required", ...
absl::Span<const absl::string_view> ReferenceWords();

bool Knows(absl::Span<const absl::string_view> words, absl::string_view word);

template <typename Enum>
std::vector<absl::string_view> Texts(absl::Span<const Word<Enum>> words) {
  std::vector<absl::string_view> texts;
  for (const Word<Enum>& word : words) texts.push_back(word.text);
  return texts;
}

template <typename Enum>
std::optional<Enum> ValueOf(absl::Span<const Word<Enum>> words, absl::string_view text) {
  for (const Word<Enum>& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

// The known word that `word` was most likely meant to be, "" when none is near.
std::string Nearest(absl::string_view word, absl::Span<const absl::string_view> known);

// `did you mean "symptoms"?` when a known word is near, else "use one of: ..." or, when there are
// too many to list, `otherwise`.
std::string Suggest(absl::string_view word, absl::Span<const absl::string_view> known,
                    absl::string_view otherwise = "");

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_WORDS_H_
