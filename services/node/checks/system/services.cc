#include "services/node/checks/system/services.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/kernel_line.h"

namespace galen::node {
namespace {

bool Installed(const Unit& unit) { return unit.load == "loaded" || unit.load == "masked"; }

std::string Packages(const host::Host& host) {
  if (auto text = Output(host, {"dpkg-query", "-W"}); text.ok()) return *std::move(text);
  return Output(host, {"rpm", "-qa"}).value_or("");
}

v1::Finding FlagOrUnknown(absl::string_view name, const std::string& node,
                          std::optional<bool> value) {
  return value.has_value() ? BoolFinding(name, node, "", *value) : UnknownFinding(name, node, "");
}

// A machine needs a fabric manager when it has NVSwitches; nothing when the bus is not known.
std::optional<bool> HasNvSwitch(const host::Host& host) {
  if (const auto text = Output(host, {"lspci", "-vvv", "-nn"}); text.ok()) {
    return absl::StrContains(*text, "[0680]: NVIDIA");
  }
  if (const auto nodes = host.Glob("/proc/driver/nvidia-nvswitch/devices/*"); nodes.ok()) {
    return true;
  }
  const auto log = Output(host, {"dmesg", "--time-format", "iso"});
  if (log.ok() && absl::StrContains(*log, "nvidia-nvswitch0: ")) return true;
  return std::nullopt;
}

struct Journal {
  std::vector<std::string> errors;
  int starts = 0;
  std::optional<absl::Time> last_start;
};

Journal ReadJournal(absl::string_view text) {
  Journal journal;
  for (const absl::string_view line : Lines(text)) {
    const KernelLine parsed = ParseKernelLine(line);
    if (absl::StrContains(line, "Started") && absl::StrContains(line, "abric")) {
      ++journal.starts;
      journal.last_start = parsed.time;
    }
    const std::string lower = absl::AsciiStrToLower(parsed.message);
    // systemd notes this of every daemon that forks before it has written its PID file.
    if (absl::StrContains(lower, "pid file")) continue;
    if (absl::StrContains(lower, "error") || absl::StrContains(lower, "don't match") ||
        absl::StrContains(lower, "fail") || absl::StrContains(lower, "abort")) {
      if (journal.errors.size() < 8) journal.errors.push_back(CleanText(parsed.message, 300));
    }
  }
  return journal;
}

std::optional<absl::Time> BootTime(const host::Host& host) {
  const auto text = host.ReadFile("/proc/stat");
  if (!text.ok()) return std::nullopt;
  for (absl::string_view line : Lines(*text)) {
    if (!absl::ConsumePrefix(&line, "btime ")) continue;
    if (const auto seconds = LeadingInt(line)) return absl::FromUnixSeconds(*seconds);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::map<std::string, Unit>> ReadUnits(const host::Host& host) {
  GALEN_ASSIGN_OR_RETURN(
      const std::string text,
      Output(host,
             {"systemctl", "show", "-p", "Id,LoadState,ActiveState,SubState,Result,ExecMainStatus",
              "nvidia-fabricmanager", "nvidia-persistenced", "nvidia-imex", "nvidia-mps", "opensm",
              "opensmd", "firewalld", "ufw", "chronyd", "systemd-timesyncd", "kubelet",
              "containerd", "docker", "slurmd"}));
  return ParseUnits(text);
}

std::map<std::string, Unit> ParseUnits(absl::string_view text) {
  std::map<std::string, Unit> units;
  std::string name;
  Unit unit;
  const auto flush = [&] {
    if (!name.empty()) units[name] = unit;
    name.clear();
    unit = Unit();
  };
  for (const absl::string_view line : Lines(text)) {
    if (absl::StripAsciiWhitespace(line).empty()) {
      flush();
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (field.first == "Id") name = std::string(absl::StripSuffix(field.second, ".service"));
    if (field.first == "LoadState") unit.load = std::string(field.second);
    if (field.first == "ActiveState") unit.active = std::string(field.second);
    if (field.first == "Result") unit.result = std::string(field.second);
  }
  flush();
  return units;
}

std::string PackageVersion(absl::string_view packages, absl::string_view stem) {
  const std::string name = RE2::QuoteMeta(re2::StringPiece(stem.data(), stem.size()));
  const RE2 pattern(
      absl::StrCat("^", name, R"((?:-\d+)?(?::\w+)?(?:\s+(?:\d+:)?|-)(\d{3}\.\d+(?:\.\d+)?))"));
  std::string version;
  for (const absl::string_view line : Lines(packages)) {
    if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern, &version)) {
      return version;
    }
  }
  return "";
}

absl::StatusOr<CheckOutput> CheckServices(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const auto units, ReadUnits(context.host));
  const std::string& node = context.host.name();
  std::vector<std::string> inactive;
  std::vector<std::string> failed;
  for (const auto& [name, unit] : units) {
    if (!Installed(unit)) continue;
    if (unit.active == "failed") failed.push_back(name);
    // Those by which an orchestrator reaches the node; the others are a site's choice.
    const bool agent = name == "kubelet" || name == "slurmd" || name == "containerd";
    if (agent && unit.active != "active" && unit.load == "loaded") inactive.push_back(name);
  }
  CheckOutput output;
  const auto list = [&](absl::string_view name, const std::vector<std::string>& found) {
    output.findings.push_back(
        TextFinding(name, node, "", found.empty() ? "none" : absl::StrJoin(found, ",")));
  };
  list("inactive_required", inactive);
  list("failed", failed);
  output.message =
      inactive.empty() && failed.empty()
          ? "all services of the node that are installed run"
          : absl::StrCat("not running: ", inactive.empty() ? "none" : absl::StrJoin(inactive, ", "),
                         "; failed: ", failed.empty() ? "none" : absl::StrJoin(failed, ", "));
  return output;
}

absl::StatusOr<CheckOutput> CheckFabricManager(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto units = ReadUnits(host);
  if (!units.ok()) return units.status();
  const std::string packages = Packages(host);
  std::string version = PackageVersion(packages, "nvidia-fabricmanager");
  if (version.empty()) version = PackageVersion(packages, "nvidia-fabric-manager");
  const auto it = units->find("nvidia-fabricmanager");
  std::optional<bool> installed;
  std::optional<bool> active;
  if (it != units->end()) {
    installed = Installed(it->second) || !version.empty();
    active = it->second.active == "active";
  } else if (!version.empty()) {
    installed = true;
  }
  const std::optional<bool> needed = HasNvSwitch(host);
  if (needed.has_value() && !*needed && !installed.value_or(false)) {
    return absl::NotFoundError("the node has no NVSwitch, so it needs no fabric manager");
  }
  const std::string driver = FirstLine(host, "/sys/module/nvidia/version").value_or("");
  CheckOutput output;
  const bool known_need = needed.has_value() && *needed;
  output.findings.push_back(known_need || installed.value_or(false)
                                ? FlagOrUnknown("installed", node, installed)
                                : UnknownFinding("installed", node, ""));
  // Where nothing says that the node has switches, that the service is off is no fault.
  output.findings.push_back(known_need || active.value_or(false)
                                ? FlagOrUnknown("active", node, active)
                                : UnknownFinding("active", node, ""));
  output.findings.push_back(version.empty() ? UnknownFinding("version", node, "")
                                            : TextFinding("version", node, "", version));
  std::optional<bool> equal;
  if (!version.empty() && !driver.empty()) equal = version == driver;
  output.findings.push_back(FlagOrUnknown("version_equals_driver", node, equal));
  if (equal.has_value()) output.findings.back().set_expected("true");

  const auto text = Output(host, {"journalctl", "-u", "nvidia-fabricmanager", "-n", "200",
                                  "--no-pager", "-o", "short-iso"});
  std::optional<bool> restarted;
  if (text.ok()) {
    const Journal journal = ReadJournal(*text);
    const std::optional<absl::Time> boot = BootTime(host);
    if (journal.last_start.has_value() && boot.has_value()) {
      // A service that starts with the machine is up within minutes.
      restarted = *journal.last_start - *boot > absl::Minutes(30);
    }
    output.findings.push_back(FlagOrUnknown("restarted_after_boot", node, restarted));
    output.findings.push_back(TextFinding(
        "journal_errors", node, "",
        journal.errors.empty() ? "none" : CleanText(absl::StrJoin(journal.errors, "; "), 1024)));
    output.excerpt = absl::StrJoin(journal.errors, "\n");
  } else {
    output.findings.push_back(UnknownFinding("restarted_after_boot", node, ""));
    output.findings.push_back(UnknownFinding("journal_errors", node, ""));
  }
  output.message =
      absl::StrCat("the fabric manager is ",
                   !installed.value_or(true) ? "not installed"
                   : !active.has_value()     ? "in an unknown state"
                   : *active                 ? "active"
                                             : it->second.active,
                   version.empty() ? "" : absl::StrCat(", version ", version),
                   equal.value_or(true) ? "" : absl::StrCat(", the driver is ", driver),
                   restarted.value_or(false) ? ", started again long after boot" : "");
  return output;
}

absl::StatusOr<CheckOutput> CheckImex(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const auto units, ReadUnits(host));
  const auto it = units.find("nvidia-imex");
  const auto devices = host.ReadFile("/proc/devices");
  const bool channels = devices.ok() && absl::StrContains(*devices, "nvidia-caps-imex-channels");
  if (!channels && (it == units.end() || !Installed(it->second))) {
    return absl::NotFoundError("the node has no IMEX");
  }
  CheckOutput output;
  std::optional<bool> present;
  if (const auto listing = Output(host, {"ls", "-l", "/dev/nvidia-caps-imex-channels"});
      listing.ok()) {
    present = absl::StrContains(*listing, "channel");
  } else if (IsAbsent(listing.status()) ||
             listing.status().code() == absl::StatusCode::kFailedPrecondition) {
    present = false;
  }
  output.findings.push_back(FlagOrUnknown("channel_present", node, present));
  std::optional<bool> active;
  if (it != units.end()) active = it->second.active == "active";
  output.findings.push_back(FlagOrUnknown("service_active", node, active));
  static const RE2 status(R"re("(?:status|domainStatus|state)"\s*:\s*"([A-Z_]+)")re");
  std::string state;
  if (const auto text = Output(host, {"nvidia-imex-ctl", "-N", "-j"}); text.ok()) {
    RE2::PartialMatch(*text, status, &state);
    output.excerpt = *text;
  }
  output.findings.push_back(state.empty() ? UnknownFinding("domain_state", node, "")
                                          : TextFinding("domain_state", node, "", state));
  output.message = absl::StrCat("IMEX service ", active.value_or(false) ? "active" : "not active",
                                state.empty() ? "" : absl::StrCat(", domain ", state));
  return output;
}

absl::StatusOr<CheckOutput> CheckMps(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(
      const std::string processes,
      Output(host, {"ps", "-eo", "pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args"}));
  const bool running = absl::StrContains(processes, "nvidia-cuda-mps");
  CheckOutput output;
  output.findings = {BoolFinding("daemon_running", node, "", running)};
  std::optional<bool> visible;
  std::optional<bool> accessible;
  if (running) {
    const auto pipe =
        host.Run(std::vector<std::string>{"ls", "-l", "/tmp/nvidia-mps"}, host::View::kJob);
    if (pipe.ok()) {
      visible = !absl::StrContains(pipe->err, "No such file");
      accessible = pipe->exit_code == 0;
    }
  }
  output.findings.push_back(FlagOrUnknown("pipe_visible_in_job", node, visible));
  output.findings.push_back(FlagOrUnknown("pipe_accessible", node, accessible));
  output.message = running ? "an MPS daemon runs" : "no MPS daemon runs";
  return output;
}

absl::StatusOr<CheckOutput> CheckTimeSync(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto tracking = Output(host, {"chronyc", "-c", "tracking"});
  const auto status = Output(host, {"timedatectl", "show"});
  if (!tracking.ok() && !status.ok()) {
    return IsAbsent(tracking.status()) ? status.status() : tracking.status();
  }
  std::optional<double> offset;
  std::optional<bool> synchronized;
  if (tracking.ok()) {
    // Reference, name, stratum, time, offset now, last offset, ..., leap status.
    const std::vector<absl::string_view> fields =
        absl::StrSplit(absl::StripAsciiWhitespace(*tracking), ',');
    if (fields.size() >= 14) {
      if (const auto value = LeadingDouble(fields[4])) offset = std::abs(*value);
      synchronized = fields[13] == "Normal";
      // Unsynchronised, the offset against a source that is not there is nothing.
      if (!*synchronized && fields[0] == "00000000") offset = std::nullopt;
    }
  }
  if (status.ok() && !synchronized.has_value()) {
    if (absl::StrContains(*status, "NTPSynchronized=yes")) synchronized = true;
    if (absl::StrContains(*status, "NTPSynchronized=no")) synchronized = false;
  }
  CheckOutput output;
  output.findings.push_back(offset.has_value() ? FloatFinding("offset_s", node, "", *offset)
                                               : UnknownFinding("offset_s", node, ""));
  output.findings.push_back(FlagOrUnknown("synchronized", node, synchronized));
  output.message =
      absl::StrCat(!synchronized.has_value() ? "whether the clock is synchronised is not known"
                   : *synchronized           ? "the clock is synchronised"
                                             : "the clock is not synchronised",
                   offset.has_value() ? absl::StrCat(", ", *offset, " s off") : "");
  output.excerpt = absl::StrCat(tracking.ok() ? *tracking : "", status.ok() ? *status : "");
  return output;
}

}  // namespace galen::node
