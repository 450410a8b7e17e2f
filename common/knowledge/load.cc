#include "common/knowledge/load.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/knowledge/cache.h"
#include "common/knowledge/files.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

// A file of garbage can hold a mistake on every line; people repair the first ones first.
constexpr int kMaxReported = 200;

v1::KnowledgeBase ParseFiles(const std::vector<SourceFile>& files, std::vector<Problem>& problems) {
  Entries all;
  Entries of_directory;
  std::size_t directory = 0;
  for (const SourceFile& file : files) {
    if (file.directory != directory) {
      Overlay(all, std::exchange(of_directory, {}), problems);
      directory = file.directory;
    }
    ParseFile(file.content, FileContext{file.shown, problems}, of_directory);
  }
  Overlay(all, std::move(of_directory), problems);
  v1::KnowledgeBase base = Assemble(std::move(all));
  base.set_digest(Digest(files));
  return base;
}

absl::Status ErrorsOf(const std::vector<Problem>& problems) {
  std::string text;
  int errors = 0;
  for (const Problem& problem : problems) {
    if (problem.severity != Problem::Severity::kError) continue;
    if (++errors <= kMaxReported) absl::StrAppend(&text, "\n", ToString(problem));
  }
  if (errors == 0) return absl::OkStatus();
  if (errors > kMaxReported) absl::StrAppend(&text, "\n... and ", errors - kMaxReported, " more");
  return absl::InvalidArgumentError(
      absl::StrCat("knowledge: ", errors, errors == 1 ? " error" : " errors", text));
}

}  // namespace

std::string ToString(const Problem& problem) {
  const bool error = problem.severity == Problem::Severity::kError;
  std::string text = problem.file;
  if (problem.line > 0) absl::StrAppend(&text, ":", problem.line);
  absl::StrAppend(&text, text.empty() ? "" : ": ", error ? "error: " : "warning: ", problem.text);
  if (!problem.remedy.empty()) absl::StrAppend(&text, "; ", problem.remedy);
  return text;
}

absl::StatusOr<v1::KnowledgeBase> Parse(absl::Span<const std::string> directories,
                                        std::vector<Problem>& problems) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<SourceFile> files, ReadFiles(directories, problems));
  return ParseFiles(files, problems);
}

absl::StatusOr<v1::KnowledgeBase> ParseWith(absl::Span<const std::string> directories,
                                            const CandidateFile& candidate,
                                            std::vector<Problem>& problems) {
  GALEN_ASSIGN_OR_RETURN(std::vector<SourceFile> files, ReadFiles(directories, problems));
  const std::size_t last = directories.empty() ? 0 : directories.size() - 1;
  std::erase_if(files, [&](const SourceFile& file) {
    return file.directory == last && file.name == candidate.name;
  });
  const auto place = std::find_if(files.begin(), files.end(), [&](const SourceFile& file) {
    return file.directory == last && file.name > candidate.name;
  });
  files.insert(place, {last, candidate.name, candidate.name, candidate.content});
  return ParseFiles(files, problems);
}

absl::StatusOr<std::shared_ptr<const Knowledge>> Load(absl::Span<const std::string> directories,
                                                      const LoadOptions& options) {
  std::vector<Problem> problems;
  GALEN_ASSIGN_OR_RETURN(const std::vector<SourceFile> files, ReadFiles(directories, problems));
  if (files.empty() && problems.empty()) {
    return absl::NotFoundError(absl::StrCat("knowledge: no *.yaml below ",
                                            absl::StrJoin(directories, ", "),
                                            "; name the directory that holds taxonomy/"));
  }
  const bool cached = !options.cache_directory.empty() && problems.empty();
  if (cached) {
    if (auto base = ReadFromCache(options.cache_directory, Digest(files)); base.has_value()) {
      return std::make_shared<const Knowledge>(*std::move(base));
    }
  }
  v1::KnowledgeBase base = ParseFiles(files, problems);
  for (Problem& problem : Lint(base)) problems.push_back(std::move(problem));
  GALEN_RETURN_IF_ERROR(ErrorsOf(problems));
  if (cached) StoreInCache(options.cache_directory, base);
  return std::make_shared<const Knowledge>(std::move(base));
}

}  // namespace galen::knowledge
