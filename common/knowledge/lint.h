#ifndef COMMON_KNOWLEDGE_LINT_H_
#define COMMON_KNOWLEDGE_LINT_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/knowledge/load.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::knowledge {

// State that the parts of Lint share: the names that entries may refer to, and the problems found.
struct LintContext {
  explicit LintContext(const v1::KnowledgeBase& knowledge);

  const v1::KnowledgeBase& base;
  absl::flat_hash_map<std::string, const v1::Label*> labels;
  absl::flat_hash_map<std::string, const v1::Check*> checks;
  std::vector<absl::string_view> label_names;  // for suggestions
  std::vector<absl::string_view> check_names;
  std::vector<Problem> problems;

  void Error(const v1::SourceRef& at, std::string text, std::string remedy);
  void Warning(const v1::SourceRef& at, std::string text, std::string remedy);
  // Error unless `name` is a label of the taxonomy.
  void RequireLabel(const v1::SourceRef& at, absl::string_view name, absl::string_view who);
  // Error unless `word` is one of `words`; `optional` allows "".
  void RequireWord(const v1::SourceRef& at, absl::string_view who, absl::string_view key,
                   absl::string_view word, absl::Span<const absl::string_view> words,
                   bool optional);
};

void LintTree(LintContext& context);        // names, parents, cycles
void LintLabels(LintContext& context);      // fields, rules, references of each label
void LintChecks(LintContext& context);      // declarations of checks
void LintCatalogues(LintContext& context);  // signals, error codes, hardware, incidents
void LintPrompts(LintContext& context);     // prompts, prices, budgets
void LintSense(LintContext& context);       // what is well-formed and cannot be meant

// A condition on a declared finding: `who` names its owner. Used for rules and for limits.
void LintCondition(LintContext& context, const v1::Rule& rule, const v1::Check& check,
                   const v1::FindingSpec& finding, absl::string_view who);

// Error for each name that is defined twice; `what` is "label", "check", ...
template <typename List, typename NameOf>
void LintDuplicates(LintContext& context, absl::string_view what, const List& list, NameOf name_of);

}  // namespace galen::knowledge

#include "absl/strings/str_cat.h"

namespace galen::knowledge {

template <typename List, typename NameOf>
void LintDuplicates(LintContext& context, absl::string_view what, const List& list,
                    NameOf name_of) {
  absl::flat_hash_map<std::string, const v1::SourceRef*> seen;
  for (const auto& entry : list) {
    const std::string name = name_of(entry);
    const auto [earlier, added] = seen.emplace(name, &entry.source());
    if (added) continue;
    context.Error(entry.source(), absl::StrCat(what, " ", name, " is defined twice"),
                  absl::StrCat("remove one or rename it; the first is in ", earlier->second->file(),
                               ":", earlier->second->line()));
  }
}

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_LINT_H_
