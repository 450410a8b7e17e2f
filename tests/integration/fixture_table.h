#ifndef TESTS_INTEGRATION_FIXTURE_TABLE_H_
#define TESTS_INTEGRATION_FIXTURE_TABLE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::testing {

// A row of MANIFEST.tsv: the captured data, and the state that it is said to show.
struct Fixture {
  std::string path;  // below the fixtures' directory; ends in "/" for a directory tree
  std::string state;
  std::string nature;
};

// The way of a fixture onto a machine, and the checks that read it there. One of command, file,
// tree and snapshot is set.
struct Feed {
  std::string files;                // glob over the manifest's paths
  std::string command;              // the argv, joined by spaces, that printed it
  std::string file;                 // the path that held it
  std::string tree;                 // the directory that held the tree
  bool snapshot = false;            // a JSON object of paths and contents
  bool in_job = false;              // as the job sees it
  bool is_log = false;              // a log of the job
  std::vector<std::string> checks;  // names in the catalogue
  // Other outputs of the machine, by argv: some checks compare two reports.
  std::map<std::string, std::string> with;
  std::map<std::string, std::string> with_files;
};

// A fixture whose verdict rightly differs from the manifest.
struct Exception {
  std::string path;
  std::string verdict;  // PASS, FAIL, SKIPPED, ERROR
  std::string why;
};

// Fixtures that no check reads.
struct Unread {
  std::string files;  // glob
  std::string why;
};

struct FixtureTable {
  std::vector<Feed> feeds;
  std::vector<Exception> exceptions;
  std::vector<Unread> unread;
};

// INVALID_ARGUMENT "file:line: what".
absl::StatusOr<FixtureTable> ParseFixtureTable(absl::string_view text, absl::string_view file);

// The rows of MANIFEST.tsv without its heading.
std::vector<Fixture> ParseFixtureManifest(absl::string_view text);

// True for a glob over whole paths; "*" matches within one part.
bool Matches(const std::string& glob, const std::string& path);

}  // namespace galen::testing

#endif  // TESTS_INTEGRATION_FIXTURE_TABLE_H_
