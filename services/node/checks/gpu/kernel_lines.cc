#include "services/node/checks/gpu/kernel_lines.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxLines = 20;

// Reads one kind of line; false when `line` is of another.
bool ReadAer(re2::StringPiece line, KernelPciEvents& events) {
  static const LazyRE2 kReport = {
      R"(([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]): (?:AER: )?PCIe Bus Error: )"
      R"(severity=(\w+))"};
  std::string address;
  std::string severity;
  if (!RE2::PartialMatch(line, *kReport, &address, &severity)) return false;
  // "Corrected"; newer kernels say "Correctable".
  ++(absl::StartsWith(severity, "Correct") ? events.aer_corrected
                                           : events.aer_uncorrected)[address];
  return true;
}

bool ReadRegion(re2::StringPiece line,
                std::map<std::pair<std::string, std::string>, bool>& unassigned) {
  // The order of the words changed with Linux 6.10. A region may fail at first and be placed later.
  // BAR 6 is the expansion ROM, those above are of virtual functions, and drivers of GPUs use no
  // I/O ports: none of them is missed.
  static const LazyRE2 kRegion = {
      R"(pci ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]): BAR ([0-5])\b(.*))"};
  std::string address;
  std::string region;
  std::string what;
  if (!RE2::PartialMatch(line, *kRegion, &address, &region, &what)) return false;
  if (!absl::StrContains(what, "[mem ")) return false;
  const bool failed =
      absl::StrContains(what, "failed to assign") || absl::StrContains(what, "no space");
  if (!failed && !absl::StrContains(what, "assigned")) return false;
  unassigned[{std::move(address), std::move(region)}] = failed;
  return failed;
}

bool ReadDriver(re2::StringPiece line, KernelPciEvents& events) {
  static const LazyRE2 kEmptyRegion = {R"(NVRM: BAR1 is 0M @ 0x0 \(PCI:([0-9a-f:.]+)\))"};
  static const LazyRE2 kAction = {
      R"(NVRM: Xid \(PCI:([0-9a-f:.]+)\): 154, GPU recovery action changed from .* to )"
      R"(0x[0-9a-f]+ \(([^)]*)\))"};
  static const LazyRE2 kBadPages = {
      R"(amdgpu ([0-9a-f:.]+): (?:amdgpu: )?Saved bad pages \d+ reaches threshold value \d+)"};
  std::string address;
  std::string action;
  if (RE2::PartialMatch(line, *kBadPages, &address)) {
    events.bad_page_threshold.insert(CanonicalPciAddress(address));
    return true;
  }
  if (RE2::PartialMatch(line, *kEmptyRegion, &address)) {
    events.no_space.insert(CanonicalPciAddress(address));
    return true;
  }
  if (RE2::PartialMatch(line, *kAction, &address, &action)) {
    events.recovery_action[CanonicalPciAddress(address)] = action;
    return true;
  }
  return false;
}

}  // namespace

KernelPciEvents ParseKernelPciEvents(absl::string_view log) {
  KernelPciEvents events;
  std::map<std::pair<std::string, std::string>, bool> unassigned;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    const re2::StringPiece piece(line.data(), line.size());
    const bool told =
        ReadAer(piece, events) || ReadRegion(piece, unassigned) || ReadDriver(piece, events);
    if (told && events.lines.size() < kMaxLines) events.lines.emplace_back(line);
  }
  for (const auto& [region, failed] : unassigned) {
    if (failed) events.no_space.insert(region.first);
  }
  return events;
}

absl::StatusOr<KernelPciEvents> ReadKernelPciEvents(const host::Host& host) {
  GALEN_ASSIGN_OR_RETURN(const host::CommandResult result,
                         host.Run({"dmesg", "--time-format", "iso"}));
  if (result.exit_code != 0) {
    return absl::PermissionDeniedError(
        "dmesg --time-format iso: the kernel log may not be read; run as root");
  }
  return ParseKernelPciEvents(result.out);
}

}  // namespace galen::node
