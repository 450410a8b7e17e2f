#include "common/knowledge/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/knowledge/yaml_document.h"
#include "openssl/evp.h"

namespace galen::knowledge {
namespace {

namespace fs = std::filesystem;

// Raise it whenever the same files would give another KnowledgeBase than before.
constexpr absl::string_view kFormatVersion = "galen.knowledge/4";
constexpr std::size_t kMaxFiles = 10'000;
constexpr int kMaxDirectoryDepth = 16;

void Add(std::vector<Problem>& problems, std::string file, std::string text, std::string remedy) {
  problems.push_back(
      {Problem::Severity::kError, std::move(file), 0, std::move(text), std::move(remedy)});
}

absl::StatusOr<std::vector<std::string>> ListYaml(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator it(directory, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string base = it->path().filename().string();
    std::error_code ignored;
    // (Other programs read these folders: the gateway the protocols of ticket systems
    // (docs/tickets.md), common/log_analysis/triage the data of log triage, common/perfmodel
    // measurements, common/profile families of kernels, services/execution/playbook playbooks,
    // services/watch/early_warning/detection early warning, common/remediation the actions on
    // machines, services/advisor/learning known joint failures, common/phrases the words that
    // people use.)
    const bool apart =
        it.depth() == 0 &&
        (base == kProposalsFolder || base == kWebhooksFolder || base == "actions" ||
         base == "advisor" || base == "tickets" || base == "kubernetes" || base == "playbooks" ||
         base == "perfmodel" || base == "profile" || base == "talk" || base == "telemetry" ||
         base == "triage" || base == "warning");
    if (absl::StartsWith(base, ".") || apart || it.depth() >= kMaxDirectoryDepth) {
      it.disable_recursion_pending();
    } else if (absl::EndsWith(base, ".yaml") && it->is_regular_file(ignored)) {
      names.push_back(it->path().lexically_relative(directory).generic_string());
      if (names.size() > kMaxFiles) {
        return absl::NotFoundError(absl::StrCat(directory.string(), ": holds more than ", kMaxFiles,
                                                " knowledge files; name a directory of its own"));
      }
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(directory.string(), ": ", error.message(),
                                            "; name a directory with knowledge files"));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

absl::StatusOr<std::vector<SourceFile>> ReadFiles(absl::Span<const std::string> directories,
                                                  std::vector<Problem>& problems) {
  std::vector<SourceFile> files;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const fs::path directory(directories[i]);
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListYaml(directory));
    for (const std::string& name : names) {
      const std::string shown = CleanText(name, 500);
      std::ifstream in(directory / name, std::ios::binary);
      // Reading one byte more than allowed distinguishes a file that is too large from one that
      // just fits.
      std::error_code ignored;
      const std::uintmax_t size = fs::file_size(directory / name, ignored);
      std::string content(ignored || size > kMaxYamlBytes ? kMaxYamlBytes + 1 : size + 1, '\0');
      in.read(content.data(), static_cast<std::streamsize>(content.size()));
      if (in.bad() || !in.is_open()) {
        Add(problems, directories.size() > 1 ? (directory / name).generic_string() : shown,
            "the file cannot be read", "check its permissions");
        continue;
      }
      content.resize(static_cast<std::size_t>(in.gcount()));
      const std::string told =
          directories.size() > 1 ? CleanText((directory / name).generic_string(), 500) : shown;
      files.push_back({i, shown, told, std::move(content)});
    }
  }
  return files;
}

std::string Fingerprint(absl::Span<const std::string> directories) {
  std::string looks;
  for (const std::string& directory : directories) {
    const absl::StatusOr<std::vector<std::string>> names = ListYaml(directory);
    if (!names.ok()) {
      absl::StrAppend(&looks, "! ", names.status().message(), "\n");
      continue;
    }
    for (const std::string& name : *names) {
      struct stat file {};
      if (::stat((fs::path(directory) / name).c_str(), &file) != 0) continue;
      absl::StrAppend(&looks, directory, "/", name, " ", file.st_ino, " ", file.st_size, " ");
      absl::StrAppend(&looks, file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec, "\n");
    }
  }
  return Sha256(looks);
}

std::string Sha256(absl::string_view data) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(data.data(), data.size(), digest, &size, EVP_sha256(), nullptr);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string Digest(const std::vector<SourceFile>& files) {
  std::string lines = absl::StrCat(kFormatVersion, "\n");
  for (const SourceFile& file : files) {
    absl::StrAppend(&lines, file.directory, " ", Sha256(file.content), " ", file.name, "\n");
  }
  return Sha256(lines);
}

}  // namespace galen::knowledge
