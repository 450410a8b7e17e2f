#ifndef SERVICES_EXECUTION_PLAYBOOK_PLAYBOOK_CATALOGUE_H_
#define SERVICES_EXECUTION_PLAYBOOK_PLAYBOOK_CATALOGUE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::playbook {

// The scope of a test: each series by itself, those of a node together, or all together.
enum class Over { kDevice, kNode, kJob };
// How series that are taken together are combined.
enum class Combine { kSum, kMean, kMedian, kHighest, kLowest };

// One test: what it measures, and which finding of which check it answers.
struct Step {
  std::string check;
  std::string finding;
  std::string test;             // one of SeriesTests() in series_tests.h
  std::vector<std::string> of;  // quantities of telemetry/sources.yaml, or queries of the playbook
  Over over = Over::kDevice;
  Combine combine = Combine::kSum;
  std::map<std::string, double> numbers;  // of the test; defaults as in series_tests.h
  std::vector<std::string> points_to;     // labels that this outcome supports
  bool needed = false;                    // if it is unknown, the check clears no machine
  std::string collect;                    // what to collect if it is unknown
  std::string file;
  int line = 0;
};

// A question in PromQL, for what no quantity says. Bundles cannot answer it.
struct Query {
  std::string name;
  std::string promql;
  std::string unit;
};

struct Playbook {
  std::string name;
  std::string title;
  std::string when;  // when people open it
  std::vector<Query> queries;
  std::vector<Step> steps;
};

// All playbooks. Immutable once loaded.
struct PlaybookCatalogue {
  std::vector<Playbook> playbooks;  // by name

  std::vector<const Step*> StepsOf(absl::string_view check) const;
  const Query* FindQuery(absl::string_view name) const;
};

// Adds what a file playbooks/*.yaml says; a playbook of a name that is there already replaces that
// one. INVALID_ARGUMENT "file:line: what; remedy".
absl::Status AddTo(PlaybookCatalogue& catalogue, absl::string_view text, absl::string_view file);

// playbooks/*.yaml of the directories, later ones over earlier ones. NOT_FOUND: none has any.
absl::StatusOr<PlaybookCatalogue> LoadPlaybooks(const std::vector<std::string>& directories);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_PLAYBOOK_CATALOGUE_H_
