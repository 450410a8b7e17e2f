#include "common/host/capture.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/host/bundle_writer.h"
#include "common/host/commands.h"
#include "common/host/incident_yaml.h"
#include "common/host/manifest.h"
#include "common/host/node_name.h"

namespace galen::host {
namespace {

// Network devices and disks that are hardware have a link to it.
std::vector<std::string> NamesWithDevice(const Host& host, absl::string_view directory) {
  std::vector<std::string> names;
  const auto links = host.Glob(absl::StrCat(directory, "/*/device"));
  if (!links.ok()) return names;
  for (const std::string& link : *links) {
    const std::vector<absl::string_view> parts = absl::StrSplit(link, '/');
    names.emplace_back(parts[parts.size() - 2]);
  }
  return names;
}

std::vector<std::string> LastParts(const Host& host, absl::string_view glob) {
  std::vector<std::string> names;
  const auto paths = host.Glob(glob);
  if (!paths.ok()) return names;
  for (const std::string& path : *paths) names.push_back(path.substr(path.rfind('/') + 1));
  return names;
}

// The part of the job's path below /sys/fs/cgroup, from the line "0::/path" of cgroup v2.
std::vector<std::string> JobCgroup(const Host& host, absl::string_view pid) {
  const auto text = host.ReadFile(absl::StrCat("/proc/", pid, "/cgroup"));
  if (!text.ok()) return {};
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::StartsWith(line, "0::/") || absl::StrContains(line, "..")) continue;
    return {std::string(line.substr(4))};
  }
  return {};
}

// Calls `work(i)` for every i below `count`, at most `parallel` of them in parallel, and fewer if
// this machine cannot create more threads, which may be part of its fault.
void ForEach(std::size_t count, int parallel, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(std::max(parallel, 1)));
  try {
    for (int i = 1; i < parallel; ++i) threads.emplace_back(loop);
  } catch (const std::system_error&) {
    // Continue with the threads created so far.
  }
  loop();
  for (std::thread& thread : threads) thread.join();
}

Placeholders ValuesOf(const Host& host, const CaptureOptions& options) {
  Placeholders values = options.values;
  values["host"] = {host.name()};
  std::vector<std::string> hcas, netdevs, bonds, disks, cgroups;
  const auto pid = values.find("job_pid");
  // In parallel: each may hang for as long as a read may take.
  const std::vector<std::function<void()>> reads = {
      [&] { hcas = LastParts(host, "/sys/class/infiniband/*"); },
      [&] { netdevs = NamesWithDevice(host, "/sys/class/net"); },
      [&] { bonds = LastParts(host, "/proc/net/bonding/*"); },
      [&] { disks = NamesWithDevice(host, "/sys/block"); },
      [&] {
        if (pid == values.end() || pid->second.empty()) return;
        cgroups = JobCgroup(host, pid->second.front());
      }};
  ForEach(reads.size(), options.parallel, [&](std::size_t i) { reads[i](); });
  for (std::string& bond : bonds) netdevs.push_back(std::move(bond));
  values["hca"] = std::move(hcas);
  values["netdev"] = std::move(netdevs);
  for (const std::string& disk : disks) values["disk"].push_back(absl::StrCat("/dev/", disk));
  if (!cgroups.empty()) values["job_cgroup"] = std::move(cgroups);
  // A name comes from the machine and becomes an argument: a name that looks like an option is left
  // out.
  for (auto& [name, all] : values) {
    all.erase(std::remove_if(all.begin(), all.end(),
                             [](const std::string& value) { return absl::StartsWith(value, "-"); }),
              all.end());
  }
  return values;
}

// Collects one capture; everything is written in the order of the plan, so that the same results
// give the same bundle.
class Capturer {
 public:
  Capturer(const Host& host, const CapturePlan& plan, const CaptureOptions& options,
           const BundleWriter& writer)
      : host_(host),
        plan_(plan),
        options_(options),
        writer_(writer),
        values_(ValuesOf(host, options)) {}

  absl::StatusOr<CaptureSummary> Run() {
    ReadAll();
    for (const View view : {View::kHost, View::kJob}) {
      GALEN_RETURN_IF_ERROR(Commands(view));
      GALEN_RETURN_IF_ERROR(Files(view));
    }
    GALEN_RETURN_IF_ERROR(Environment());
    GALEN_RETURN_IF_ERROR(Incident());
    Manifest manifest;
    manifest.captured_at = TimeText(options_.now);
    manifest.captured_by = "galen bundle capture";
    manifest.nodes = {host_.name()};
    manifest.refused = summary_.refused;
    manifest.redacted = summary_.redacted;
    GALEN_RETURN_IF_ERROR(writer_.Write("bundle.yaml", FormatManifest(manifest)));
    summary_.directory = writer_.files().root();
    return summary_;
  }

 private:
  std::string Directory(View view) const {
    return absl::StrCat("nodes/", host_.name(), view == View::kJob ? "/job" : "");
  }

  void Refuse(absl::string_view what, const absl::Status& why) {
    summary_.refused.push_back(
        absl::StrCat(CleanText(what, 160), ": ", CleanText(why.message(), 240)));
  }

  // Writes a text with its secrets masked, and records their kinds.
  absl::Status WriteClean(const std::string& path, absl::string_view text) {
    std::map<std::string, int> counts;
    const std::string clean = Clean(text, counts);
    if (!counts.empty()) summary_.redacted.push_back(absl::StrCat(path, ": ", ShownCounts(counts)));
    return writer_.Write(path, clean);
  }

  // `text` with its secrets and, if requested, the customer's paths masked.
  std::string Clean(absl::string_view text, std::map<std::string, int>& counts) const {
    std::string clean = plan_.redactor.Redact(text, counts);
    return options_.redact_paths ? plan_.paths.Redact(clean, counts) : clean;
  }

  // One command, or one pattern with the files that match it.
  struct Entry {
    View view = View::kHost;
    std::vector<std::string> argv;
    absl::StatusOr<CommandResult> result = NotBegun();
    absl::Duration waited;  // for the command
    std::string glob;
    absl::StatusOr<std::vector<std::string>> paths = NotBegun();
    std::vector<absl::StatusOr<std::string>> contents;  // as `paths`
    std::string absent;                                 // path that is known as absent
  };

  static absl::Status NotBegun() {
    return absl::DeadlineExceededError("not begun, the time for the capture was over");
  }

  // For a file that the bundle cannot hold because its disk allows only shorter names than the
  // machine: the file is left out, which is not a reason to fail.
  static absl::Status NoNameForAFile() {
    return absl::InvalidArgumentError("its name is too long for a file of the bundle");
  }

  // Runs and reads everything, as parallel as allowed: no entry waits for another.
  void ReadAll() {
    for (const CapturePlan::Command& command : plan_.commands) {
      for (std::vector<std::string>& argv : ExpandCommand(command.argv, values_)) {
        commands_.push_back({.view = command.view, .argv = std::move(argv)});
      }
    }
    for (const CapturePlan::Files& files : plan_.files) {
      for (std::string& glob : ExpandWord(files.glob, values_)) {
        files_.push_back({.view = files.view, .glob = std::move(glob)});
      }
    }
    ForEach(1 + commands_.size() + files_.size(), options_.parallel, [&](std::size_t i) {
      if (SteadyNow() >= options_.begin_by) return;
      if (i-- == 0) {
        environment_ = host_.JobEnvironment();
        return;
      }
      if (i < commands_.size()) {
        const absl::Time begun = SteadyNow();
        commands_[i].result = host_.Run(commands_[i].argv, commands_[i].view);
        commands_[i].waited = SteadyNow() - begun;
        return;
      }
      Entry& entry = files_[i - commands_.size()];
      entry.paths = host_.Glob(entry.glob, entry.view);
      if (absl::IsNotFound(entry.paths.status())) entry.absent = AbsentPath(entry);
      if (!entry.paths.ok()) return;
      for (const std::string& path : *entry.paths) {
        entry.contents.push_back(SteadyNow() < options_.begin_by
                                     ? host_.ReadFile(path, entry.view)
                                     : absl::StatusOr<std::string>(NotBegun()));
      }
    });
  }

  absl::Status Commands(View view) {
    std::vector<CapturedCommand> entries;
    std::size_t number = 0;
    for (const Entry& command : commands_) {
      if (command.view != view) continue;
      ++number;
      CapturedCommand entry;
      entry.argv = command.argv;
      const absl::Status& status = command.result.status();
      if (absl::IsNotFound(status)) {
        entry.absent = true;
        ++summary_.absent;
      } else if (status == NotBegun()) {
        // Its outcome is unknown; it need not hang.
        Refuse(ShownCommand(command.argv), status);
        continue;
      } else if (absl::IsDeadlineExceeded(status)) {
        entry.timed_out = true;
        entry.duration = command.waited;
        ++summary_.timed_out;
        Refuse(ShownCommand(command.argv), status);
      } else if (!status.ok()) {
        Refuse(ShownCommand(command.argv), status);
        continue;
      } else {
        GALEN_RETURN_IF_ERROR(Output(view, *command.result, number, entry));
      }
      entries.push_back(std::move(entry));
    }
    if (entries.empty()) return absl::OkStatus();
    return writer_.Write(absl::StrCat(Directory(view), "/commands.yaml"), FormatCommands(entries));
  }

  absl::Status Output(View view, const CommandResult& result, std::size_t number,
                      CapturedCommand& entry) {
    entry.exit_code = result.exit_code;
    entry.duration = result.duration;
    entry.stdout_file = absl::StrFormat("c/%03d.txt", number);
    entry.stderr_file = absl::StrFormat("c/%03d.err", number);
    ++summary_.commands;
    if (result.truncated) {
      Refuse(ShownCommand(entry.argv), absl::OutOfRangeError("the output was cut, it is too long"));
    }
    const std::string directory = Directory(view);
    GALEN_RETURN_IF_ERROR(WriteClean(absl::StrCat(directory, "/", entry.stdout_file), result.out));
    return WriteClean(absl::StrCat(directory, "/", entry.stderr_file), result.err);
  }

  absl::Status Files(View view) {
    std::set<std::string> absent;
    std::map<std::string, const absl::StatusOr<std::string>*> contents;
    for (const Entry& entry : files_) {
      if (entry.view != view) continue;
      const absl::Status& status = entry.paths.status();
      for (std::size_t i = 0; status.ok() && i < entry.contents.size(); ++i) {
        contents.emplace((*entry.paths)[i], &entry.contents[i]);
      }
      if (absl::IsNotFound(status)) {
        if (!entry.absent.empty()) absent.insert(entry.absent);
      } else if (!status.ok() && (!absl::IsUnavailable(status) || view == View::kHost)) {
        Refuse(entry.glob, status);
      }
    }
    const std::string rootfs = absl::StrCat(Directory(view), "/rootfs");
    for (const auto& [path, content] : contents) {
      const absl::Status& status = content->status();
      if (status.ok()) {
        const absl::Status written = WriteClean(absl::StrCat(rootfs, path), **content);
        if (absl::IsInvalidArgument(written)) {
          Refuse(path, NoNameForAFile());
          continue;
        }
        GALEN_RETURN_IF_ERROR(written);
        ++summary_.files;
      } else if (absl::IsNotFound(status)) {
        absent.insert(path);
      } else if (!absl::IsFailedPrecondition(status)) {
        // Directories and devices that match a pattern are not files, so nothing is lost.
        Refuse(path, status);
      }
    }
    if (absent.empty()) return absl::OkStatus();
    return writer_.Write(absl::StrCat(rootfs, "/.absent"),
                         absl::StrCat(absl::StrJoin(absent, "\n"), "\n"));
  }

  // For a pattern without a match: the path itself, or the directory before its first wildcard if
  // that is missing; otherwise empty.
  std::string AbsentPath(const Entry& entry) const {
    const std::size_t wildcard = entry.glob.find_first_of("*?[");
    if (wildcard == std::string::npos) return entry.glob;
    const std::string directory = entry.glob.substr(0, entry.glob.rfind('/', wildcard));
    if (directory.empty() || SteadyNow() >= options_.begin_by) return "";
    return absl::IsNotFound(host_.Glob(directory, entry.view).status()) ? directory : "";
  }

  absl::Status Environment() {
    if (!environment_.ok()) {
      Refuse("environment of the job", environment_.status());
      return absl::OkStatus();
    }
    const std::string path = absl::StrCat(Directory(View::kJob), "/env.yaml");
    std::map<std::string, int> counts;
    for (auto& [name, value] : *environment_) {
      if (plan_.redactor.IsSecret(name, value)) {
        value = std::string(kRedacted);
        summary_.redacted.push_back(absl::StrCat(path, ": ", CleanText(name, 128)));
      } else {
        value = Clean(value, counts);
      }
    }
    if (!counts.empty()) summary_.redacted.push_back(absl::StrCat(path, ": ", ShownCounts(counts)));
    return writer_.Write(path, FormatEnvironment(*environment_));
  }

  // Masks the customer's texts, which may quote a command line or a path like a log.
  void CleanWords(v1::Incident& incident) {
    std::map<std::string, int> counts;
    const auto clean = [&](std::string* text) { *text = Clean(*text, counts); };
    const auto clean_all = [&](google::protobuf::Map<std::string, std::string>* attributes) {
      for (auto& [name, value] : *attributes) {
        const bool secret = plan_.redactor.IsSecret(name, value);
        if (secret) ++counts["secret attribute"];
        value = secret ? std::string(kRedacted) : Clean(value, counts);
      }
    };
    clean(incident.mutable_description());
    if (incident.has_workload()) {
      clean(incident.mutable_workload()->mutable_name());
      clean(incident.mutable_workload()->mutable_image());
      clean_all(incident.mutable_workload()->mutable_attributes());
    }
    if (incident.has_environment()) {
      clean_all(incident.mutable_environment()->mutable_attributes());
    }
    if (!counts.empty()) {
      summary_.redacted.push_back(absl::StrCat("incident.yaml: ", ShownCounts(counts)));
    }
  }

  absl::Status Incident() {
    v1::Incident incident = options_.incident;
    incident.clear_bundle();
    incident.clear_logs();
    incident.clear_nodes();
    incident.add_nodes(host_.name());
    CleanWords(incident);
    std::set<std::string> names;
    for (const CaptureOptions::Log& log : options_.logs) {
      std::map<std::string, int> counts;
      // A file name must not have brackets, so they are removed from the mask.
      const std::string name = absl::StrReplaceAll(
          Clean(log.path.substr(log.path.rfind('/') + 1), counts), {{kRedacted, "redacted"}});
      if (name.empty() || name.front() == '.' || !IsUtf8(name) || !names.insert(name).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(CleanText(log.path, 256),
                         ": names no log or one that is there already; rename the file"));
      }
      const std::string path = absl::StrCat("logs/", name);
      const absl::Status copied = writer_.Copy(
          log.path, path, [&](absl::string_view block) { return Clean(block, counts); });
      if (absl::IsInvalidArgument(copied)) {
        Refuse(path, NoNameForAFile());
        continue;
      }
      GALEN_RETURN_IF_ERROR(copied);
      if (!counts.empty()) {
        summary_.redacted.push_back(absl::StrCat(path, ": ", ShownCounts(counts)));
      }
      v1::LogSource& source = *incident.add_logs();
      source.set_path(name);
      source.set_node(log.details.node);
      source.set_kind(log.details.kind);
      if (log.details.rank.has_value()) source.set_rank(*log.details.rank);
    }
    return writer_.Write("incident.yaml", FormatIncident(incident));
  }

  const Host& host_;
  const CapturePlan& plan_;
  const CaptureOptions& options_;
  const BundleWriter& writer_;
  const Placeholders values_;
  std::vector<Entry> commands_;
  std::vector<Entry> files_;
  absl::StatusOr<std::map<std::string, std::string>> environment_ = NotBegun();
  CaptureSummary summary_;
};

}  // namespace

absl::StatusOr<CaptureSummary> Capture(const Host& host, const CapturePlan& plan,
                                       const CaptureOptions& options) {
  if (!IsNodeName(host.name())) {
    return absl::InvalidArgumentError(absl::StrCat("host \"", CleanText(host.name(), 64),
                                                   "\": is not a valid host name; give another"));
  }
  GALEN_ASSIGN_OR_RETURN(const BundleWriter writer, BundleWriter::Create(options.directory));
  return Capturer(host, plan, options, writer).Run();
}

}  // namespace galen::host
