#include "bench/eval/suite/talk/weigh.h"

#include <algorithm>

#include "bench/eval/suite/talk/text.h"

namespace galen::talk {
namespace {

constexpr char kAnotherThing[] = "is said to be another thing, or fine";

// One of a range: it does not occur in the sentence itself.
bool IsOfRange(const std::vector<Mention>& mentions, std::size_t i) {
  return i > 0 && mentions[i - 1].begin == mentions[i].begin;
}

absl::string_view WordsBefore(absl::string_view lower, const std::vector<Mention>& mentions,
                              std::size_t i) {
  const std::size_t from = i == 0 ? 0 : std::min(mentions[i - 1].end, mentions[i].begin);
  return Before(lower, mentions[i].begin, from);
}

absl::string_view WordsAfter(absl::string_view lower, const std::vector<Mention>& mentions,
                             std::size_t i) {
  const std::size_t to =
      i + 1 == mentions.size() ? lower.size() : std::max(mentions[i + 1].begin, mentions[i].end);
  return After(lower, mentions[i].end, to);
}

// One of a list is in where the list is, unless what follows says otherwise of it or of them all.
void WeighListed(absl::string_view lower, const std::vector<Mention>& mentions, std::size_t i,
                 const TalkWords& words, std::vector<Verdict>& verdicts) {
  if (!verdicts[i - 1].in) verdicts[i] = verdicts[i - 1];
  const absl::string_view after = WordsAfter(lower, mentions, i);
  if (IsOfRange(mentions, i) || !words.denied_after.In(after)) return;
  verdicts[i] = {false, kAnotherThing};
  if (!words.denied_all_after.In(after)) return;
  for (std::size_t k = i; k-- > 0;) {
    verdicts[k] = verdicts[i];
    if (k == 0 || !words.connects.In(Before(lower, mentions[k].begin, mentions[k - 1].end))) break;
  }
}

}  // namespace

bool IsListed(absl::string_view lower, const std::vector<Mention>& mentions, std::size_t i,
              const TalkWords& words) {
  return i > 0 && (IsOfRange(mentions, i) || words.connects.In(WordsBefore(lower, mentions, i)));
}

std::vector<Verdict> Weigh(absl::string_view lower, const std::vector<Mention>& mentions,
                           const TalkWords& words) {
  std::vector<Verdict> verdicts(mentions.size());
  for (std::size_t i = 0; i < mentions.size(); ++i) {
    const absl::string_view before = WordsBefore(lower, mentions, i);
    if (mentions[i].no_machine) {
      verdicts[i] = {false, "is no machine's address"};
    } else if (IsListed(lower, mentions, i, words)) {
      WeighListed(lower, mentions, i, words, verdicts);
    } else if (i > 0 && words.becomes.In(before)) {
      // "not X but Y" and "X is now Y".
      if (verdicts[i - 1].in) verdicts[i - 1] = {false, "was replaced"};
    } else if (words.denied_before.In(before)) {
      verdicts[i] = {false, kLeftAlone};
    } else if (words.other_before.In(before) || words.acted_on_before.In(before)) {
      verdicts[i] = {false, "is another thing, or an example"};
    } else if (words.denied_after.In(WordsAfter(lower, mentions, i))) {
      verdicts[i] = {false, kAnotherThing};
    }
  }
  return verdicts;
}

}  // namespace galen::talk
