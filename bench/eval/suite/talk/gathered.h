#ifndef BENCH_EVAL_SUITE_TALK_GATHERED_H_
#define BENCH_EVAL_SUITE_TALK_GATHERED_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/talk.h"
#include "bench/eval/suite/talk/talk_words.h"
#include "bench/eval/suite/talk/weigh.h"

namespace galen::talk {

// A machine that a talk has named so far.
struct Found {
  Target target;
  Verdict verdict;
};

// All of them, in the order in which they were named. Pointers hold until one is added.
class Gathered {
 public:
  const std::vector<Found>& all() const { return found_; }
  std::vector<Found>& all() { return found_; }
  // One more; nothing happens where there are kMostTargets.
  void Add(Found found);
  // Null when it was not named.
  Found* FindAddress(absl::string_view address);
  // The last one that is a target; null if there is none.
  Found* LastIn();
  // The target that the last ordinal within `said` ("the second one") means; null if there is none.
  Found* Meant(absl::string_view said, const TalkWords& words);
  // The requests in the talk, except whether to go on.
  Talk Take() &&;

 private:
  std::vector<Found> found_;
};

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_GATHERED_H_
