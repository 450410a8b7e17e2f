#ifndef COMMON_REASONER_REASONER_H_
#define COMMON_REASONER_REASONER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner {

// Answers the agents' questions: the built-in reasoner, or a language model. Thread-safe. Errors:
// DEADLINE_EXCEEDED; UNAVAILABLE: a model cannot be reached; FAILED_PRECONDITION: an answer is
// outside the offered choices.
class Reasoner {
 public:
  virtual ~Reasoner() = default;

  // Its name in a report: "builtin", or another.
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

  // Whether it has a language model for Investigate().
  virtual bool investigates() const { return false; }
  // One turn of the language model. FAILED_PRECONDITION: there is no model.
  virtual absl::StatusOr<v1::InvestigateAnswer> Investigate(const v1::InvestigateQuestion& question,
                                                            absl::Time deadline) const {
    static_cast<void>(question);
    static_cast<void>(deadline);
    return absl::FailedPreconditionError("no language model is there to investigate");
  }
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_REASONER_H_
