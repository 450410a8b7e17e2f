#include "services/summarization/artefacts.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/commands.h"
#include "common/log_analysis/scan/reader.h"
#include "common/reasoner/llm/lines.h"
#include "services/summarization/log_path.h"

namespace galen::summarization {
namespace {

constexpr std::size_t kMostFiles = 4000;  // of one machine
constexpr std::size_t kMostCommands = 400;
constexpr std::size_t kMostListed = std::size_t{4} << 20;
constexpr std::size_t kMostOfFileLine = 1 << 20;  // a longer line is read in pieces
constexpr std::size_t kShortName = 24;            // needs no handle

// The lines of a text, whole: what is shown of a line is cut later.
std::vector<std::string> WholeLines(absl::string_view text) {
  return reasoner::llm::LinesOfText(text, kMostOfFileLine);
}

}  // namespace

absl::Status Artefacts::Fill(absl::Span<const std::string> roots) {
  const galen::v1::Incident& incident = request_.incident();
  AddText(std::string(reasoner::llm::kReport), "", "the words of the report",
          WholeLines(incident.description()));
  for (int i = 0; i < request_.evidence().feedback_size(); ++i) {
    AddText(reasoner::llm::FeedbackName(i + 1), "", "said later",
            WholeLines(request_.evidence().feedback(i)));
  }
  std::string bundle;
  if (!incident.bundle().empty()) {
    GALEN_ASSIGN_OR_RETURN(bundle, ResolveBundle(incident.bundle(), roots));
  }
  AddLogs(bundle, roots);
  if (!bundle.empty()) AddMachines(bundle);
  for (const galen::v1::CheckResult& result : request_.evidence().results()) {
    if (result.status() != galen::v1::CheckResult::PASS &&
        result.status() != galen::v1::CheckResult::FAIL) {
      continue;
    }
    AddText(result.id(), result.node(), "", reasoner::llm::LinesOfResult(result));
    artefacts_.back().listed = false;
  }
  KeepUsefulHandles();
  return absl::OkStatus();
}

// Drops the handles of short names, and one that is another artefact's name.
void Artefacts::KeepUsefulHandles() {
  std::set<absl::string_view> names;
  for (const Artefact& each : artefacts_) {
    names.insert(each.name);
    names.insert(each.alias);
  }
  for (Artefact& each : artefacts_) {
    if (each.name.size() <= kShortName || names.contains(each.handle)) each.handle.clear();
  }
}

void Artefacts::AddText(std::string name, std::string node, std::string what,
                        std::vector<std::string> lines) {
  artefacts_.push_back({.name = std::move(name),
                        .node = std::move(node),
                        .what = std::move(what),
                        .lines = std::move(lines)});
}

void Artefacts::AddLogs(const std::string& bundle, absl::Span<const std::string> roots) {
  std::set<std::string> names = {"description"};
  const std::vector<std::string> in_incident = LogNames(request_.incident().logs());
  for (int i = 0; i < request_.incident().logs_size(); ++i) {
    const galen::v1::LogSource& log = request_.incident().logs(i);
    // As signals of it are called.
    const std::string& plain = in_incident[static_cast<std::size_t>(i)];
    std::string name = plain;
    for (int n = 2; !names.insert(name).second; ++n) name = absl::StrCat(plain, "#", n);
    if (!log.content().empty()) {
      AddText(name, log.node(), "a log", WholeLines(log.content()));
    } else {
      const absl::StatusOr<std::string> resolved = ResolveLog(log.path(), bundle, roots);
      if (!resolved.ok()) continue;
      artefacts_.push_back({.name = name, .node = log.node(), .what = "a log", .path = *resolved});
    }
    artefacts_.back().handle = absl::StrCat("#log", i + 1);
    artefacts_.back().log =
        log.kind() == galen::v1::LogSource::SYSTEM ? Artefact::Log::kMachine : Artefact::Log::kJob;
  }
}

// Adds the captures of each machine: outputs of commands and copies of files.
void Artefacts::AddMachines(const std::string& bundle) {
  const absl::StatusOr<host::BundleFiles> files = host::BundleFiles::Open(bundle);
  if (!files.ok()) return;
  std::size_t machines = 0;
  for (const std::string& node : NodesOfBundle(bundle)) {
    const std::string machine = absl::StrCat("#m", ++machines, ".");
    std::size_t outputs = 0;
    for (const bool of_job : {false, true}) {
      const std::string folder = absl::StrCat("nodes/", node, of_job ? "/job/" : "/");
      const std::string owner = absl::StrCat(node, of_job ? " job: " : ": ");
      AddCommands(*files, folder, owner, node, machine, outputs);
      AddFiles(*files, folder, owner, node);
    }
    NameCaptures(bundle, node);
  }
}

// A log of events has the name that messages of it bear; that of its command opens it too.
void Artefacts::NameCaptures(const std::string& bundle, const std::string& node) {
  for (const Capture& capture : CapturesOf(bundle, node)) {
    const absl::StatusOr<std::string> path = ResolveLog(capture.log.path(), bundle, {});
    if (!path.ok()) continue;
    for (Artefact& each : artefacts_) {
      if (each.path != *path || each.log != Artefact::Log::kNone) continue;
      each.alias = std::move(each.name);
      each.name = absl::StrCat(CleanText(capture.name, 128), " of ", CleanText(node, 256));
      each.log = Artefact::Log::kMachine;
      break;
    }
  }
}

void Artefacts::AddCommands(const host::BundleFiles& files, const std::string& folder,
                            const std::string& owner, const std::string& node,
                            const std::string& machine, std::size_t& count) {
  const absl::StatusOr<std::string> listed =
      files.Read(absl::StrCat(folder, "commands.yaml"), kMostListed);
  if (!listed.ok()) return;
  const auto commands = host::ParseCommands(*listed, "commands.yaml");
  if (!commands.ok()) return;
  std::size_t here = 0;
  for (const host::CapturedCommand& command : *commands) {
    if (command.stdout_file.empty() || ++here > kMostCommands) continue;
    ++count;
    const absl::StatusOr<std::string> path =
        files.Resolve(absl::StrCat(folder, command.stdout_file));
    if (!path.ok()) continue;
    artefacts_.push_back(
        {.name = CleanText(absl::StrCat(owner, absl::StrJoin(command.argv, " ")), 256),
         .node = node,
         .path = *path,
         .handle = absl::StrCat(machine, count)});
  }
}

void Artefacts::AddFiles(const host::BundleFiles& files, const std::string& folder,
                         const std::string& owner, const std::string& node) {
  const absl::StatusOr<std::string> root = files.Resolve(absl::StrCat(folder, "rootfs"));
  if (!root.ok()) return;
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(*root, error), end;
       !error && at != end && paths.size() < kMostFiles; at.increment(error)) {
    std::error_code ignored;
    if (at->is_symlink(ignored) || !at->is_regular_file(ignored)) continue;
    paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (std::string& path : paths) {
    std::string name = CleanText(absl::StrCat(owner, path.substr(root->size())), 256);
    artefacts_.push_back(
        {.name = std::move(name), .node = node, .path = std::move(path), .listed = false});
  }
}

bool Artefacts::IsCalled(const Artefact& artefact, const std::string& name) {
  if (name.empty()) return false;
  if (artefact.name == name || artefact.alias == name || artefact.handle == name) return true;
  return !artefact.listed && artefact.path.empty() &&
         absl::StartsWith(artefact.name, absl::StrCat(name, "@"));
}

const Artefact* Artefacts::Find(const std::string& name) const {
  const auto found = std::find_if(artefacts_.begin(), artefacts_.end(),
                                  [&](const Artefact& each) { return IsCalled(each, name); });
  return found == artefacts_.end() ? nullptr : &*found;
}

bool Artefacts::Each(const Artefact& artefact, const OnLine& on_line) const {
  std::int64_t number = 0;
  if (artefact.lines.has_value()) {
    for (const std::string& line : *artefact.lines) {
      if (!on_line(++number, line)) break;
    }
    return true;
  }
  absl::StatusOr<std::unique_ptr<log_scan::LogReader>> reader =
      log_scan::LogReader::Open(artefact.path, {});
  if (!reader.ok() || (*reader)->real_path() != artefact.path) return false;
  std::string rest;
  for (;;) {
    if (OutOfTime()) return false;
    const absl::StatusOr<absl::string_view> chunk = (*reader)->Next();
    if (!chunk.ok()) return false;
    if (chunk->empty()) break;
    rest.append(chunk->data(), chunk->size());
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos;
         end = rest.find('\n', begin)) {
      if (!on_line(++number, absl::string_view(rest).substr(begin, end - begin))) return true;
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (rest.size() > kMostOfFileLine) {
      if (!on_line(++number, rest)) return true;
      rest.clear();
    }
  }
  if (!rest.empty()) on_line(number + 1, rest);
  return true;
}

}  // namespace galen::summarization
