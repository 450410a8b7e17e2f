#include "common/yaml/knowledge_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"

namespace galen {
namespace {

constexpr std::size_t kMostFiles = 256;

// NOT_FOUND: it is not there.
absl::StatusOr<KnowledgeFile> Read(std::string path) {
  GALEN_ASSIGN_OR_RETURN(std::string text, ReadSmallFile(path));
  return KnowledgeFile{std::move(path), std::move(text)};
}

}  // namespace

absl::StatusOr<std::vector<KnowledgeFile>> KnowledgeFiles(
    const std::vector<std::string>& directories, absl::string_view name) {
  std::vector<KnowledgeFile> files;
  for (const std::string& directory : directories) {
    absl::StatusOr<KnowledgeFile> file = Read(absl::StrCat(directory, "/", name));
    if (absl::IsNotFound(file.status())) continue;
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(name, ": no directory of the knowledge has it"));
  }
  return files;
}

absl::StatusOr<std::vector<KnowledgeFile>> KnowledgeFolder(
    const std::vector<std::string>& directories, absl::string_view name) {
  std::vector<KnowledgeFile> files;
  for (const std::string& directory : directories) {
    const std::string folder = absl::StrCat(directory, "/", name);
    std::vector<std::string> paths;
    std::error_code error;
    std::filesystem::directory_iterator it(folder, error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      if (it->path().extension() == ".yaml") paths.push_back(it->path().string());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return absl::InvalidArgumentError(absl::StrCat(folder, ": ", error.message()));
    }
    if (paths.size() > kMostFiles) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder, ": has ", paths.size(), " files, more than ", kMostFiles));
    }
    std::sort(paths.begin(), paths.end());
    for (std::string& path : paths) {
      GALEN_ASSIGN_OR_RETURN(KnowledgeFile file, Read(std::move(path)));
      files.push_back(std::move(file));
    }
  }
  if (files.empty()) {
    return absl::NotFoundError(
        absl::StrCat(name, "/*.yaml: no directory of the knowledge has any"));
  }
  return files;
}

}  // namespace galen
