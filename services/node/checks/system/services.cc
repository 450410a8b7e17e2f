#include "services/node/checks/system/services.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/flag.h"
#include "services/node/checks/system/kernel_line.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

bool Installed(const Unit& unit) { return unit.load == "loaded" || unit.load == "masked"; }

std::string Packages(const host::Host& host) {
  if (auto text = Output(host, {"dpkg-query", "-W"}); text.ok()) return *std::move(text);
  return Output(host, {"rpm", "-qa"}).value_or("");
}

// Whether the GPUs of the machine have switches that are not devices on the PCI bus.
bool HidesSwitches(const CheckData& data, absl::string_view lspci) {
  return absl::c_any_of(data.Texts("switches_off_the_bus"), [&](const std::string& gpu) {
    return absl::StrContains(lspci, absl::StrCat("[", gpu, "]"));
  });
}

// Whether the machine has GPUs, and no model of them comes on a board with NVSwitches.
bool HasOnlyGpusWithoutSwitches(const host::Host& host, const CheckData& data) {
  const auto state = QueryNvidia(host);
  if (!state.ok() || state->gpus.empty()) return false;
  const std::vector<CheckData::Pattern> without = data.Patterns("models_without_nvswitch");
  return absl::c_all_of(state->gpus, [&](const Gpu& gpu) {
    return !CheckData::FirstMatch(without, gpu.product).empty();
  });
}

// A machine needs a fabric manager when it has NVSwitches; nothing when that is not known.
std::optional<bool> HasNvSwitch(const host::Host& host, const CheckData& data) {
  if (const auto text = Output(host, {"lspci", "-vvv", "-nn"}); text.ok()) {
    if (absl::StrContains(*text, "[0680]: NVIDIA")) return true;
    if (!HidesSwitches(data, *text)) return false;
    // The switches of a virtual machine's GPUs may be its host's to set up.
    const auto cpu = Output(host, {"lscpu"});
    if (cpu.ok() && !absl::StrContains(*cpu, "Hypervisor vendor:")) return true;
    return std::nullopt;
  }
  if (const auto nodes = host.Glob("/proc/driver/nvidia-nvswitch/devices/*"); nodes.ok()) {
    return true;
  }
  const auto log = Output(host, {"dmesg", "--time-format", "iso"});
  if (log.ok() && absl::StrContains(*log, "nvidia-nvswitch0: ")) return true;
  return std::nullopt;
}

struct Journal {
  // False: journalctl shows nothing, as it does to one who may not read the journal.
  bool any = false;
  std::vector<std::string> errors;  // of the service's present run, the first ones
  std::optional<absl::Time> last_start;
  std::optional<bool> active;  // by systemd's last word on the unit
};

Journal ReadJournal(absl::string_view text) {
  Journal journal;
  bool starting = false;
  for (const absl::string_view line : Lines(text)) {
    // "-- No entries --", "-- Logs begin at ... --", "-- Boot ... --": its own remarks.
    if (absl::StripAsciiWhitespace(line).empty() || absl::StartsWith(line, "-- ")) continue;
    journal.any = true;
    const KernelLine parsed = ParseKernelLine(line);
    // systemd's own message: the complaints of an earlier run are fixed, or will be logged again.
    if (absl::StrContains(line, "systemd[") && absl::StrContains(line, "abric")) {
      if (absl::StrContains(line, ": Starting ")) {
        journal.errors.clear();
        starting = true;
      } else if (absl::StrContains(line, ": Started ")) {
        if (!std::exchange(starting, false)) journal.errors.clear();
        journal.last_start = parsed.time;
        journal.active = true;
      } else if (absl::StrContains(line, ": Stopped ") ||
                 absl::StrContains(line, ": Failed to start ") ||
                 absl::StrContains(line, ": Failed with result ") ||
                 absl::StrContains(line, ": Main process exited")) {
        journal.active = false;
      }
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

// Whether the NVLink fabric of the GPUs spans machines; nothing where no GPU says.
std::optional<bool> FabricSpansMachines(const host::Host& host) {
  const auto state = QueryNvidia(host);
  if (!state.ok()) return std::nullopt;
  bool known = true;
  for (const Gpu& gpu : state->gpus) {
    if (gpu.fabric.spans_machines.value_or(false)) return true;
    known = known && (gpu.fabric.state.empty() || gpu.fabric.spans_machines.has_value());
  }
  return known ? std::optional<bool>(false) : std::nullopt;
}

// Nothing: that could not be read.
std::optional<bool> ImexChannelPresent(const host::Host& host) {
  const auto listing = Output(host, {"ls", "-l", "/dev/nvidia-caps-imex-channels"});
  if (listing.ok()) return absl::StrContains(*listing, "channel");
  const bool absent = IsAbsent(listing.status()) ||
                      listing.status().code() == absl::StatusCode::kFailedPrecondition;
  return absent ? std::optional<bool>(false) : std::nullopt;
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

std::string PackageVersion(absl::string_view packages, absl::string_view stem,
                           absl::string_view wanted) {
  const std::string name = RE2::QuoteMeta(re2::StringPiece(stem.data(), stem.size()));
  const RE2 pattern(
      absl::StrCat("^", name, R"((?:-\d+)?(?::\w+)?(?:\s+(?:\d+:)?|-)(\d{3}\.\d+(?:\.\d+)?))"));
  std::string first;
  for (const absl::string_view line : Lines(packages)) {
    std::string version;
    if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), pattern, &version)) continue;
    if (version == wanted) return version;
    if (first.empty()) first = std::move(version);
  }
  return first;
}

bool UsesImex(const host::Host& host) {
  const std::optional<bool> spans = FabricSpansMachines(host);
  if (spans.value_or(false)) return true;
  const auto units = ReadUnits(host);
  if (!units.ok()) return false;
  const auto unit = units->find("nvidia-imex");
  // Images contain the package; if a user set the service up, it runs or tried to.
  if (unit == units->end() || unit->second.load != "loaded") return false;
  if (unit->second.active == "active") return true;
  return unit->second.active != "inactive" && !spans.has_value();
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
  const auto text = Output(host, {"journalctl", "-u", "nvidia-fabricmanager", "-n", "200",
                                  "--no-pager", "-o", "short-iso"});
  const Journal journal = text.ok() ? ReadJournal(*text) : Journal();
  if (!units.ok() && !journal.any) return units.status();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "system.fabric_manager"));
  const std::string driver = FirstLine(host, "/sys/module/nvidia/version").value_or("");
  const std::string packages = Packages(host);
  std::string version = PackageVersion(packages, "nvidia-fabricmanager", driver);
  if (version.empty()) version = PackageVersion(packages, "nvidia-fabric-manager", driver);
  std::optional<bool> installed;
  std::optional<bool> active;
  std::string state;
  if (units.ok() && units->contains("nvidia-fabricmanager")) {
    const Unit& unit = units->at("nvidia-fabricmanager");
    if (!unit.load.empty()) installed = Installed(unit) || !version.empty();
    active = unit.active == "active";
    state = unit.active;
  } else {
    // Its journal is that of a unit that is there.
    if (!version.empty() || journal.any) installed = true;
    active = journal.active;
    state = "not running by its journal";
  }
  const bool no_model_has_switches = HasOnlyGpusWithoutSwitches(host, data);
  const std::optional<bool> needed =
      no_model_has_switches ? std::optional<bool>(false) : HasNvSwitch(host, data);
  if (needed.has_value() && !*needed && !installed.value_or(false)) {
    return absl::NotFoundError("the node has no NVSwitch, so it needs no fabric manager");
  }
  CheckOutput output;
  const bool known_need = needed.has_value() && *needed;
  // lspci without a switch proves nothing: it may show a part, or not name them.
  output.findings.push_back(known_need              ? TextFinding("nvswitch", node, "", "present")
                            : no_model_has_switches ? TextFinding("nvswitch", node, "", "none")
                                                    : UnknownFinding("nvswitch", node, ""));
  output.findings.push_back(known_need || installed.value_or(false)
                                ? FlagOrUnknown("installed", node, installed)
                                : UnknownFinding("installed", node, ""));
  // If nothing shows that the node has switches, an inactive service is not a fault.
  output.findings.push_back(known_need || active.value_or(false)
                                ? FlagOrUnknown("active", node, active)
                                : UnknownFinding("active", node, ""));
  output.findings.push_back(version.empty() ? UnknownFinding("version", node, "")
                                            : TextFinding("version", node, "", version));
  std::optional<bool> equal;
  if (!version.empty() && !driver.empty()) equal = version == driver;
  output.findings.push_back(FlagOrUnknown("version_equals_driver", node, equal));
  if (equal.has_value()) output.findings.back().set_expected("true");

  std::optional<bool> restarted;
  // The service ends with an error if there is nothing to manage.
  if (journal.any && !no_model_has_switches) {
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
  output.message = absl::StrCat(
      "the fabric manager is ",
      !installed.value_or(true) ? "not installed"
      : !active.has_value()     ? "in an unknown state"
      : *active                 ? "active"
                                : state,
      version.empty() ? "" : absl::StrCat(", version ", version),
      equal.value_or(true) ? "" : absl::StrCat(", the driver is ", driver),
      no_model_has_switches ? "; no GPU here comes with NVSwitches, so nothing needs it" : "",
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
  const bool used = UsesImex(host);
  CheckOutput output;
  // Every driver that knows IMEX registers the channels, and images bring its service: that they
  // are not there, or off, is a fault where something uses them.
  const auto flag = [&](absl::string_view name, std::optional<bool> value) {
    output.findings.push_back(used || value.value_or(false) ? FlagOrUnknown(name, node, value)
                                                            : UnknownFinding(name, node, ""));
  };
  flag("channel_present", ImexChannelPresent(host));
  std::optional<bool> active;
  if (it != units.end()) active = it->second.active == "active";
  flag("service_active", active);
  std::string state;
  if (const auto text = Output(host, {"nvidia-imex-ctl", "-N", "-j"}); text.ok()) {
    // The state of the domain; each node has a status of its own ("READY").
    state = CleanText(TextAt(ParseJson(*text), {"status"}), 32);
    output.excerpt = *text;
  }
  output.findings.push_back(state.empty() || !(used || state == "UP")
                                ? UnknownFinding("domain_state", node, "")
                                : TextFinding("domain_state", node, "", state));
  output.message = absl::StrCat(
      "IMEX service ", active.value_or(false) ? "active" : "not active",
      state.empty() ? "" : absl::StrCat(", domain ", state),
      used ? "" : "; no GPU's fabric is known to span machines, and the service is not set up");
  return output;
}

absl::StatusOr<CheckOutput> CheckImexChannel(const CheckContext& context) {
  const std::optional<bool> present = ImexChannelPresent(context.host);
  CheckOutput output;
  output.findings.push_back(FlagOrUnknown("present", context.host.name(), present));
  output.message = !present.has_value() ? "/dev/nvidia-caps-imex-channels cannot be read"
                   : *present           ? "an IMEX channel is there"
                                        : "no IMEX channel is there";
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
