#include "common/host/edit.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/host/bundle_writer.h"
#include "common/host/commands.h"
#include "common/host/incident_yaml.h"
#include "common/host/manifest.h"
#include "common/host/node_name.h"
#include "common/yaml/yaml.h"

namespace galen::host {
namespace {

constexpr std::size_t kSimpleKeyBytes = 1000;
// One byte more than ParseYaml accepts, so that it reports a file that is too large.
constexpr std::size_t kMaxEditedYaml = (std::size_t{16} << 20) + 1;

// The content of a file of the bundle, empty when it is missing.
absl::StatusOr<std::string> ReadText(const BundleWriter& writer, const std::string& path) {
  absl::StatusOr<std::string> text = writer.files().Read(path, kMaxEditedYaml);
  if (absl::IsNotFound(text.status())) return std::string();
  return text;
}

std::string Directory(absl::string_view node, View view) {
  return absl::StrCat("nodes/", node, view == View::kJob ? "/job" : "");
}

// Opens the bundle to add data of `node` ("": none), and adds the node if it is missing.
absl::StatusOr<BundleWriter> OpenFor(const std::string& directory, absl::string_view node) {
  GALEN_ASSIGN_OR_RETURN(BundleWriter writer, BundleWriter::Open(directory));
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadText(writer, "bundle.yaml"));
  if (text.empty()) {
    return absl::NotFoundError(absl::StrCat(
        CleanText(directory, 256), ": has no bundle.yaml; make it with \"galen bundle new\""));
  }
  GALEN_ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(text, "bundle.yaml"));
  if (node.empty()) return writer;
  if (!IsNodeName(node)) {
    return absl::InvalidArgumentError(
        absl::StrCat("node \"", CleanText(node, 64),
                     "\": is not a valid host name; use letters, digits, \".\", \"_\" and \"-\""));
  }
  if (!manifest.nodes.has_value()) return writer;
  std::vector<std::string>& nodes = *manifest.nodes;
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
    nodes.emplace_back(node);
    GALEN_RETURN_IF_ERROR(writer.Write("bundle.yaml", FormatManifest(manifest)));
  }
  return writer;
}

// Adds or replaces the entry with the same argv.
absl::Status PutCommand(const BundleWriter& writer, const std::string& directory,
                        std::vector<CapturedCommand> commands, CapturedCommand entry) {
  const auto same =
      std::find_if(commands.begin(), commands.end(),
                   [&](const CapturedCommand& command) { return command.argv == entry.argv; });
  if (same == commands.end()) {
    commands.push_back(std::move(entry));
  } else {
    *same = std::move(entry);
  }
  return writer.Write(absl::StrCat(directory, "/commands.yaml"), FormatCommands(commands));
}

absl::StatusOr<std::vector<CapturedCommand>> ReadCommands(const BundleWriter& writer,
                                                          const std::string& directory) {
  const std::string list = absl::StrCat(directory, "/commands.yaml");
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadText(writer, list));
  return ParseCommands(text, list);
}

absl::Status CheckArgv(const std::vector<std::string>& argv) {
  if (!argv.empty() && !argv.front().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("the command is empty; give a program and its arguments");
}

// Path in rootfs/ of a path of the machine.
absl::StatusOr<std::string> RootfsPath(const std::string& directory, absl::string_view path) {
  if (!absl::StartsWith(path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", CleanText(path, 256), "\": is not an absolute path"));
  }
  const std::string relative = absl::StrJoin(absl::StrSplit(path, '/', absl::SkipEmpty()), "/");
  GALEN_RETURN_IF_ERROR(CheckRelative(relative));
  return absl::StrCat(directory, "/rootfs/", relative);
}

absl::StatusOr<v1::Incident> ReadIncident(const BundleWriter& writer) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadText(writer, "incident.yaml"));
  std::vector<std::string> remarks;
  GALEN_ASSIGN_OR_RETURN(v1::Incident incident, ParseIncident(text, "incident.yaml", remarks));
  // Writing it back would lose the unknown fields.
  if (!remarks.empty()) return absl::InvalidArgumentError(remarks.front());
  return incident;
}

absl::Status Unchanged(const BundleWriter& writer, const std::string& source,
                       absl::string_view path) {
  return writer.Copy(source, path, [](absl::string_view block) { return std::string(block); });
}

}  // namespace

absl::Status NewBundle(const std::string& directory, absl::string_view description,
                       const std::vector<std::string>& nodes, absl::Time now) {
  for (const std::string& node : nodes) {
    if (!IsNodeName(node)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "node \"", CleanText(node, 64),
          "\": is not a valid host name; use letters, digits, \".\", \"_\" and \"-\""));
    }
  }
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, BundleWriter::Create(directory));
  Manifest manifest;
  manifest.captured_at = TimeText(now);
  manifest.captured_by = "galen bundle new";
  const std::set<std::string> unique(nodes.begin(), nodes.end());
  manifest.nodes.emplace(unique.begin(), unique.end());
  v1::Incident incident;
  incident.set_description(std::string(description));
  GALEN_RETURN_IF_ERROR(writer.Write("incident.yaml", FormatIncident(incident)));
  return writer.Write("bundle.yaml", FormatManifest(manifest));
}

absl::Status AddNode(const std::string& directory, absl::string_view node) {
  return OpenFor(directory, node).status();
}

absl::Status SetIncident(const std::string& directory, const v1::Incident& incident) {
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, OpenFor(directory, ""));
  const std::string text = FormatIncident(incident);
  std::vector<std::string> remarks;
  GALEN_RETURN_IF_ERROR(ParseIncident(text, "incident.yaml", remarks).status());
  return writer.Write("incident.yaml", text);
}

absl::Status AddCommand(const std::string& directory, absl::string_view node, View view,
                        const std::vector<std::string>& argv, const CommandOutput& output) {
  GALEN_RETURN_IF_ERROR(CheckArgv(argv));
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, OpenFor(directory, node));
  const std::string place = Directory(node, view);
  GALEN_ASSIGN_OR_RETURN(std::vector<CapturedCommand> commands, ReadCommands(writer, place));
  // Find an unused number: the list may have been edited by hand.
  std::set<std::string> used;
  for (const CapturedCommand& command : commands) used.insert(command.stdout_file);
  std::size_t number = commands.size() + 1;
  while (used.count(absl::StrFormat("c/%03d.txt", number)) > 0) ++number;
  CapturedCommand entry;
  entry.argv = argv;
  entry.exit_code = output.exit_code;
  entry.duration = output.duration;
  entry.excerpt = output.excerpt;
  entry.stdout_file = absl::StrFormat("c/%03d.txt", number);
  entry.stderr_file = absl::StrFormat("c/%03d.err", number);
  GALEN_RETURN_IF_ERROR(writer.Write(absl::StrCat(place, "/", entry.stdout_file), output.out));
  GALEN_RETURN_IF_ERROR(writer.Write(absl::StrCat(place, "/", entry.stderr_file), output.err));
  return PutCommand(writer, place, std::move(commands), std::move(entry));
}

absl::Status AddAbsentCommand(const std::string& directory, absl::string_view node, View view,
                              const std::vector<std::string>& argv) {
  GALEN_RETURN_IF_ERROR(CheckArgv(argv));
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, OpenFor(directory, node));
  const std::string place = Directory(node, view);
  GALEN_ASSIGN_OR_RETURN(std::vector<CapturedCommand> commands, ReadCommands(writer, place));
  CapturedCommand entry;
  entry.argv = argv;
  entry.absent = true;
  return PutCommand(writer, place, std::move(commands), std::move(entry));
}

absl::Status AddFile(const std::string& directory, absl::string_view node, View view,
                     absl::string_view path, const std::string& source) {
  GALEN_ASSIGN_OR_RETURN(const std::string place, RootfsPath(Directory(node, view), path));
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, OpenFor(directory, node));
  return Unchanged(writer, source, place);
}

absl::Status AddAbsentFile(const std::string& directory, absl::string_view node, View view,
                           absl::string_view path) {
  const std::string place = Directory(node, view);
  GALEN_RETURN_IF_ERROR(RootfsPath(place, path).status());
  if (absl::StrContains(path, '\n')) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", CleanText(path, 256), "\": holds a line break"));
  }
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, OpenFor(directory, node));
  const std::string list = absl::StrCat(place, "/rootfs/.absent");
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadText(writer, list));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  std::set<std::string> paths(lines.begin(), lines.end());
  paths.emplace(path);
  return writer.Write(list, absl::StrCat(absl::StrJoin(paths, "\n"), "\n"));
}

absl::Status AddLog(const std::string& directory, const std::string& source,
                    const LogDetails& details) {
  const std::string name = source.substr(source.rfind('/') + 1);
  if (name.empty() || name.front() == '.' || !IsUtf8(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(CleanText(source, 256), ": names no log; give the path of a file"));
  }
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, OpenFor(directory, details.node));
  GALEN_ASSIGN_OR_RETURN(v1::Incident incident, ReadIncident(writer));
  const auto same = std::find_if(incident.mutable_logs()->begin(), incident.mutable_logs()->end(),
                                 [&](const v1::LogSource& log) { return log.path() == name; });
  v1::LogSource& log = same == incident.mutable_logs()->end() ? *incident.add_logs() : *same;
  if (!log.path().empty() && log.node() != details.node) {
    return absl::AlreadyExistsError(absl::StrCat("logs/", name, ": is in the bundle already, from ",
                                                 log.node().empty() ? "no known node" : log.node(),
                                                 "; give this one another name"));
  }
  log.set_path(name);
  log.set_node(details.node);
  log.set_kind(details.kind);
  log.clear_rank();
  if (details.rank.has_value()) log.set_rank(*details.rank);
  GALEN_RETURN_IF_ERROR(Unchanged(writer, source, absl::StrCat("logs/", name)));
  return writer.Write("incident.yaml", FormatIncident(incident));
}

absl::Status AddEnvironment(const std::string& directory, absl::string_view node,
                            const std::map<std::string, std::string>& variables) {
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, OpenFor(directory, node));
  const std::string list = absl::StrCat(Directory(node, View::kJob), "/env.yaml");
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadText(writer, list));
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, list));
  std::map<std::string, std::string> all = variables;
  GALEN_ASSIGN_OR_RETURN(const auto before, YamlTextMap(document, list, "environment"));
  all.insert(before.begin(), before.end());
  return writer.Write(list, FormatEnvironment(all));
}

std::string FormatEnvironment(const std::map<std::string, std::string>& variables) {
  std::string text;
  std::set<std::string> keys;
  for (const auto& [name, value] : variables) {
    std::string key = YamlQuote(name);
    // Names that are not text, or very long, may become equal when written, and keys must be
    // unique.
    for (int i = 2; !keys.insert(key).second; ++i) {
      key = YamlQuote(absl::StrCat("(", i, ") ", name));
    }
    // A longer key must be marked as a key (YAML 1.2, 7.4.3).
    const bool long_key = key.size() > kSimpleKeyBytes;
    absl::StrAppend(&text, long_key ? "? " : "", key, long_key ? "\n" : "", ": ", YamlQuote(value),
                    "\n");
  }
  return text.empty() ? "{}\n" : text;
}

}  // namespace galen::host
