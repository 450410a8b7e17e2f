#ifndef COMMON_KNOWLEDGE_FILES_H_
#define COMMON_KNOWLEDGE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/knowledge/load.h"

namespace galen::knowledge {

// One knowledge file as read.
struct SourceFile {
  std::size_t directory = 0;  // index among the directories asked for
  std::string name;           // relative to that directory, with '/'
  // The name for messages: with several directories it begins with the directory.
  std::string shown;
  std::string content;
};

// Every *.yaml below the directories, by directory and then name. Hidden files and directories are
// skipped (a mounted Kubernetes ConfigMap keeps its copies in ..data/), and so are the folder
// `proposals` of each, whose entries wait for a review and are not yet knowledge, and `webhooks`
// and `tickets`, which others read. A file that cannot be read, or is too large, is reported as a
// problem and left out. NOT_FOUND when a directory cannot be read.
absl::StatusOr<std::vector<SourceFile>> ReadFiles(absl::Span<const std::string> directories,
                                                  std::vector<Problem>& problems);

// How the files that ReadFiles() would read look from outside: names, sizes, times of change. The
// same for files that nobody touched; a directory that cannot be read looks like nothing else.
std::string Fingerprint(absl::Span<const std::string> directories);

// SHA-256, 64 hexadecimal digits.
std::string Sha256(absl::string_view data);

// Digest over names and contents, and over the version of the parsed form.
std::string Digest(const std::vector<SourceFile>& files);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_FILES_H_
