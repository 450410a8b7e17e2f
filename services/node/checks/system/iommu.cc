#include "services/node/checks/system/iommu.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/flag.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

// A bridge with the buses below it.
struct Bridge {
  std::string address;
  int domain = 0;
  int first = 0;
  int last = -1;
  std::string control;  // its ACSCtl line
};

// Those whose buses hold a GPU or an adapter for RDMA, from `lspci -vvv -nn`: requests between two
// such devices pass through them. A bridge above a drive or a management chip does not matter.
std::vector<Bridge> BridgesAboveAccelerators(absl::string_view lspci) {
  static const RE2 header(R"(^(?:([0-9a-f]{4}):)?([0-9a-f]{2}):[0-9a-f]{2}\.[0-7] (.*))");
  static const RE2 endpoint(
      R"((?:3D controller|Processing accelerators|VGA compatible controller|Display controller).*\[(?:10de|1002):|(?:Infiniband|Ethernet) controller.*\[15b3:)");
  static const RE2 buses(
      R"(Bus: primary=[0-9a-f]+, secondary=([0-9a-f]+), subordinate=([0-9a-f]+))");
  std::vector<Bridge> bridges;
  std::set<std::pair<int, int>> used;  // domain and bus
  bool bridge = false;
  for (const absl::string_view line : Lines(lspci)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::string domain;
    std::string bus;
    std::string what;
    if (RE2::PartialMatch(piece, header, &domain, &bus, &what)) {
      const int domain_number = domain.empty() ? 0 : std::stoi(domain, nullptr, 16);
      bridge = absl::StrContains(what, "PCI bridge");
      if (RE2::PartialMatch(what, endpoint)) {
        used.insert({domain_number, std::stoi(bus, nullptr, 16)});
      }
      if (bridge) {
        bridges.push_back({NormalPci(line.substr(0, line.find(' '))), domain_number});
      }
      continue;
    }
    if (!bridge) continue;
    std::string last;
    if (RE2::PartialMatch(piece, buses, &bus, &last) && bus.size() <= 2 && last.size() <= 2) {
      bridges.back().first = std::stoi(bus, nullptr, 16);
      bridges.back().last = std::stoi(last, nullptr, 16);
    } else if (absl::StrContains(line, "ACSCtl:")) {
      bridges.back().control = std::string(absl::StripAsciiWhitespace(line));
    }
  }
  std::erase_if(bridges, [&](const Bridge& candidate) {
    const auto below = used.lower_bound({candidate.domain, candidate.first});
    return below == used.end() || below->first != candidate.domain ||
           below->second > candidate.last;
  });
  return bridges;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckIommu(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "system.iommu"));
  GALEN_ASSIGN_OR_RETURN(const std::string text, FirstLine(host, "/proc/cmdline"));
  const std::vector<absl::string_view> words = Words(text);
  const std::set<absl::string_view> options(words.begin(), words.end());
  std::optional<bool> enabled;
  std::optional<bool> passthrough;
  if (options.contains("iommu=off") || options.contains("intel_iommu=off") ||
      options.contains("amd_iommu=off")) {
    enabled = false;
  } else if (host.Glob("/sys/class/iommu/*").ok()) {
    enabled = true;
  }
  if (options.contains("iommu=pt")) passthrough = true;
  std::optional<std::int64_t> faults;
  const auto log = Output(host, {"dmesg", "--time-format", "iso"});
  if (log.ok()) {
    const auto shown = data.Patterns("enabled");
    for (const absl::string_view line : Lines(*log)) {
      if (enabled.has_value()) break;
      if (!CheckData::FirstMatch(shown, line).empty()) enabled = true;
    }
    if (absl::StrContains(*log, "Default domain type: Translated")) passthrough = false;
    if (absl::StrContains(*log, "Default domain type: Passthrough")) passthrough = true;
  }
  // Every kernel that could drive an IOMMU says what type of domain it would make.
  if (!enabled.value_or(false)) passthrough = std::nullopt;
  CheckOutput output;
  if (const auto events = KernelEvents(context); events.ok()) {
    faults = 0;
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_IOMMU_FAULT) continue;
      *faults += event.count;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
  }
  output.findings.push_back(FlagOrUnknown("enabled", node, enabled));
  output.findings.push_back(FlagOrUnknown("passthrough", node, passthrough));
  output.findings.push_back(faults.has_value() ? IntFinding("io_page_faults", node, "", *faults)
                                               : UnknownFinding("io_page_faults", node, ""));
  output.message =
      absl::StrCat(!enabled.has_value() ? "whether the IOMMU is on is not known"
                   : *enabled           ? "the IOMMU is on"
                                        : "the IOMMU is off",
                   !passthrough.has_value() ? ""
                   : *passthrough           ? ", passing through"
                                            : ", translating",
                   faults.value_or(0) > 0 ? absl::StrCat(", ", *faults, " faults") : "");
  return output;
}

absl::StatusOr<CheckOutput> CheckAcs(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(context.host, {"lspci", "-vvv", "-nn"}));
  if (!absl::StrContains(text, "ACSCtl:") && absl::StrContains(text, "<access denied>")) {
    return absl::PermissionDeniedError("lspci: capabilities are shown to root only");
  }
  CheckOutput output;
  std::int64_t redirecting = 0;
  for (const Bridge& bridge : BridgesAboveAccelerators(text)) {
    if (!absl::StrContains(bridge.control, "ReqRedir+") &&
        !absl::StrContains(bridge.control, "CmpltRedir+")) {
      continue;
    }
    ++redirecting;
    output.findings.push_back(
        TextFinding("acsctl", node, absl::StrCat("pci:", bridge.address), bridge.control));
  }
  output.findings.push_back(IntFinding("redirecting_bridges", node, "", redirecting));
  std::optional<bool> bare;
  if (const auto cpu = Output(context.host, {"lscpu"}); cpu.ok()) {
    bare = !absl::StrContains(*cpu, "Hypervisor vendor:");
  }
  output.findings.push_back(FlagOrUnknown("bare_metal", node, bare));
  output.message = redirecting == 0
                       ? "no bridge redirects peer-to-peer requests"
                       : absl::StrCat(redirecting, " bridges redirect peer-to-peer requests");
  return output;
}

}  // namespace galen::node
