#ifndef COMMON_PHRASES_PHRASE_H_
#define COMMON_PHRASES_PHRASE_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::phrases {

// Limits of a phrase: its bytes, and the depth of nested brackets.
inline constexpr std::size_t kMostPhraseBytes = 200;
inline constexpr int kMostBrackets = 3;
// Limit of the forms of one word that its optional parts make.
inline constexpr std::size_t kMostVariants = 64;

// The expression of RE2 of a phrase, in the language that the head of knowledge/talk/outcomes.yaml
// describes: words, `a|b`, `end(s|ing)`, `[optional]`, `[any number]*`, `begin*`, `*`, `**` and
// `<list>`. `list` gives the expression of a list by its name, or an error. It never matches the
// empty text, and takes time linear in a text. INVALID_ARGUMENT: what is wrong, and the remedy.
// Pure.
absl::StatusOr<std::string> PhraseExpression(
    absl::string_view phrase,
    const std::function<absl::StatusOr<std::string>(absl::string_view name)>& list);

}  // namespace galen::phrases

#endif  // COMMON_PHRASES_PHRASE_H_
