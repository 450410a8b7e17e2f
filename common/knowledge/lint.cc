#include "common/knowledge/lint.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/knowledge/words.h"

namespace galen::knowledge {

LintContext::LintContext(const v1::KnowledgeBase& knowledge) : base(knowledge) {
  for (const v1::Label& label : base.labels()) {
    labels.emplace(label.label(), &label);
    label_names.push_back(label.label());
  }
  for (const v1::Check& check : base.checks()) {
    checks.emplace(check.name(), &check);
    check_names.push_back(check.name());
  }
}

void LintContext::Error(const v1::SourceRef& at, std::string text, std::string remedy) {
  problems.push_back(
      {Problem::Severity::kError, at.file(), at.line(), std::move(text), std::move(remedy)});
}

void LintContext::Warning(const v1::SourceRef& at, std::string text, std::string remedy) {
  problems.push_back(
      {Problem::Severity::kWarning, at.file(), at.line(), std::move(text), std::move(remedy)});
}

void LintContext::RequireLabel(const v1::SourceRef& at, absl::string_view name,
                               absl::string_view who) {
  if (labels.contains(name)) return;
  Error(at, absl::StrCat(who, " names the unknown label ", name),
        Suggest(name, label_names, "add the label, or correct the name"));
}

void LintContext::RequireWord(const v1::SourceRef& at, absl::string_view who, absl::string_view key,
                              absl::string_view word, absl::Span<const absl::string_view> words,
                              bool optional) {
  if (word.empty() ? optional : Knows(words, word)) return;
  if (word.empty()) {
    Error(at, absl::StrCat(who, " has no ", key), Suggest("", words));
  } else {
    Error(at, absl::StrCat(who, " has the unknown ", key, " \"", word, "\""), Suggest(word, words));
  }
}

std::vector<Problem> Lint(const v1::KnowledgeBase& base) {
  LintContext context(base);
  LintTree(context);
  LintLabels(context);
  LintChecks(context);
  LintCatalogues(context);
  LintPrompts(context);
  LintSense(context);
  std::stable_sort(context.problems.begin(), context.problems.end(),
                   [](const Problem& a, const Problem& b) {
                     return std::tie(a.file, a.line) < std::tie(b.file, b.line);
                   });
  return std::move(context.problems);
}

}  // namespace galen::knowledge
