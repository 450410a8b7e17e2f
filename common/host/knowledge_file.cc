#include "common/host/knowledge_file.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::host {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 20;

}  // namespace

absl::StatusOr<std::vector<KnowledgeFile>> KnowledgeFiles(
    const std::vector<std::string>& directories, absl::string_view name) {
  std::vector<KnowledgeFile> files;
  for (const std::string& directory : directories) {
    KnowledgeFile file;
    file.path = absl::StrCat(directory, "/", name);
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.path, error);
    if (error) continue;
    std::ifstream in(file.path, std::ios::binary);
    std::ostringstream text;
    if (size <= kMostBytes) text << in.rdbuf();
    if (!in || size > kMostBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": cannot be read, or has more than ", kMostBytes, " bytes"));
    }
    file.text = text.str();
    files.push_back(std::move(file));
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(name, ": no directory of the knowledge has it"));
  }
  return files;
}

}  // namespace galen::host
