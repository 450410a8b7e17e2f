#ifndef COMMON_YAML_KNOWLEDGE_FILE_H_
#define COMMON_YAML_KNOWLEDGE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen {

struct KnowledgeFile {
  std::string path;
  std::string text;
};

// The files of this name ("kubernetes/jobs.yaml") in the knowledge's directories, in their order:
// if they are not merged, the last one counts. Never empty: NOT_FOUND none has one;
// INVALID_ARGUMENT one cannot be read or has more than 1 MiB.
absl::StatusOr<std::vector<KnowledgeFile>> KnowledgeFiles(
    const std::vector<std::string>& directories, absl::string_view name);

// All files NAME/*.yaml of the knowledge's directories, in their order and by name within each.
// Never empty: NOT_FOUND there is none; INVALID_ARGUMENT one cannot be read or has more than 1 MiB,
// or a directory has more than 256.
absl::StatusOr<std::vector<KnowledgeFile>> KnowledgeFolder(
    const std::vector<std::string>& directories, absl::string_view name);

}  // namespace galen

#endif  // COMMON_YAML_KNOWLEDGE_FILE_H_
