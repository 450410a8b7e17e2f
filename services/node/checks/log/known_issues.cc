#include "services/node/checks/log/known_issues.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/job/libraries.h"
#include "services/node/checks/job/versions.h"
#include "services/node/checks/patterns.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/version_order.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxChanges = 10'000;

// Every release that is known of the node and its job, by the name that the catalogue uses.
std::map<std::string, std::string> Releases(const host::Host& host) {
  std::map<std::string, std::string> releases;
  const auto set = [&](const std::string& name, std::string version) {
    if (!version.empty()) releases.emplace(name, std::move(version));
  };
  if (const auto pip =
          Output(host, {"python3", "-m", "pip", "list", "--format=json"}, host::View::kJob);
      pip.ok()) {
    for (auto& [name, version] : ParsePipList(*pip)) {
      std::string lower = absl::AsciiStrToLower(name);
      // "nvidia-nccl-cu12" is the library nccl.
      for (const char* library : {"nccl", "cudnn", "cublas"}) {
        if (absl::StartsWith(lower, absl::StrCat("nvidia-", library, "-"))) set(library, version);
      }
      set(lower, version);
    }
  }
  if (const auto text =
          Output(host, {"python3", "-m", "torch.utils.collect_env"}, host::View::kJob);
      text.ok()) {
    const auto values = ParseCollectEnv(*text);
    const auto take = [&](const char* name, const char* key) {
      if (const auto found = values.find(key); found != values.end()) set(name, found->second);
    };
    take("torch", "PyTorch version");
    take("cuda", "CUDA used to build PyTorch");
    take("rocm", "ROCM used to build PyTorch");
  }
  if (const auto text = host.ReadFile("/proc/driver/nvidia/version"); text.ok()) {
    set("nvidia-driver", KernelModuleVersion(*text));
  }
  set("nvidia-driver", FirstLine(host, "/sys/module/nvidia/version").value_or(""));
  set("rocm", FirstLine(host, "/opt/rocm/.info/version").value_or(""));
  if (const auto version = FirstLine(host, "/proc/version"); version.ok()) {
    const std::vector<absl::string_view> words = Words(*version);
    if (words.size() > 2) set("kernel", std::string(words[2]));
  }
  return releases;
}

bool HasReleases(const KnownIssue& issue, const std::map<std::string, std::string>& releases) {
  return std::all_of(issue.versions.begin(), issue.versions.end(), [&](const auto& wanted) {
    const auto known = releases.find(wanted.first);
    return known != releases.end() && InVersionRange(known->second, wanted.second);
  });
}

}  // namespace

absl::StatusOr<KnownIssue> ParseKnownIssue(absl::string_view name,
                                           const std::vector<std::string>& texts) {
  KnownIssue issue;
  issue.name = std::string(name);
  for (const std::string& text : texts) {
    // "nccl>=2.19,<2.20": the operator belongs to the range.
    const std::size_t end = text.find_first_of("<>=!");
    if (end == std::string::npos || end == 0) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": \"", text, "\" is not key=value"));
    }
    const std::string key = text.substr(0, end);
    if (key == "log") {
      issue.log = text.substr(end + 1);
    } else {
      issue.versions[key] = text.substr(end);
    }
  }
  if (issue.versions.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": names no release"));
  }
  return issue;
}

namespace {

std::vector<std::string> WantedForIssues(const knowledge::Knowledge& knowledge) {
  std::vector<std::string> wanted = {"CCL version"};
  const knowledge::v1::Check* spec = knowledge.FindCheck("framework.known_issues");
  if (spec == nullptr) return wanted;
  for (const knowledge::v1::CheckDatum& datum : spec->data()) {
    if (datum.texts().empty()) continue;
    const auto issue = ParseKnownIssue(datum.name(), {datum.texts().begin(), datum.texts().end()});
    if (issue.ok() && !issue->log.empty()) wanted.push_back(issue->log);
  }
  return wanted;
}

}  // namespace

const LogWant kKnownIssuesWant = {.name = "known issues", .expressions = WantedForIssues};

const LogWant kChangesWant = {
    .name = "changes", .expressions = [](const knowledge::Knowledge& knowledge) {
      return TextsOf(PatternsOf(knowledge, "history.changes", "daemon-reload"));
    }};

absl::StatusOr<CheckOutput> CheckKnownIssues(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const knowledge::v1::Check* spec = context.knowledge.FindCheck("framework.known_issues");
  if (spec == nullptr) return absl::InternalError("framework.known_issues is not declared");
  std::map<std::string, std::string> releases = Releases(host);
  static const RE2 nccl(R"(\bNCCL version:? ?(\d[\w.+-]*))");
  static const RE2 rccl(R"(\bRCCL version:? ?(\d[\w.+-]*))");
  struct Candidate {
    KnownIssue issue;
    std::shared_ptr<const RE2> log;
    std::string seen;
    std::string reference;
  };
  std::vector<Candidate> candidates;
  for (const knowledge::v1::CheckDatum& datum : spec->data()) {
    if (datum.texts().empty()) continue;
    GALEN_ASSIGN_OR_RETURN(KnownIssue issue, ParseKnownIssue(datum.name(), {datum.texts().begin(),
                                                                            datum.texts().end()}));
    Candidate candidate;
    if (!issue.log.empty()) candidate.log = CompiledPattern(issue.log);
    candidate.issue = std::move(issue);
    candidate.reference = datum.reference();
    candidates.push_back(std::move(candidate));
  }
  const auto look = [&](absl::string_view text) {
    const re2::StringPiece piece = Piece(text);
    std::string version;
    // The log's version is the one that runs; it overrides the installed one.
    if (absl::StrContains(text, "CCL version")) {
      if (RE2::PartialMatch(piece, nccl, &version)) releases["nccl"] = version;
      if (RE2::PartialMatch(piece, rccl, &version)) releases["rccl"] = version;
    }
    for (Candidate& candidate : candidates) {
      if (candidate.log == nullptr || !candidate.log->ok() || !candidate.seen.empty()) continue;
      if (RE2::PartialMatch(piece, *candidate.log)) candidate.seen = CleanText(text, 200);
    }
  };
  const auto lines = ForEachWantedLine(context, LogsOf::kThisNode, kKnownIssuesWant,
                                       [&](const LogLine& line) { look(line.text); });
  if (const auto kernel = Output(host, {"dmesg", "--time-format", "iso"}); kernel.ok()) {
    for (const absl::string_view line : Lines(*kernel)) look(line);
  }
  if (releases.empty()) {
    return lines.ok() ? absl::UnavailableError("no release of any package is known")
                      : lines.status();
  }
  CheckOutput output;
  std::vector<std::string> matches;
  for (const Candidate& candidate : candidates) {
    if (!HasReleases(candidate.issue, releases)) continue;
    if (candidate.log != nullptr && candidate.seen.empty()) continue;
    matches.push_back(candidate.issue.name);
    absl::StrAppend(&output.excerpt, candidate.issue.name, " (", candidate.reference, ") ",
                    candidate.seen, "\n");
    for (const auto& [package, range] : candidate.issue.versions) {
      output.findings.push_back(
          TextFinding("match", node, absl::StrCat("package:", package), candidate.issue.name));
    }
  }
  if (matches.empty()) output.findings.push_back(TextFinding("match", node, "", "none"));
  output.message = matches.empty()
                       ? absl::StrCat("none of ", candidates.size(), " known defects fits the ",
                                      releases.size(), " releases that are known")
                       : absl::StrCat("known defects: ", absl::StrJoin(matches, ", "));
  return output;
}

std::vector<PackageChange> ParseAptHistory(absl::string_view text) {
  std::vector<PackageChange> changes;
  std::optional<absl::Time> time;
  for (const absl::string_view line : Lines(text)) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "Start-Date:")) {
      const std::vector<absl::string_view> words = Words(rest);
      absl::Time parsed;
      std::string error;
      time.reset();
      if (words.size() >= 2 &&
          absl::ParseTime("%Y-%m-%d %H:%M:%S", absl::StrCat(words[0], " ", words[1]), &parsed,
                          &error)) {
        time = parsed;
      }
      continue;
    }
    for (const char* action : {"Install", "Upgrade", "Remove", "Purge", "Downgrade", "Reinstall"}) {
      rest = line;
      if (!absl::ConsumePrefix(&rest, absl::StrCat(action, ":"))) continue;
      if (changes.size() >= kMaxChanges) return changes;
      PackageChange change;
      change.time = time;
      change.action = action;
      // "name:amd64 (1.0, 1.1), other:amd64 (2.0)"
      static const RE2 package(R"(([a-z0-9][a-z0-9.+-]*)(?::[a-z0-9]+)? \([^)]*\))");
      re2::StringPiece list = Piece(rest);
      std::string name;
      while (change.packages.size() < kMaxChanges && RE2::FindAndConsume(&list, package, &name)) {
        change.packages.push_back(name);
      }
      changes.push_back(std::move(change));
    }
  }
  return changes;
}

absl::StatusOr<CheckOutput> CheckChanges(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "history.changes"));
  GALEN_ASSIGN_OR_RETURN(const double hours, data.Number("hours_before"));
  const auto components = data.Patterns();
  const auto history = host.ReadFile("/var/log/apt/history.log");
  // The incident began, or else the machine was last started: what came before is old.
  const bool known_start = context.window_start != absl::InfinitePast();
  std::map<std::string, std::optional<double>> changed;
  CheckOutput output;
  if (history.ok()) {
    const std::vector<PackageChange> changes = ParseAptHistory(*history);
    absl::Time latest = absl::InfinitePast();
    for (const PackageChange& change : changes) {
      if (change.time.has_value()) latest = std::max(latest, *change.time);
    }
    for (const PackageChange& change : changes) {
      if (!change.time.has_value()) continue;
      const absl::Duration before = (known_start ? context.window_start : latest) - *change.time;
      if (before < absl::ZeroDuration() || before > absl::Hours(hours)) continue;
      for (const std::string& package : change.packages) {
        const std::string component = CheckData::FirstMatch(components, package);
        if (component.empty()) continue;
        std::optional<double> since;
        if (known_start) since = absl::ToDoubleHours(before);
        const auto [entry, added] = changed.emplace(component, since);
        if (!added && since.has_value() && entry->second.has_value()) {
          entry->second = std::min(*entry->second, *since);
        }
        if (output.excerpt.size() < 2048) {
          absl::StrAppend(&output.excerpt, change.action, " ", package, "\n");
        }
      }
    }
  }
  // The actions of systemd in the window are changes as well.
  const auto said = data.Patterns("daemon-reload");
  const auto lines =
      ForEachWantedLine(context, LogsOf::kThisNode, kChangesWant, [&](const LogLine& line) {
        if (CheckData::FirstMatch(said, line.text).empty()) return;
        if (changed.emplace("daemon-reload", std::nullopt).second) {
          absl::StrAppend(&output.excerpt, CleanText(line.text, 300), "\n");
        }
      });
  static_cast<void>(lines);
  if (!history.ok() && changed.empty()) return history.status();
  if (changed.empty()) {
    output.findings = {TextFinding("changed_component", node, "", "none"),
                       UnknownFinding("changed_hours_before", node, "")};
    output.message =
        absl::StrCat("no component of the platform changed in the ", hours, " hours before");
    return output;
  }
  std::vector<std::string> names;
  for (const auto& [component, since] : changed) {
    names.push_back(component);
    output.findings.push_back(TextFinding("changed_component", node, "", component));
    output.findings.push_back(since.has_value()
                                  ? FloatFinding("changed_hours_before", node, "", *since)
                                  : UnknownFinding("changed_hours_before", node, ""));
  }
  output.message = absl::StrCat("changed", known_start ? " before the incident" : " last", ": ",
                                absl::StrJoin(names, ", "));
  return output;
}

}  // namespace galen::node
