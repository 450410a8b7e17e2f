#include "services/node/checks/system/kernel_log.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/cgroups.h"
#include "services/node/checks/system/device_names.h"

namespace galen::node {
namespace {

constexpr absl::Duration kMargin = absl::Minutes(10);

struct Family {
  EventFamily family;
  absl::string_view finding;
};
constexpr std::array<Family, 9> kFamilies = {{
    {EventFamily::KERNEL_XID, "xid"},
    {EventFamily::KERNEL_SXID, "sxid"},
    {EventFamily::KERNEL_AMDGPU, "amdgpu"},
    {EventFamily::KERNEL_AER, "aer"},
    {EventFamily::KERNEL_NVRM, "nvrm"},
    {EventFamily::KERNEL_NIC, "nic"},
    {EventFamily::KERNEL_IO_ERROR, "io_error"},
    {EventFamily::KERNEL_OOM_KILL, "oom_kill"},
    {EventFamily::KERNEL_LOCKUP, "lockup"},
}};

absl::string_view FindingOf(EventFamily family) {
  for (const Family& known : kFamilies) {
    if (known.family == family) return known.finding;
  }
  return "";
}

std::string DeviceOf(const KernelEvent& event, const std::map<std::string, std::string>& names) {
  switch (event.family) {
    case EventFamily::KERNEL_OOM_KILL:
      return absl::StrCat("process:", event.subject);
    case EventFamily::KERNEL_IO_ERROR:
      return absl::StrCat("disk:", event.subject);
    case EventFamily::KERNEL_SXID:
      return absl::StrCat("nvswitch:", absl::StripPrefix(event.subject, "nvidia-nvswitch"));
    case EventFamily::KERNEL_NIC: {
      const auto known = names.find(event.pci);
      if (known != names.end()) return known->second;
      if (!event.subject.empty()) return absl::StrCat("nic:", event.subject);
      return DeviceAt(names, event.pci);
    }
    default:
      return DeviceAt(names, event.pci);
  }
}

// A kill within a control group is the job's own when the limit is of one of its groups. If the log
// does not name the group, and the job's captured groups count no kill, it was of another group on
// the same node. On a live host only the group of one process is known: its count of 0 does not
// exclude the other ranks.
void NameOtherGroups(const host::Host& host, std::vector<KernelEvent>* events) {
  const std::vector<std::string> job = JobMemoryGroups(host);
  const bool none_counted = !host.live() && JobOomKills(host).value_or(1) == 0;
  for (KernelEvent& event : *events) {
    absl::string_view process = event.code;
    if (event.family != EventFamily::KERNEL_OOM_KILL || !absl::ConsumePrefix(&process, "memcg:")) {
      continue;
    }
    const bool named = !event.group.empty() && !job.empty();
    if (named ? !LimitsJob(event.group, job) : none_counted) {
      event.code = absl::StrCat("other_group:", process);
    }
  }
}

std::string Times(std::int64_t count) {
  return count == 1 ? std::string() : absl::StrCat(" (", count, " times)");
}

}  // namespace

std::optional<absl::Time> BootTime(const host::Host& host) {
  const auto stat = host.ReadFile("/proc/stat");
  if (!stat.ok()) return std::nullopt;
  for (const absl::string_view line : Lines(*stat)) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, "btime ")) continue;
    if (const auto seconds = LeadingInt(rest); seconds.has_value() && *seconds > 0) {
      return absl::FromUnixSeconds(*seconds);
    }
  }
  return std::nullopt;
}

std::optional<v1::Finding> KernelFinding(const KernelEvent& event, const std::string& node,
                                         const std::map<std::string, std::string>& names) {
  const absl::string_view name = FindingOf(event.family);
  if (name.empty()) return std::nullopt;
  v1::Finding finding = EventFinding(name, node, DeviceOf(event, names), ToLogEvent(event));
  finding.mutable_subject()->set_pci_address(event.pci);
  return finding;
}

absl::StatusOr<std::vector<KernelEvent>> KernelEvents(const CheckContext& context) {
  if (context.knowledge.base().kernel_lines().empty()) {
    return absl::FailedPreconditionError(
        "the knowledge says of no line of the kernel log what it means: knowledge/kernel is "
        "missing");
  }
  GALEN_ASSIGN_OR_RETURN(const std::string log,
                         Output(context.host, {"dmesg", "--time-format", "iso"}));
  KernelWindow window;
  window.from = context.window_start - kMargin;
  window.to = context.window_end + kMargin;
  window.boot = BootTime(context.host);
  return ScanKernelLog(log, *KernelPatterns::Of(context.knowledge), window);
}

v1::LogEvent ToLogEvent(const KernelEvent& event) {
  v1::LogEvent proto;
  proto.set_code(CleanText(event.code, 128));
  if (event.time.has_value()) *proto.mutable_time() = ToTimestamp(*event.time);
  proto.set_text(CleanText(event.text, 1024));
  proto.set_count(event.count);
  proto.set_order(event.order);
  return proto;
}

absl::StatusOr<CheckOutput> CheckKernelLog(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(std::vector<KernelEvent> events, KernelEvents(context));
  NameOtherGroups(context.host, &events);
  const std::string& node = context.host.name();
  const std::map<std::string, std::string> names = DeviceNames(context.host);
  CheckOutput output;
  const KernelEvent* first = nullptr;
  for (const Family& family : kFamilies) {
    bool any = false;
    for (const KernelEvent& event : events) {
      if (event.family != family.family) continue;
      any = true;
      const std::string device = DeviceOf(event, names);
      output.findings.push_back(*KernelFinding(event, node, names));
      if (event.platform && (first == nullptr || event.order < first->order)) first = &event;
      absl::StrAppend(&output.message, output.message.empty() ? "" : "; ", family.finding, " ",
                      event.code, device.empty() ? "" : " on ", device, Times(event.count));
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
    if (!any) output.findings.push_back(EventFinding(family.finding, node, "", v1::LogEvent()));
  }
  v1::LogEvent earliest;
  std::string device;
  if (first != nullptr) {
    earliest = ToLogEvent(*first);
    const absl::string_view prefix = first->family == EventFamily::KERNEL_XID ? "xid" : "";
    earliest.set_code(absl::StrCat(prefix, first->family == EventFamily::KERNEL_SXID ? "sxid_" : "",
                                   earliest.code()));
    device = DeviceOf(*first, names);
    absl::StrAppend(&output.message, "; the first sign of hardware is ", FindingOf(first->family),
                    " ", first->code);
  }
  v1::Finding finding = EventFinding("first_event", node, device, std::move(earliest));
  if (first != nullptr) finding.mutable_subject()->set_pci_address(first->pci);
  output.findings.push_back(std::move(finding));
  if (output.message.empty()) {
    output.message = "the kernel log holds no error of GPU, adapter, drive, bus or memory";
  }
  return output;
}

}  // namespace galen::node
