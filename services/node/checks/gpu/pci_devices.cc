#include "services/node/checks/gpu/pci_devices.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxDevices = 65536;

// The address at the start of "b3:00.0 3D controller [0302]: ..."; "" for any other line.
std::string AddressOf(absl::string_view line) {
  if (line.empty() || !absl::ascii_isxdigit(line.front())) return "";
  const absl::string_view word = line.substr(0, line.find(' '));
  return absl::StrContains(word, '.') ? CanonicalPciAddress(word) : "";
}

void ReadHeading(absl::string_view line, PciDevice& device) {
  static const LazyRE2 kClass = {R"(^\S+ [^\[]*\[([0-9a-f]{4})\]:)"};
  static const LazyRE2 kIds = {R"(\[([0-9a-f]{4}):([0-9a-f]{4})\])"};
  const re2::StringPiece text(line.data(), line.size());
  RE2::PartialMatch(text, *kClass, &device.class_code);
  // Names may hold brackets too; the ids come last.
  re2::StringPiece rest = text;
  while (RE2::FindAndConsume(&rest, *kIds, &device.vendor, &device.device_id)) {
  }
  device.dead = absl::StrContains(line, "(rev ff)");
}

// "LnkSta: Speed 8GT/s (downgraded), Width x8 (downgraded)".
void ReadLink(absl::string_view line, std::optional<std::int64_t>& generation,
              std::optional<std::int64_t>& width) {
  static const LazyRE2 kSpeed = {R"(Speed ([0-9.]+)GT/s)"};
  static const LazyRE2 kWidth = {R"(Width x(\d{1,3})\b)"};
  const re2::StringPiece text(line.data(), line.size());
  std::string speed;
  int lanes = 0;
  if (RE2::PartialMatch(text, *kSpeed, &speed)) generation = PcieGeneration(LeadingNumber(speed));
  if (RE2::PartialMatch(text, *kWidth, &lanes)) width = lanes;
}

void ReadDetail(absl::string_view line, PciDevice& device) {
  static const LazyRE2 kSecondary = {R"(^Bus: .*secondary=([0-9a-f]{2}))"};
  static const LazyRE2 kSubordinate = {R"(subordinate=([0-9a-f]{2}))"};
  // "Capabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00".
  static const LazyRE2 kExpress = {R"(^Capabilities: .*\bExpress (?:\(v\d+\) )?(\w+(?: Port)?))"};
  line = absl::StripAsciiWhitespace(line);
  absl::string_view value = line;
  if (absl::ConsumePrefix(&value, "Kernel driver in use:")) {
    device.driver = std::string(absl::StripAsciiWhitespace(value));
  } else if (absl::StartsWith(line, "!!! Unknown header type 7f")) {
    device.dead = true;
  } else if (absl::StartsWith(line, "Region ") && absl::StrContains(line, "Memory at <")) {
    // "<unassigned>", "<ignored>", "<broken-bar>".
    device.region_unassigned = true;
  } else if (absl::StartsWith(line, "Bus:")) {
    RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *kSecondary,
                      &device.secondary_bus);
    RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *kSubordinate,
                      &device.subordinate_bus);
  } else if (absl::StartsWith(line, "Capabilities:")) {
    RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *kExpress, &device.express_kind);
  } else if (absl::StartsWith(line, "LnkCap:")) {
    ReadLink(line, device.link_gen_max, device.link_width_max);
  } else if (absl::StartsWith(line, "LnkSta:")) {
    ReadLink(line, device.link_gen, device.link_width);
  }
}

}  // namespace

std::vector<PciDevice> ParseLspci(absl::string_view output) {
  std::vector<PciDevice> devices;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (std::string address = AddressOf(line); !address.empty()) {
      if (devices.size() == kMaxDevices) break;
      devices.emplace_back().address = std::move(address);
      ReadHeading(line, devices.back());
    } else if (!devices.empty()) {
      ReadDetail(line, devices.back());
    }
    if (!devices.empty()) absl::StrAppend(&devices.back().text, line, "\n");
  }
  return devices;
}

std::vector<const PciDevice*> BridgesAbove(absl::string_view address,
                                           const std::vector<PciDevice>& devices) {
  constexpr std::size_t kMaxBridges = 32;
  std::vector<const PciDevice*> bridges;
  std::string at(address);
  while (bridges.size() < kMaxBridges) {
    const std::vector<std::string> parts = absl::StrSplit(at, ':');
    if (parts.size() != 3) break;
    const auto bridge = std::find_if(devices.begin(), devices.end(), [&](const PciDevice& device) {
      return !device.secondary_bus.empty() && device.secondary_bus == parts[1] &&
             device.secondary_bus != "00" &&
             absl::StartsWith(device.address, absl::StrCat(parts[0], ":"));
    });
    // A bridge cannot be behind itself.
    if (bridge == devices.end() || bridge->address == at) break;
    bridges.push_back(&*bridge);
    at = bridge->address;
  }
  return bridges;
}

absl::StatusOr<std::vector<PciDevice>> ListPciDevices(const host::Host& host) {
  GALEN_ASSIGN_OR_RETURN(const host::CommandResult result, host.Run({"lspci", "-vvv", "-nn"}));
  std::vector<PciDevice> devices = ParseLspci(result.out);
  if (devices.empty()) {
    return absl::AbortedError(
        absl::StrCat("lspci -vvv -nn: exit code ", result.exit_code, ", no device listed"));
  }
  return devices;
}

bool IsNvidiaGpu(const PciDevice& device) {
  return device.vendor == "10de" && (device.class_code == "0300" || device.class_code == "0302");
}

bool IsAmdGpu(const PciDevice& device) {
  // Display controllers of each kind, and accelerators (Instinct since MI300).
  return device.vendor == "1002" && (device.class_code == "0300" || device.class_code == "0302" ||
                                     device.class_code == "0380" || device.class_code == "1200");
}

bool IsNvSwitch(const PciDevice& device) {
  return device.vendor == "10de" && device.class_code == "0680";
}

bool BelongsToGuest(const PciDevice& device) { return device.driver == "vfio-pci"; }

}  // namespace galen::node
