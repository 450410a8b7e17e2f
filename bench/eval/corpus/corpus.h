#ifndef BENCH_EVAL_CORPUS_CORPUS_H_
#define BENCH_EVAL_CORPUS_CORPUS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Cases with their answers, as docs/eval.md describes them.
struct Corpus {
  std::vector<std::string> directories;
  std::vector<v1::Case> cases;       // in the order of answers.jsonl
  std::vector<std::string> remarks;  // what a reader should know, one sentence each
};

// Reads directories, one corpus each. In each, answers.jsonl lists the cases; bundles/ID.tar.gz,
// ID/report.md with ID/files/, or a record of incidents.jsonl has the data of each. Each case needs
// one of the three.
//
// NOT_FOUND no such directory or no answers.jsonl in it, or a case has no data; INVALID_ARGUMENT
// "file:line: what; remedy": not a JSON object, a field of another type, an id that is missing,
// duplicate or invalid as a file name; RESOURCE_EXHAUSTED more than 100,000 cases, or a file above
// 1 GiB, or a line above 16 MiB.
absl::StatusOr<Corpus> ReadCorpora(const std::vector<std::string>& directories);

}  // namespace galen::eval

#endif  // BENCH_EVAL_CORPUS_CORPUS_H_
