#ifndef BENCH_EVAL_SUITE_DRAFTS_DESCRIPTION_H_
#define BENCH_EVAL_SUITE_DRAFTS_DESCRIPTION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/drafts/condition.h"
#include "bench/eval/suite/drafts/description_words.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::drafts {

// The parts that the description of a check names. All pure.

// The text within `marks`, "marks" or 'marks'.
struct Quoted {
  std::string text;
  std::size_t at = 0;  // byte of the description
};
std::vector<Quoted> QuotedIn(absl::string_view description);

// The source of the text that is read: a file or a command.
struct Source {
  std::string file;
  std::vector<std::string> command;
  std::string words;  // as written in the description
  bool none() const { return file.empty() && command.empty(); }
};
// A quoted path or command first: one that begins with a program that some check of `base` runs, or
// follows a word such as "run". Else the first path of the description.
Source SourceIn(const knowledge::v1::KnowledgeBase& base, absl::string_view description,
                const std::vector<Quoted>& quoted, const DescriptionWords& words);

// The name of the field: quoted, and neither the source nor the value. "" none.
std::string FieldIn(const std::vector<Quoted>& quoted, const std::string& source,
                    const Condition& condition);

// "the third column": 3; 0 for none, -1 for the last. `lower` in lower case.
int ColumnIn(const std::string& lower, const DescriptionWords& words);

// The heading above a field: 'under "Volatile"'. "" without one.
std::string SectionIn(absl::string_view description, const std::vector<Quoted>& quoted,
                      const DescriptionWords& words);

}  // namespace galen::drafts

#endif  // BENCH_EVAL_SUITE_DRAFTS_DESCRIPTION_H_
