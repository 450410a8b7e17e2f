#include "common/reasoner/builtin_reasoner.h"

namespace galen::reasoner {

BuiltinReasoner::BuiltinReasoner(const knowledge::Knowledge& knowledge) : knowledge_(knowledge) {}

absl::StatusOr<v1::SummarizeAnswer> BuiltinReasoner::Summarize(const v1::SummarizeQuestion&, absl::Time) const {
  static_cast<void>(knowledge_);
  return absl::UnimplementedError("Summarize");
}

absl::StatusOr<v1::RankAnswer> BuiltinReasoner::RankChildren(const v1::RankQuestion&, absl::Time) const {
  static_cast<void>(knowledge_);
  return absl::UnimplementedError("RankChildren");
}

absl::StatusOr<v1::HistoryAnswer> BuiltinReasoner::ProposeFromHistory(const v1::HistoryQuestion&, absl::Time) const {
  static_cast<void>(knowledge_);
  return absl::UnimplementedError("ProposeFromHistory");
}

absl::StatusOr<galen::v1::Verdict> BuiltinReasoner::Judge(const v1::JudgeQuestion&, absl::Time) const {
  static_cast<void>(knowledge_);
  return absl::UnimplementedError("Judge");
}

absl::StatusOr<v1::CritiqueAnswer> BuiltinReasoner::Critique(const v1::CritiqueQuestion&, absl::Time) const {
  static_cast<void>(knowledge_);
  return absl::UnimplementedError("Critique");
}

absl::StatusOr<v1::ExploreAnswer> BuiltinReasoner::Explore(const v1::ExploreQuestion&, absl::Time) const {
  static_cast<void>(knowledge_);
  return absl::UnimplementedError("Explore");
}

absl::StatusOr<v1::ConcludeAnswer> BuiltinReasoner::Conclude(const v1::ConcludeQuestion&, absl::Time) const {
  static_cast<void>(knowledge_);
  return absl::UnimplementedError("Conclude");
}

}  // namespace galen::reasoner
