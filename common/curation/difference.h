#ifndef COMMON_CURATION_DIFFERENCE_H_
#define COMMON_CURATION_DIFFERENCE_H_

#include <string>
#include <vector>

#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::curation {

// How one entry differs between two versions of the knowledge.
struct Change {
  enum class Sort { kAdded, kRemoved, kChanged };
  Sort sort = Sort::kChanged;
  std::string kind;  // "label", "check", "signal", "incident", "error code", "hardware model"
  std::string name;
  // For a changed entry, one line each: "title: old -> new", "+ confirm: check finding > 0", "-
  // symptoms: ...".
  std::vector<std::string> details;
  knowledge::v1::SourceRef source;  // in the later version, or its former place
};

// By kind and then name. The position of an entry, and fields derived from other entries
// (children), are not differences. Pure.
std::vector<Change> Difference(const knowledge::v1::KnowledgeBase& before,
                               const knowledge::v1::KnowledgeBase& after);

}  // namespace galen::curation

#endif  // COMMON_CURATION_DIFFERENCE_H_
