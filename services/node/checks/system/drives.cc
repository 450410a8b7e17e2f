#include "services/node/checks/system/drives.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

// Reports of smartctl: those that were captured; on a live host one of each disk.
std::vector<std::string> Reports(const host::Host& host, absl::Status* why) {
  std::vector<std::vector<std::string>> commands = host.Captured({"smartctl"});
  if (host.live()) {
    if (const auto disks = host.Glob("/sys/block/*"); disks.ok()) {
      for (const std::string& disk : *disks) {
        const absl::string_view name = BaseName(disk);
        // The others are made of these, or of nothing.
        if (!absl::StartsWith(name, "nvme") && !absl::StartsWith(name, "sd")) continue;
        // One path to a drive with several: it has no device node.
        if (FirstLine(host, absl::StrCat(disk, "/hidden")).value_or("0") != "0") continue;
        commands.push_back({"smartctl", "-a", "-j", absl::StrCat("/dev/", name)});
      }
    }
  }
  std::vector<std::string> reports;
  *why = absl::UnavailableError("no report of smartctl was captured");
  for (const std::vector<std::string>& command : commands) {
    // smartctl reports faults in bits of its exit code and prints its report all the same.
    auto text = Output(host, command);
    if (text.ok()) {
      reports.push_back(*std::move(text));
    } else {
      *why = text.status();
    }
  }
  return reports;
}

bool IsBlockDevice(absl::string_view source) {
  return absl::StartsWith(source, "/dev/") && !absl::StartsWith(source, "/dev/loop");
}

// Whether a driver other than that of the kernel's NVMe holds a function of the bus: one that is
// given to a virtual machine (vfio-pci) or to a program (uio) has no device by intent.
bool IsGivenAway(const host::Host& host, absl::string_view function) {
  const auto uevent = host.ReadFile(absl::StrCat(function, "/uevent"));
  if (!uevent.ok()) return false;
  for (absl::string_view line : Lines(*uevent)) {
    if (absl::ConsumePrefix(&line, "DRIVER=")) return line != "nvme";
  }
  return false;
}

// Whether a controller is one over a network, which no bus shows.
bool IsOverFabrics(const host::Host& host, absl::string_view controller) {
  const auto transport = FirstLine(host, absl::StrCat(controller, "/transport"));
  return transport.ok() && *transport != "pcie";
}

// NVMe controllers on the bus that made no device; nothing where either side is not known.
std::optional<std::int64_t> MissingControllers(const host::Host& host) {
  const auto classes = host.Glob("/sys/bus/pci/devices/*/class");
  if (!classes.ok()) return std::nullopt;
  std::int64_t on_bus = 0;
  for (const std::string& path : *classes) {
    const auto kind = FirstLine(host, path);
    if (!kind.ok() || !absl::StartsWith(*kind, "0x0108")) continue;
    if (!IsGivenAway(host, absl::StripSuffix(path, "/class"))) ++on_bus;
  }
  const auto made = host.Glob("/sys/class/nvme/nvme*");
  if (!made.ok() && !(IsAbsent(made.status()) && on_bus == 0)) return std::nullopt;
  std::int64_t count = 0;
  if (made.ok()) {
    for (const std::string& controller : *made) {
      count += IsOverFabrics(host, controller) ? 0 : 1;
    }
  }
  return std::max<std::int64_t>(0, on_bus - count);
}

}  // namespace

absl::StatusOr<CheckOutput> CheckDrives(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "system.drives"));
  CheckOutput output;
  std::vector<std::string> remarks;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };

  std::set<std::string> turned_read_only;
  const auto events = KernelEvents(context);
  std::map<std::string, std::int64_t> errors;
  std::int64_t gone = 0;
  if (events.ok()) {
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_IO_ERROR) continue;
      if (event.code == "remounted_read_only") turned_read_only.insert(event.subject);
      if (event.code == "nvme_down") ++gone;
      errors[event.subject] += event.count;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
    for (const auto& [subject, count] : errors) {
      add(IntFinding("io_errors", node, absl::StrCat("disk:", subject), count));
      remarks.push_back(absl::StrCat(subject, ": ", count, " I/O errors in the kernel log"));
    }
    if (errors.empty()) add(IntFinding("io_errors", node, "", 0));
  } else {
    add(UnknownFinding("io_errors", node, ""));
  }

  const auto mounts = host.ReadFile("/proc/mounts");
  if (mounts.ok()) {
    for (const absl::string_view line : Lines(*mounts)) {
      const std::vector<absl::string_view> words = Words(line);
      if (words.size() < 4 || !IsBlockDevice(words[0])) continue;
      const std::vector<absl::string_view> options = absl::StrSplit(words[3], ',');
      bool read_only = false;
      bool emergency = false;
      for (const absl::string_view option : options) {
        read_only = read_only || option == "ro";
        emergency = emergency || option == "emergency_ro" || option == "shutdown";
      }
      // An intended read-only mount is not a fault: the kernel must have logged that it gave up
      // writing.
      const bool told = turned_read_only.contains(std::string(BaseName(words[0])));
      const bool fault = emergency || (read_only && told);
      const std::string device = absl::StrCat("mount:", words[1]);
      if (read_only && !fault && !events.ok()) {
        add(UnknownFinding("read_only", node, device));
      } else {
        add(BoolFinding("read_only", node, device, fault));
      }
      if (fault) remarks.push_back(absl::StrCat(words[1], " became read-only"));
    }
  }

  std::optional<std::int64_t> missing = MissingControllers(host);
  // The bus shows the present state; a drive that the log reports may be back.
  if (!missing.has_value() && gone > 0) missing = gone;
  add(missing.has_value() ? IntFinding("drives_missing", node, "", *missing)
                          : UnknownFinding("drives_missing", node, ""));
  if (missing.value_or(0) > 0) remarks.push_back(absl::StrCat(*missing, " drives are missing"));

  absl::Status why;
  const auto not_opened = data.Patterns("not_opened");
  int answers = 0;
  int drives = 0;
  for (const std::string& report : Reports(host, &why)) {
    auto drive = ParseSmartctl(report);
    if (!drive.ok()) drive = ParseSmartctlText(report);
    if (!drive.ok()) continue;
    ++answers;
    const std::string device =
        drive->device.empty() ? std::string() : absl::StrCat("disk:", drive->device);
    // A device that smartctl cannot query may be sound: a volume of a RAID controller, a bridge.
    const std::size_t unasked = std::erase_if(drive->errors, [&](const std::string& error) {
      return !CheckData::FirstMatch(not_opened, error).empty();
    });
    if (unasked > 0 && FaultOf(*drive).empty()) {
      add(UnknownFinding("smart_fault", node, device));
      continue;
    }
    ++drives;
    add(drive->wear_pct.has_value() ? FloatFinding("wear_pct", node, device, *drive->wear_pct)
                                    : UnknownFinding("wear_pct", node, device));
    const std::string fault = FaultOf(*drive);
    add(TextFinding("smart_fault", node, device, fault.empty() ? "none" : fault));
    if (!fault.empty()) remarks.push_back(absl::StrCat(drive->device, ": ", fault));
  }
  if (answers == 0) add(UnknownFinding("smart_fault", node, ""));

  const auto mdstat = host.ReadFile("/proc/mdstat");
  if (mdstat.ok()) {
    std::int64_t degraded = 0;
    for (const MdArray& array : ParseMdstat(*mdstat)) {
      if (!IsDegraded(array)) continue;
      ++degraded;
      remarks.push_back(array.broken   ? absl::StrCat(array.name, " is broken")
                        : array.active ? absl::StrCat(array.name, " has ", array.present, " of ",
                                                      array.wanted, " members")
                                       : absl::StrCat(array.name, " is inactive"));
    }
    add(IntFinding("degraded_arrays", node, "", degraded));
  }
  if (!events.ok() && !mounts.ok() && answers == 0 && !mdstat.ok()) return why;
  output.message = remarks.empty()
                       ? absl::StrCat("nothing wrong with the drives",
                                      drives == 0 ? "" : absl::StrCat("; ", drives, " asked"))
                       : absl::StrJoin(remarks, "; ");
  return output;
}

}  // namespace galen::node
