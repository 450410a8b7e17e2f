#ifndef COMMON_BASE_BORROWED_EVIDENCE_H_
#define COMMON_BASE_BORROWED_EVIDENCE_H_

#include <type_traits>

namespace galen {

// A message whose field `evidence` is somebody else's, seen and not copied: the evidence of one
// machine holds thousands of findings, and a search asks about it a hundred times. The evidence
// must outlive the message and stay as it is; nobody may write through the message. Move and copy
// would lose track of who owns what, so there is neither.
template <typename Message>
class BorrowedEvidence {
  using Evidence = std::remove_cvref_t<decltype(std::declval<const Message&>().evidence())>;

 public:
  explicit BorrowedEvidence(const Evidence& evidence) {
    // Taken back below, before the message could delete or change it.
    message_.unsafe_arena_set_allocated_evidence(const_cast<Evidence*>(&evidence));
  }
  BorrowedEvidence(const BorrowedEvidence&) = delete;
  BorrowedEvidence& operator=(const BorrowedEvidence&) = delete;
  ~BorrowedEvidence() { static_cast<void>(message_.unsafe_arena_release_evidence()); }

  Message& operator*() { return message_; }
  Message* operator->() { return &message_; }
  const Message& operator*() const { return message_; }

 private:
  Message message_;
};

}  // namespace galen

#endif  // COMMON_BASE_BORROWED_EVIDENCE_H_
