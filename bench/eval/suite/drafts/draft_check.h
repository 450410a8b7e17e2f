#ifndef BENCH_EVAL_SUITE_DRAFTS_DRAFT_CHECK_H_
#define BENCH_EVAL_SUITE_DRAFTS_DRAFT_CHECK_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/eval/suite/drafts/description_words.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::drafts {

// The output of the source on one machine in a known state.
struct ShownOutput {
  std::string text;
  bool faulty = false;
};

// The purpose of a check, in a person's words, and the shown output of its source.
struct CheckRequest {
  std::string description;
  std::optional<ShownOutput> shown;
};

// Which parts of the drafting are done; all of them, except to measure their effect.
struct Drafting {
  // If no file or command is named, the catalogue is searched for the described check.
  bool retrieval = true;
  // Negations, units and fields whose names occur within others are considered.
  bool critique = true;
  // The draft is tried on the shown output and corrected where it contradicts it.
  bool self_check = true;
};

// Either a call of an existing check, or a check of kind extract.
struct CheckDraft {
  std::string call;  // name; "" for a new check
  std::map<std::string, std::string> parameters;
  knowledge::v1::Check check;
  std::vector<std::string> remarks;  // decisions that could be different, a sentence each
};

inline constexpr std::size_t kMostDescriptionBytes = 16 << 10;
inline constexpr std::size_t kMostShownBytes = 1 << 20;

// Drafts a check by rules alone. A draft is for a person to review, and runs nothing by itself: it
// reads the file or runs the command that the description names. INVALID_ARGUMENT if the
// description names no source or no condition, or is too long; the message says what to add. Pure.
absl::StatusOr<CheckDraft> DraftCheck(const knowledge::v1::KnowledgeBase& base,
                                      const CheckRequest& request, const DescriptionWords& words,
                                      const Drafting& drafting = {});

}  // namespace galen::drafts

#endif  // BENCH_EVAL_SUITE_DRAFTS_DRAFT_CHECK_H_
