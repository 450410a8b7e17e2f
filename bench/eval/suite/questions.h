#ifndef BENCH_EVAL_SUITE_QUESTIONS_H_
#define BENCH_EVAL_SUITE_QUESTIONS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::eval {

enum class Metric { kTalk, kCheck, kCause };  // A, B, C
enum class Split { kDev, kTest };

// A machine that a drafted check is run on.
struct QuestionHost {
  std::string name;
  std::map<std::string, std::string> files;  // absolute path to content
  std::vector<std::pair<std::vector<std::string>, std::string>> commands;  // argv and output
  std::vector<std::string> absent;  // paths known not to exist
  std::string expect;               // "healthy", "faulty" or "unknown"
  bool shown = false;               // what its source says is part of the question
};

// One question with its answer.
struct Question {
  std::string id;
  Metric metric = Metric::kTalk;
  Split split = Split::kDev;
  std::string text;
  // A: "10.0.0.5", "10.0.0.5:22", "[fd00::5]:22", sorted; "yes", "no" or "unsaid".
  std::vector<std::string> targets;
  std::string go_on;
  // B: a call of a check of the catalogue, or "" for a check of its own; and where it runs.
  std::string call;
  std::map<std::string, std::string> parameters;
  std::vector<QuestionHost> hosts;
  // C.
  std::string log;
  std::string source;  // page or file that the facts are from
  std::vector<std::string> choices;
  std::string answer;
};

// Limits of a question file.
inline constexpr std::size_t kMostQuestionFileBytes = 4 << 20;
inline constexpr std::size_t kMostQuestions = 2000;
inline constexpr std::size_t kMostTextBytes = 64 << 10;

// The questions of one file. `file` is for messages. INVALID_ARGUMENT "file:line: what; remedy".
// Pure.
absl::StatusOr<std::vector<Question>> ParseQuestions(absl::string_view text,
                                                     const std::string& file);

// The questions of every *.yaml in a directory, or of one file, by metric and id. INVALID_ARGUMENT
// as above, also for a duplicate id; NOT_FOUND: there are no questions.
absl::StatusOr<std::vector<Question>> ReadQuestions(const std::string& path);

// The folder of the source tree that holds the suite: its questions/ and its knowledge/. Pure.
std::string SuiteFolder();

// "A", "B" or "C".
absl::string_view MetricName(Metric metric);

}  // namespace galen::eval

#endif  // BENCH_EVAL_SUITE_QUESTIONS_H_
