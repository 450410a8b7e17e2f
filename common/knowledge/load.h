#ifndef COMMON_KNOWLEDGE_LOAD_H_
#define COMMON_KNOWLEDGE_LOAD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/knowledge/knowledge.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::knowledge {

// Folder of a knowledge directory that holds what waits for a person's review; it is not loaded.
inline constexpr absl::string_view kProposalsFolder = "proposals";
// Folder of a knowledge directory that says how senders of webhooks speak, which is the gateway's
// alone to read (docs/webhooks.md).
inline constexpr absl::string_view kWebhooksFolder = "webhooks";

// A mistake in the knowledge, for the person who wrote it.
struct Problem {
  enum class Severity { kError, kWarning };
  Severity severity = Severity::kError;
  std::string file;  // relative to the directory it was read from; of several, with the directory
  int line = 0;      // 1 and up; 0: the file as a whole
  std::string text;  // what is wrong
  std::string remedy;
};

// "taxonomy/gpu.yaml:12: error: label GPU.X.Y is defined twice; remove one of them"
std::string ToString(const Problem& problem);

// Reads every *.yaml below the directories, the later ones overlaying the earlier (an entry of the
// same id replaces the earlier one, and the list `off` switches entries off). Collects mistakes of
// form in `problems`; entries that cannot be read are left out. Fails only when a directory cannot
// be read (NOT_FOUND).
absl::StatusOr<v1::KnowledgeBase> Parse(absl::Span<const std::string> directories,
                                        std::vector<Problem>& problems);

// A file that is treated as part of the last of the directories.
struct CandidateFile {
  std::string name;  // relative to that directory
  std::string content;
};

// As Parse() with `candidate` in place, instead of a file of its name: what would be wrong if it
// were written. Problems of it name `candidate.name` as it is.
absl::StatusOr<v1::KnowledgeBase> ParseWith(absl::Span<const std::string> directories,
                                            const CandidateFile& candidate,
                                            std::vector<Problem>& problems);

// Mistakes of meaning: unknown labels and checks, rules over findings that no check emits, cycles
// and orphans in the tree, patterns that do not compile, duplicate ids, ... Pure.
std::vector<Problem> Lint(const v1::KnowledgeBase& base);

struct LoadOptions {
  // Directory of the cache of the parsed form, keyed by the digest of the files; "": no cache.
  std::string cache_directory;
};

// Parse + Lint; INVALID_ARGUMENT with every error (file, line, remedy) when there is one.
absl::StatusOr<std::shared_ptr<const Knowledge>> Load(absl::Span<const std::string> directories,
                                                      const LoadOptions& options);

// The directories to load: `explicit_directories` when given, else $GALEN_KNOWLEDGE, else
// knowledge/ beside the program (../../knowledge for a build tree, ../share/galen/knowledge when
// installed). NOT_FOUND with the directories that were tried.
absl::StatusOr<std::vector<std::string>> FindDirectories(
    absl::Span<const std::string> explicit_directories);

// $XDG_CACHE_HOME/galen, or ~/.cache/galen, or "" when there is no home.
std::string DefaultCacheDirectory();

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_LOAD_H_
