#ifndef SERVICES_PLANNING_PLAYBOOK_TEXTS_H_
#define SERVICES_PLANNING_PLAYBOOK_TEXTS_H_

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::planning {

// The playbooks (knowledge/playbooks) as texts that a language model can search: when people open
// one, which finding of which check each of its steps gives, what the finding points to, and what
// to collect when it is unknown. Execution runs them; here nothing is run. Immutable.
class PlaybookTexts {
 public:
  // The playbooks of the directories; one of a later directory replaces the one of the same name.
  // There may be none. INVALID_ARGUMENT: a file cannot be read.
  static absl::StatusOr<std::shared_ptr<const PlaybookTexts>> Load(
      const std::vector<std::string>& directories);

  // The playbooks that share words with the query, the most similar one first, in at most
  // `most_bytes`; for a query without words the titles of all. A sentence if there is nothing.
  std::string Search(absl::string_view query, std::size_t most_bytes) const;

 private:
  struct Text {
    std::string name;
    std::string head;  // one line
    std::string whole;
    std::set<std::string> words;
  };
  std::vector<Text> texts_;  // by name
};

}  // namespace galen::planning

#endif  // SERVICES_PLANNING_PLAYBOOK_TEXTS_H_
