#ifndef COMMON_REASONER_REASONER_H_
#define COMMON_REASONER_REASONER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner {

// What answers the agents' questions: the built-in reasoner, or a language model. Thread-safe.
// Errors: DEADLINE_EXCEEDED; UNAVAILABLE when a model cannot be reached; FAILED_PRECONDITION when
// an answer lies outside the offered choices.
class Reasoner {
 public:
  virtual ~Reasoner() = default;

  // "builtin", or what a report should call it.
  virtual absl::string_view name() const = 0;

  virtual absl::StatusOr<v1::SummarizeAnswer> Summarize(const v1::SummarizeQuestion& question,
                                                        absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::RankAnswer> RankChildren(const v1::RankQuestion& question,
                                                      absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::ScreenAnswer> Screen(const v1::ScreenQuestion& question,
                                                  absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::HistoryAnswer> ProposeFromHistory(const v1::HistoryQuestion& question,
                                                               absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::PresumeAnswer> Presume(const v1::PresumeQuestion& question,
                                                    absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::JudgeAnswer> Judge(const v1::JudgeQuestion& question,
                                                absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::CritiqueAnswer> Critique(const v1::CritiqueQuestion& question,
                                                      absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::ExploreAnswer> Explore(const v1::ExploreQuestion& question,
                                                    absl::Time deadline) const = 0;
  virtual absl::StatusOr<v1::ConcludeAnswer> Conclude(const v1::ConcludeQuestion& question,
                                                      absl::Time deadline) const = 0;

  // Whether a language model stands behind it that Investigate() asks.
  virtual bool investigates() const { return false; }
  // One turn of it. FAILED_PRECONDITION where there is none.
  virtual absl::StatusOr<v1::InvestigateAnswer> Investigate(const v1::InvestigateQuestion& question,
                                                            absl::Time deadline) const {
    static_cast<void>(question);
    static_cast<void>(deadline);
    return absl::FailedPreconditionError("no language model is there to investigate");
  }
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_REASONER_H_
