#ifndef COMMON_CURATION_FIND_H_
#define COMMON_CURATION_FIND_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::curation {

// An entry of the knowledge that contains words of a query.
struct Found {
  std::string kind;  // "label", "check", "signal", "incident"
  std::string name;
  std::string text;       // its title, pattern or description
  std::size_t words = 0;  // words of the query that it contains
  double weight = 0;      // how prominently
  knowledge::v1::SourceRef source;
};

// The entries that contain most words of `query` (words of letters, digits, '_' and '.', without
// regard to case, also as parts of words), the most prominent places first: a name counts more than
// a title, and a title more than the rest. At most `limit`; only of `kind` unless it is "". Pure.
std::vector<Found> Find(const knowledge::v1::KnowledgeBase& base, absl::string_view query,
                        absl::string_view kind, std::size_t limit);

}  // namespace galen::curation

#endif  // COMMON_CURATION_FIND_H_
