#ifndef COMMON_CURATION_PROPOSAL_H_
#define COMMON_CURATION_PROPOSAL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::curation {

// Entries of a knowledge file that wait for a person, with their origin. The file is a map
// `proposal` followed by the entries in the form of a knowledge file.
struct Proposal {
  std::string id;  // [a-z0-9][a-z0-9._-]{0,99}; also the name of its file
  // The subject, if several proposals may have the same one: the id begins with it. Only one of
  // these waits, the latest of its origin. It is not in the file; "": the only proposal about it.
  std::string subject;
  std::string kind;                       // "incident" or "label"
  std::string made;                       // YYYY-MM-DD
  std::string origin;                     // "tickets.jsonl:12", "tenants/default/diagnoses/d1"
  std::string reason;                     // the reason for the proposal, a sentence
  std::vector<std::string> verification;  // commands and observations of people, for the reviewer
  // The entries. If the proposal was read, empty lines replace the head before them, so that line
  // numbers are those of its file.
  std::string knowledge;
};

// `knowledge` with a note at its label without a confirm rule, which lint refuses. Pure.
std::string WithRuleNote(std::string knowledge);

// The maximum size of a proposal's file.
inline constexpr std::size_t kMaxProposalBytes = 1 << 20;

bool IsProposalId(absl::string_view id);

// Lower case letters, digits, dots and dashes of `text`, at most 80; "" if nothing is left.
std::string Slug(absl::string_view text);

// The file of a proposal. Pure.
std::string ToText(const Proposal& proposal);

// Reads such a file; `name` is for messages. INVALID_ARGUMENT with file, line and remedy.
absl::StatusOr<Proposal> ProposalFromText(const std::string& name, absl::string_view text);

}  // namespace galen::curation

#endif  // COMMON_CURATION_PROPOSAL_H_
