#include "common/intake/evidence.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/bundle.h"
#include "common/host/bundle_writer.h"
#include "common/host/commands.h"
#include "common/host/edit.h"
#include "common/host/host.h"
#include "common/host/node_name.h"
#include "common/intake/forms/forms.h"
#include "common/intake/text.h"
#include "common/intake/writer.h"

namespace galen::intake {
namespace {

using host::View;

// The kernel log as checks ask for it.
const std::vector<std::string>& KernelLog() {
  static const auto* const argv = new std::vector<std::string>{"dmesg", "--time-format", "iso"};
  return *argv;
}

std::string Filled(absl::string_view pattern, absl::string_view argument) {
  return absl::StrReplaceAll(pattern, {{"<arg>", argument}});
}

// Programs that report on a whole cluster, wherever they run: the machine of their prompt is
// therefore not part of the incident.
bool IsOfCluster(const Artefact& artefact) {
  static constexpr absl::string_view kPrograms[] = {
      "kubectl", "oc", "helm", "sinfo", "squeue", "sacct", "scontrol", "aws", "gcloud", "az"};
  return !artefact.command.argv.empty() &&
         std::find(std::begin(kPrograms), std::end(kPrograms), artefact.command.argv.front()) !=
             std::end(kPrograms);
}

// Programs that report the software that a person's shell sees: the job's own, wherever that is.
bool IsOfTheJob(const std::vector<std::string>& argv) {
  static constexpr absl::string_view kPrograms[] = {"python3", "ldconfig", "nvcc", "id"};
  return std::find(std::begin(kPrograms), std::end(kPrograms), argv.front()) != std::end(kPrograms);
}

// A document of one root: two of them, one after the other, are not one.
bool IsDocument(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  return !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '<');
}

// A name for a file below logs/.
std::string LogName(absl::string_view text_name) {
  std::string name(text_name.substr(text_name.rfind('/') + 1));
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-')
      c = '-';
  }
  while (!name.empty() && name.front() == '.') name.erase(0, 1);
  return name.empty() ? "text" : name;
}

// The output of a command, or of several runs with the same argv.
struct Captured {
  std::string text;
  bool excerpt = false;
};

// A log in the making: lines keep their numbers.
struct Log {
  std::string text;
  std::int64_t lines = 0;
  std::int64_t filled = 0;

  void Add(std::int64_t line, absl::string_view content) {
    for (; lines + 1 < line; ++lines) text += '\n';
    absl::StrAppend(&text, content);
    std::int64_t added = std::count(content.begin(), content.end(), '\n');
    if (!content.empty() && content.back() != '\n') {
      text += '\n';
      ++added;
    }
    lines += added;
    filled += added;
  }
};

class Writer {
 public:
  Writer(const std::string& directory, absl::Span<const Text> texts)
      : directory_(directory), texts_(texts) {}

  absl::StatusOr<v1::Incident> Write(const Recognised& recognised, const v1::Incident& reported) {
    GALEN_RETURN_IF_ERROR(FindNodes(recognised));
    for (const Artefact& artefact : recognised.artefacts) Place(artefact);
    GALEN_RETURN_IF_ERROR(WriteCommands());
    GALEN_RETURN_IF_ERROR(WriteFiles());
    GALEN_RETURN_IF_ERROR(WriteSamples());
    v1::Incident incident = reported;
    GALEN_RETURN_IF_ERROR(WriteLogs(incident));
    const absl::string_view prose = absl::StripAsciiWhitespace(recognised.prose);
    if (!prose.empty()) {
      if (!incident.description().empty()) incident.mutable_description()->append("\n\n");
      incident.mutable_description()->append(prose.data(), prose.size());
    }
    GALEN_RETURN_IF_ERROR(host::SetIncident(directory_, incident));
    incident.set_bundle(directory_);
    for (v1::Artefact& artefact : artefacts_) *incident.add_artefacts() = std::move(artefact);
    return incident;
  }

 private:
  using Place3 = std::tuple<std::string, View, std::vector<std::string>>;

  // The nodes that are there, and those that artefacts name.
  absl::Status FindNodes(const Recognised& recognised) {
    GALEN_ASSIGN_OR_RETURN(const auto bundle, host::Bundle::Open(directory_));
    nodes_.insert(bundle->nodes().begin(), bundle->nodes().end());
    // It stands for a machine that nobody named.
    nodes_.erase(std::string(kReportedMachine));
    std::set<std::string> named = nodes_;
    for (const Artefact& artefact : recognised.artefacts) {
      const std::string& host = HostOf(artefact);
      if (IsMachine(host)) named.insert(Known(host));
      for (const std::string& writer : artefact.writers) {
        if (!IsMachine(writer)) continue;
        named.insert(Known(writer));
        // Checks of logs run on the machines that wrote them.
        if (artefact.writers.size() > 1) writers_.insert(Known(writer));
      }
    }
    if (named.size() == 1) default_node_ = *named.begin();
    return absl::OkStatus();
  }

  static bool IsMachine(const std::string& host) {
    return host::IsNodeName(host) && !IsContainerId(host);
  }

  // "gpu07.example.org" where the bundle has "gpu07", and the other way round.
  std::string Known(const std::string& host) const {
    const auto is_same = [&](const std::string& node) {
      return node.substr(0, node.find('.')) == host.substr(0, host.find('.'));
    };
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), is_same);
    return found == nodes_.end() ? host : *found;
  }

  // The machine that an artefact speaks of; "" where nothing tells.
  static const std::string& HostOf(const Artefact& artefact) {
    static const auto* const nobody = new std::string();
    if (IsMachine(artefact.machine)) return artefact.machine;
    return IsOfCluster(artefact) ? *nobody : artefact.host;
  }

  std::string NodeOf(const Artefact& artefact) const {
    const std::string& host = HostOf(artefact);
    return IsMachine(host) ? Known(host) : default_node_;
  }

  void Place(const Artefact& artefact) {
    v1::Artefact& told = artefacts_.emplace_back();
    told.set_source(texts_[artefact.text].name);
    told.set_first_line(artefact.first_line);
    told.set_last_line(artefact.last_line);
    const std::string node = NodeOf(artefact);
    told.set_node(node);
    const std::string& cut = texts_[artefact.text].cut;
    if (artefact.kind == nullptr) {
      told.set_unread(true);
      if (!cut.empty()) told.set_title(absl::StrCat("a log: ", cut));
      // Nobody knows what printed it: it is searched for messages of every program.
      const bool readable = !IsData(artefact.content);
      AddLog(artefact, readable && !IsMachine(HostOf(artefact)) ? "" : node,
             readable ? v1::LogSource::JOB : v1::LogSource::TOOL);
      return;
    }
    const Kind& kind = *artefact.kind;
    told.set_kind(kind.id);
    told.set_title(cut.empty() ? kind.title : absl::StrCat(kind.title, ": ", cut));
    if (kind.reads_as == Kind::ReadsAs::kLog && kind.log == v1::LogSource::SYSTEM &&
        artefact.writers.size() > 1) {
      PartByWriter(artefact, node);
      return;
    }
    if (kind.reads_as == Kind::ReadsAs::kLog) {
      AddLog(artefact,
             kind.log != v1::LogSource::SYSTEM && !IsMachine(HostOf(artefact)) ? "" : node,
             kind.log);
      if (!kind.form.empty()) AddFactsOfLog(artefact, kind, node);
      if (kind.log == v1::LogSource::SYSTEM)
        AddCommand({node, View::kHost, KernelLog()}, artefact.content, true);
      return;
    }
    const bool read = AddFact(artefact, kind, node);
    told.set_unread(!read);
    if (!read) told.set_instead(kind.instead);
    AddLog(artefact, node, v1::LogSource::TOOL);
  }

  // A system log of several machines: each gets its own lines, and those that go on from them.
  void PartByWriter(const Artefact& artefact, const std::string& node) {
    std::string of = node;
    std::map<std::string, std::string> texts;
    std::int64_t number = artefact.content_line;
    for (const absl::string_view line : absl::StrSplit(artefact.content, '\n')) {
      const std::string writer = WriterOf(line);
      if (IsMachine(writer)) of = Known(writer);
      logs_[{artefact.text, v1::LogSource::SYSTEM, of}].Add(number++, absl::StrCat(line, "\n"));
      absl::StrAppend(&texts[of], line, "\n");
    }
    for (const auto& [machine, text] : texts)
      AddCommand({machine, View::kHost, KernelLog()}, text, true);
  }

  // Facts of a log beside its messages: the states of units, the events of a BMC.
  void AddFactsOfLog(const Artefact& artefact, const Kind& kind, const std::string& node) {
    const absl::StatusOr<Converted> made = Convert(kind.form, artefact.content, artefact.typed);
    if (!made.ok() || made->argv.empty()) return;
    AddCommand({node, View::kHost, made->argv}, made->text, artefact.excerpt || made->partial);
  }

  // As the command, the file or the variables that checks read. False: nothing of it is read.
  bool AddFact(const Artefact& artefact, const Kind& kind, const std::string& node) {
    Converted converted;
    if (!kind.form.empty()) {
      absl::StatusOr<Converted> made = Convert(kind.form, artefact.content, artefact.typed);
      if (!made.ok()) return false;
      converted = *std::move(made);
    } else {
      converted.text = artefact.content;
    }
    for (Sample& sample : converted.samples) samples_[node].push_back(std::move(sample));
    const bool sampled = !converted.samples.empty();
    if (absl::StripAsciiWhitespace(converted.text).empty() && converted.files.empty()) {
      return sampled;
    }
    const View view = artefact.in_container ? View::kJob : View::kHost;
    const bool excerpt = artefact.excerpt || converted.partial;
    for (auto& [path, content] : converted.files) files_[{node, view, path}] = std::move(content);
    switch (kind.reads_as) {
      case Kind::ReadsAs::kCommand: {
        const std::string& argument =
            artefact.argument.empty() ? converted.argument : artefact.argument;
        if (argument.empty() && absl::StrContains(absl::StrJoin(kind.argv, " "), "<arg>"))
          return sampled;
        std::vector<std::string> argv = std::move(converted.argv);
        if (argv.empty()) {
          for (const std::string& word : kind.argv) {
            argv.push_back(word == "<node>" ? node : Filled(word, argument));
          }
        }
        if (IsOfTheJob(argv)) AddCommand({node, View::kJob, argv}, converted.text, excerpt);
        AddCommand({node, view, std::move(argv)}, converted.text, excerpt);
        return true;
      }
      case Kind::ReadsAs::kCommandAsTyped:
        if (artefact.command.argv.empty()) return false;
        AddCommand({node, view, artefact.command.argv}, converted.text, excerpt);
        return true;
      case Kind::ReadsAs::kFile: {
        if (converted.text.empty()) return !converted.files.empty() || sampled;
        const std::string path = Filled(kind.path, artefact.argument);
        // Programs that a shell starts inherit its limits and state.
        if (absl::StartsWith(path, "/proc/self/"))
          files_[{node, View::kJob, path}] = converted.text;
        files_[{node, view, path}] = converted.text;
        return true;
      }
      case Kind::ReadsAs::kEnvironment:
        return AddVariables(node, converted.text);
      default:
        return !converted.files.empty() || sampled;
    }
  }

  bool AddVariables(const std::string& node, absl::string_view text) {
    bool any = false;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const std::size_t sign = line.find('=');
      if (sign == absl::string_view::npos || sign == 0) continue;
      variables_[node].emplace(line.substr(0, sign), line.substr(sign + 1));
      any = true;
    }
    return any;
  }

  // Two pieces of one output are one after the other; of a whole one and a piece the whole one
  // stays.
  void AddCommand(Place3 place, absl::string_view text, bool excerpt) {
    const auto [it, is_new] = commands_.try_emplace(std::move(place));
    Captured& captured = it->second;
    if (is_new || (captured.excerpt && !excerpt)) {
      captured = {std::string(text), excerpt};
    } else if (IsDocument(text)) {
      if (text.size() > captured.text.size()) captured.text = std::string(text);
    } else if (captured.excerpt && excerpt) {
      if (!captured.text.empty() && captured.text.back() != '\n') captured.text += '\n';
      absl::StrAppend(&captured.text, text);
    }
  }

  void AddLog(const Artefact& artefact, const std::string& node, v1::LogSource::Kind kind) {
    if (!texts_[artefact.text].path.empty()) {
      files_as_logs_.insert({artefact.text, kind, node});
      return;
    }
    Log& log = logs_[{artefact.text, kind, node}];
    const std::string typed = WithoutSearches(artefact.typed);
    if (!typed.empty() && artefact.first_line < artefact.content_line) {
      log.Add(artefact.first_line, typed);
    }
    log.Add(artefact.content_line, artefact.content);
  }

  absl::Status WriteCommands() {
    for (const auto& [place, captured] : commands_) {
      const auto& [node, view, argv] = place;
      host::CommandOutput output;
      output.out = captured.text;
      output.excerpt = captured.excerpt;
      // A partial output does not replace a captured one.
      if (captured.excerpt) PutBehind(node, view, argv, output);
      GALEN_RETURN_IF_ERROR(host::AddCommand(directory_, node, view, argv, output));
    }
    for (const auto& [node, variables] : variables_) {
      GALEN_RETURN_IF_ERROR(host::AddEnvironment(directory_, node, variables));
    }
    return absl::OkStatus();
  }

  // The bundle's own output of the command comes first.
  void PutBehind(const std::string& node, View view, const std::vector<std::string>& argv,
                 host::CommandOutput& output) const {
    const std::string place =
        absl::StrCat(directory_, "/nodes/", node, view == View::kJob ? "/job/" : "/");
    const auto commands =
        host::ParseCommands(ReadFile(absl::StrCat(place, "commands.yaml")), "commands.yaml");
    if (!commands.ok()) return;
    for (const host::CapturedCommand& command : *commands) {
      if (command.argv != argv || command.absent || command.stdout_file.empty()) continue;
      if (!host::CheckRelative(command.stdout_file).ok()) continue;
      const std::string before = ReadFile(absl::StrCat(place, command.stdout_file));
      if (before.empty() || IsDocument(before)) continue;
      output.excerpt = command.excerpt;
      output.out = absl::StrCat(before, absl::EndsWith(before, "\n") ? "" : "\n", output.out);
    }
  }

  static std::string ReadFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  absl::Status WriteFiles() {
    GALEN_ASSIGN_OR_RETURN(const host::BundleWriter writer, host::BundleWriter::Open(directory_));
    for (const auto& [place, content] : files_) {
      const auto& [node, view, path] = place;
      if (!absl::StartsWith(path, "/") || !host::CheckRelative(path.substr(1)).ok()) continue;
      GALEN_RETURN_IF_ERROR(host::AddNode(directory_, node));
      GALEN_RETURN_IF_ERROR(writer.Write(
          absl::StrCat("nodes/", node, view == View::kJob ? "/job" : "", "/rootfs", path),
          content));
    }
    return absl::OkStatus();
  }

  // In the time series format of bundles (OpenMetrics).
  absl::Status WriteSamples() {
    if (samples_.empty()) return absl::OkStatus();
    GALEN_ASSIGN_OR_RETURN(const host::BundleWriter writer, host::BundleWriter::Open(directory_));
    std::string text;
    for (const auto& [node, samples] : samples_) {
      GALEN_RETURN_IF_ERROR(host::AddNode(directory_, node));
      for (const Sample& sample : samples) {
        absl::StrAppend(&text, sample.metric, "{Hostname=\"", node, "\"");
        if (!sample.device.empty()) absl::StrAppend(&text, ",gpu=\"", sample.device, "\"");
        absl::StrAppend(&text, "} ", absl::StrFormat("%.10g %.3f", sample.value, sample.time),
                        "\n");
      }
    }
    return writer.Write("telemetry/pasted.om", absl::StrCat(text, "# EOF\n"));
  }

  absl::Status WriteLogs(v1::Incident& incident) {
    GALEN_ASSIGN_OR_RETURN(const host::BundleWriter writer, host::BundleWriter::Open(directory_));
    std::set<std::string> names;
    for (const v1::LogSource& log : incident.logs()) names.insert(log.path());
    // The log of most lines has the name of its text.
    std::vector<std::pair<LogKey, const Log*>> order;
    for (const auto& [key, log] : logs_) order.emplace_back(key, &log);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second->filled > b.second->filled;
    });
    for (const auto& [key, log] : order) {
      const auto& [text, kind, node] = key;
      std::string name = LogName(texts_[text].name);
      for (int number = 2; !names.insert(name).second; ++number) {
        name = absl::StrCat(LogName(texts_[text].name), "~", number);
      }
      GALEN_RETURN_IF_ERROR(writer.Write(absl::StrCat("logs/", name), log->text));
      v1::LogSource& source = *incident.add_logs();
      source.set_path(name);
      source.set_node(node);
      source.set_kind(kind);
      if (!node.empty()) GALEN_RETURN_IF_ERROR(host::AddNode(directory_, node));
    }
    for (const LogKey& key : files_as_logs_) {
      const auto& [text, kind, node] = key;
      GALEN_RETURN_IF_ERROR(LinkLog(texts_[text], kind, node, names, incident));
    }
    for (const std::string& machine : writers_) {
      GALEN_RETURN_IF_ERROR(host::AddNode(directory_, machine));
    }
    // Checks need a node, even when no line names its writer.
    if (nodes_.empty() && writers_.empty()) return host::AddNode(directory_, default_node_);
    return absl::OkStatus();
  }

  // A file of any size is in the bundle without being read: as a second name, or a copy where the
  // file system has no such thing.
  absl::Status LinkLog(const Text& text, v1::LogSource::Kind kind, const std::string& node,
                       std::set<std::string>& names, v1::Incident& incident) {
    GALEN_ASSIGN_OR_RETURN(const host::BundleWriter writer, host::BundleWriter::Open(directory_));
    std::string name = LogName(text.name);
    for (int number = 2; !names.insert(name).second; ++number) {
      name = absl::StrCat(number, "~",
                          LogName(text.name));  // the file extension shows the compression
    }
    const std::string path = absl::StrCat("logs/", name);
    GALEN_RETURN_IF_ERROR(writer.Write(path, ""));
    std::error_code error;
    std::filesystem::remove(absl::StrCat(directory_, "/", path), error);
    std::filesystem::create_hard_link(text.path, absl::StrCat(directory_, "/", path), error);
    if (error) {
      GALEN_RETURN_IF_ERROR(
          writer.Copy(text.path, path, [](absl::string_view block) { return std::string(block); }));
    }
    v1::LogSource& source = *incident.add_logs();
    source.set_path(name);
    source.set_node(node);
    source.set_kind(kind);
    return node.empty() ? absl::OkStatus() : host::AddNode(directory_, node);
  }

  using LogKey = std::tuple<std::size_t, v1::LogSource::Kind, std::string>;

  const std::string directory_;
  const absl::Span<const Text> texts_;
  std::set<std::string> nodes_;
  std::set<std::string> writers_;  // of logs that several machines wrote
  std::string default_node_{kReportedMachine};
  std::map<Place3, Captured> commands_;
  std::map<std::tuple<std::string, View, std::string>, std::string> files_;
  std::map<std::string, std::map<std::string, std::string>> variables_;
  std::map<std::string, std::vector<Sample>> samples_;
  std::map<LogKey, Log> logs_;
  std::set<LogKey> files_as_logs_;
  std::vector<v1::Artefact> artefacts_;
};

}  // namespace

absl::StatusOr<v1::Incident> AddEvidence(const std::string& directory, const Recognised& recognised,
                                         absl::Span<const Text> texts,
                                         const v1::Incident& reported) {
  return Writer(directory, texts).Write(recognised, reported);
}

}  // namespace galen::intake
