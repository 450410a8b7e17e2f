#ifndef COMMON_CURATION_PROPOSAL_STORE_H_
#define COMMON_CURATION_PROPOSAL_STORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/curation/proposal.h"

namespace galen::curation {

// Writes a file so that a reader sees the old content or the new one, never half of it, and a
// crash after the return loses nothing. Makes missing directories. UNAVAILABLE names path and
// reason.
absl::Status WriteAtomically(const std::string& path, absl::string_view content);

// The result of `galen kb lint` for the knowledge with the file `name` of the last directory
// replaced by `content`: OK, or INVALID_ARGUMENT with each error. `content` of another file than
// the one that has the mistake is refused too: programs would not load it.
absl::Status LintCandidate(const std::vector<std::string>& directories, const std::string& name,
                           const std::string& content);

// A person's decision.
struct Decision {
  std::string id;
  std::string decision;  // "accepted", "rejected", "undone"
  std::string by;
  absl::Time time;
  std::string why;
};

// The proposals of a site. Below the site's directory:
//   proposals/ID.yaml                     waits; programs do not load it
//   proposals/accepted/, rejected/, undone/ID.yaml  decided, as proposed or edited
//   proposals/decisions.jsonl             who decided what and when, a line each
//   accepted/ID.yaml                      knowledge
// Nothing becomes knowledge but by Accept(). Every step can be done again after a crash. Not
// thread-safe; two processes may work on different proposals at the same time. Errors name the
// file; UNAVAILABLE: it cannot be read or written.
class ProposalStore {
 public:
  // Knowledge directories, the last of them the site's own.
  explicit ProposalStore(std::vector<std::string> directories);

  const std::string& site() const { return directories_.back(); }
  const std::vector<std::string>& directories() const { return directories_; }

  // By id. A file that is not a proposal is an error.
  absl::StatusOr<std::vector<Proposal>> Pending() const;
  // NOT_FOUND: none with this id waits.
  absl::StatusOr<Proposal> Find(const std::string& id) const;
  // Stores it as waiting; it replaces a waiting proposal with the same id, or with the same subject
  // and origin. False if a person decided on this id before (the decision stands), or decided on
  // the subject alone with the same label, as in earlier releases.
  absl::StatusOr<bool> Propose(const Proposal& proposal) const;
  // INVALID_ARGUMENT with every error that the knowledge would have with it: nothing is changed
  // then. Returns the path of the knowledge file.
  absl::StatusOr<std::string> Accept(const std::string& id, const std::string& by,
                                     absl::Time now) const;
  absl::Status Reject(const std::string& id, const std::string& by, const std::string& why,
                      absl::Time now) const;
  // Removes an accepted proposal from the knowledge; like a rejected one, it is not proposed again.
  // NOT_FOUND: it is not accepted. INVALID_ARGUMENT with each error that the knowledge would have
  // without it: nothing is changed then.
  absl::Status Undo(const std::string& id, const std::string& by, const std::string& why,
                    absl::Time now) const;
  // Replaces the proposal by an edited text. INVALID_ARGUMENT if the text is not a proposal of this
  // id.
  absl::Status Replace(const std::string& id, const std::string& text) const;
  // In the order in which they were made; lines that cannot be read are left out.
  std::vector<Decision> Decisions() const;

  std::string PathOf(const std::string& id) const;

 private:
  // Whether a decision on the subject alone was on the same causes.
  bool DecidedAlike(const Proposal& proposal) const;
  absl::Status DropOthersOf(const Proposal& proposal) const;
  absl::Status Record(const Decision& decision, absl::string_view knowledge) const;

  const std::vector<std::string> directories_;
};

}  // namespace galen::curation

#endif  // COMMON_CURATION_PROPOSAL_STORE_H_
