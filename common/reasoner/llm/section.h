#ifndef COMMON_REASONER_LLM_SECTION_H_
#define COMMON_REASONER_LLM_SECTION_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::reasoner::llm {

// Kind of text in a section of a prompt. kRule is Galen's own knowledge; all others are foreign
// data, which the prompt tells the model never to obey.
enum class TextKind {
  kPlain,    // text of people and of models
  kLog,      // lines of programs
  kCode,     // commands, paths, names of files, environment
  kFormula,  // values that checks measured
  kRule,
};

// "plain", "log", "code", "formula", "rule".
absl::string_view Name(TextKind kind);

// In order; the values are escaped, the names are trusted.
using Attributes = std::vector<std::pair<absl::string_view, std::string>>;

// `<log source="train.log">text</log>` with a newline at its end. The text is made UTF-8 without
// control characters (CleanText), cut to `max_bytes`, and escaped, so that nothing in it can close
// the section, open another one, or end an attribute. Pure.
std::string Section(TextKind kind, const Attributes& attributes, absl::string_view text,
                    std::size_t max_bytes);

// "&", "<", ">" and '"' as entities. Escaped text contains only the "&" of entities.
std::string Escape(absl::string_view text);
// The inverse.
std::string Unescape(absl::string_view text);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_SECTION_H_
