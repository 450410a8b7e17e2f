#include "bench/eval/suite/question_host.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/knowledge/write_yaml.h"

namespace galen::eval {
namespace {

namespace fs = std::filesystem;

absl::Status Write(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (file.flush()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path.string(), ": cannot be written"));
}

absl::Status WriteHost(const QuestionHost& host, const fs::path& node) {
  for (const auto& [path, content] : host.files) {
    GALEN_RETURN_IF_ERROR(Write(node / "rootfs" / path.substr(1), content));
  }
  std::string absent;
  for (const std::string& path : host.absent) absl::StrAppend(&absent, path, "\n");
  if (!absent.empty()) GALEN_RETURN_IF_ERROR(Write(node / "rootfs" / ".absent", absent));
  std::string commands;
  int number = 0;
  for (const auto& [argv, output] : host.commands) {
    const std::string file = absl::StrCat("c/", ++number, ".txt");
    std::string words;
    for (const std::string& word : argv)
      absl::StrAppend(&words, words.empty() ? "" : ", ", knowledge::YamlScalar(word));
    absl::StrAppend(&commands, "- {argv: [", words, "], exit: 0, stdout: ", file, "}\n");
    GALEN_RETURN_IF_ERROR(Write(node / file, output));
  }
  if (commands.empty()) commands = "[]\n";
  return Write(node / "commands.yaml", commands);
}

}  // namespace

absl::StatusOr<QuestionHosts> OpenHosts(const Question& question) {
  GALEN_ASSIGN_OR_RETURN(host::TemporaryDirectory directory, host::TemporaryDirectory::Create());
  const fs::path root = directory.path();
  std::string nodes;
  for (const QuestionHost& host : question.hosts) {
    GALEN_RETURN_IF_ERROR(WriteHost(host, root / "nodes" / host.name));
    absl::StrAppend(&nodes, nodes.empty() ? "" : ", ", knowledge::YamlScalar(host.name));
  }
  GALEN_RETURN_IF_ERROR(
      Write(root / "bundle.yaml", absl::StrCat("format: galen.bundle/v1\nnodes: [", nodes, "]\n")));
  GALEN_RETURN_IF_ERROR(Write(root / "incident.yaml", "description: a question of the suite\n"));
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const host::Bundle> bundle,
                         host::Bundle::Open(root.string()));
  return QuestionHosts{std::move(directory), std::move(bundle)};
}

}  // namespace galen::eval
