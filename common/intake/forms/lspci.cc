// lspci: `lspci` of pciutils with any of -v, -k, -n and -nn, as `lspci -vvv -nn` prints it. Names
// get the numbers that the PCI ID Repository gives them (pci-ids.ucw.cz).
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

using PciNames = std::map<absl::string_view, absl::string_view>;

// Classes of devices, and their numbers.
const PciNames& PciClasses() {
  static const auto* const classes = new PciNames{
      {"SATA controller", "0106"},
      {"RAID bus controller", "0104"},
      {"Serial Attached SCSI controller", "0107"},
      {"Non-Volatile memory controller", "0108"},
      {"Ethernet controller", "0200"},
      {"Infiniband controller", "0207"},
      {"Network controller", "0280"},
      {"VGA compatible controller", "0300"},
      {"3D controller", "0302"},
      {"Display controller", "0380"},
      {"Audio device", "0403"},
      {"Memory controller", "0580"},
      {"Host bridge", "0600"},
      {"ISA bridge", "0601"},
      {"PCI bridge", "0604"},
      {"Bridge", "0680"},
      {"Communication controller", "0780"},
      {"DMA controller", "0801"},
      {"IOMMU", "0806"},
      {"System peripheral", "0880"},
      {"Co-processor", "0b40"},
      {"USB controller", "0c03"},
      {"SMBus", "0c05"},
      {"InfiniBand", "0c06"},
      {"Encryption controller", "1080"},
      {"Performance counters", "1101"},
      {"Signal processing controller", "1180"},
      {"Processing accelerators", "1200"},
  };
  return *classes;
}

// Vendors whose devices checks look for.
const PciNames& PciVendors() {
  static const auto* const vendors = new PciNames{
      {"NVIDIA Corporation", "10de"},
      {"Advanced Micro Devices, Inc. [AMD]", "1022"},
      {"Advanced Micro Devices, Inc. [AMD/ATI]", "1002"},
      {"Mellanox Technologies", "15b3"},
      {"Intel Corporation", "8086"},
      {"Broadcom Inc. and subsidiaries", "14e4"},
      {"Amazon.com, Inc.", "1d0f"},
      {"Microsoft Corporation", "1414"},
      {"Samsung Electronics Co Ltd", "144d"},
  };
  return *vendors;
}

// Accelerators, switches and adapters, by the name of the device.
const PciNames& PciDevices() {
  static const auto* const devices = new PciNames{
      {"GK210GL [Tesla K80]", "102d"},
      {"GP100GL [Tesla P100 PCIe 16GB]", "15f8"},
      {"GP100GL [Tesla P100 SXM2 16GB]", "15f9"},
      {"GP102 [GeForce GTX 1080 Ti]", "1b06"},
      {"GV100GL [Tesla V100 SXM2 16GB]", "1db1"},
      {"GV100GL [Tesla V100 PCIe 16GB]", "1db4"},
      {"GV100GL [Tesla V100 SXM2 32GB]", "1db5"},
      {"GV100GL [Tesla V100 PCIe 32GB]", "1db6"},
      {"TU102 [GeForce RTX 2080 Ti Rev. A]", "1e07"},
      {"TU104GL [Tesla T4]", "1eb8"},
      {"GA100 [A100 SXM4 40GB]", "20b0"},
      {"GA100 [A100 SXM4 80GB]", "20b2"},
      {"GA100 [A100 PCIe 80GB]", "20b5"},
      {"GA100 [A100 PCIe 40GB]", "20f1"},
      {"GA100GL [A30 PCIe]", "20b7"},
      {"GA102 [GeForce RTX 3090]", "2204"},
      {"GA102GL [RTX A6000]", "2230"},
      {"GA102GL [RTX A5000]", "2231"},
      {"GA102GL [A40]", "2235"},
      {"GA102GL [A10]", "2236"},
      {"GA102GL [A10G]", "2237"},
      {"AD102 [GeForce RTX 4090]", "2684"},
      {"AD102GL [RTX 6000 Ada Generation]", "26b1"},
      {"AD102GL [L40]", "26b5"},
      {"AD102GL [L40S]", "26b9"},
      {"AD103 [GeForce RTX 4080]", "2704"},
      {"AD104GL [L4]", "27b8"},
      {"GH100 [H100 NVL]", "2321"},
      {"GH100 [H100 SXM5 80GB]", "2330"},
      {"GH100 [H100 PCIe]", "2331"},
      {"GH100 [H200 SXM 141GB]", "2335"},
      {"GB100 [B200]", "2901"},
      {"GB100 [GB200]", "2941"},
      {"GB202 [GeForce RTX 5090]", "2b85"},
      {"GA100 [A100 NVSwitch]", "1af1"},
      {"GH100 [H100 NVSwitch]", "22a3"},
      {"Aldebaran/MI200 [Instinct MI210]", "740f"},
      {"Aqua Vanjaram [Instinct MI300X]", "74a1"},
      {"Arcturus GL-XL [Instinct MI100]", "738c"},
      {"MT26428 [ConnectX VPI PCIe 2.0 5GT/s - IB QDR / 10GigE]", "673c"},
      {"MT27700 Family [ConnectX-4]", "1013"},
      {"MT27710 Family [ConnectX-4 Lx]", "1015"},
      {"MT27710 Family [ConnectX-4 Lx Virtual Function]", "1016"},
      {"MT27800 Family [ConnectX-5]", "1017"},
      {"MT27800 Family [ConnectX-5 Virtual Function]", "1018"},
      {"MT28800 Family [ConnectX-5 Ex]", "1019"},
      {"MT28908 Family [ConnectX-6]", "101b"},
      {"MT28908 Family [ConnectX-6 Virtual Function]", "101c"},
      {"MT2892 Family [ConnectX-6 Dx]", "101d"},
      {"ConnectX Family mlx5Gen Virtual Function", "101e"},
      {"MT2894 Family [ConnectX-6 Lx]", "101f"},
      {"MT2910 Family [ConnectX-7]", "1021"},
      {"MT42822 BlueField-2 integrated ConnectX-6 Dx network controller", "a2d6"},
      {"MT43244 BlueField-3 integrated ConnectX-7 network controller", "a2dc"},
  };
  return *devices;
}

// Adds "[10de:26b9]" to "NVIDIA Corporation AD102GL [L40S] (rev a1)"; unknown names stay unchanged.
std::string WithIds(absl::string_view device) {
  static const LazyRE2 kTail = {R"(((?: \(rev [0-9a-f]{2}\))?(?: \(prog-if [^()]*\))?)$)"};
  static const LazyRE2 kUnnamed = {R"(^Device ([0-9a-f]{4})$)"};
  std::string tail;
  RE2::PartialMatch(Piece(device), *kTail, &tail);
  const absl::string_view named = device.substr(0, device.size() - tail.size());
  for (const auto& [vendor, number] : PciVendors()) {
    absl::string_view name = named;
    if (!absl::ConsumePrefix(&name, vendor) || !absl::ConsumePrefix(&name, " ")) continue;
    std::string id;
    if (!RE2::FullMatch(Piece(name), *kUnnamed, &id)) {
      const auto known = PciDevices().find(name);
      if (known == PciDevices().end()) break;
      id = std::string(known->second);
    }
    const bool unnamed = absl::StartsWith(name, "Device ");
    return absl::StrCat(vendor, " ", unnamed ? "Device" : name, " [", number, ":", id, "]", tail);
  }
  return std::string(device);
}

// "3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)" as -nn prints it.
std::string HeadingWithNumbers(absl::string_view heading) {
  // -nn: "3D controller [0302]: ... [10de:26b9] (rev a1)"
  static const LazyRE2 kBoth = {R"(^[^:\[]+\[[0-9a-f]{4}\]: )"};
  // -n: "0302: 10de:26b9 (rev a1)"
  static const LazyRE2 kNumbers = {R"(^([0-9a-f]{4}): ([0-9a-f]{4}:[0-9a-f]{4})(.*)$)"};
  if (RE2::PartialMatch(Piece(heading), *kBoth)) return std::string(heading);
  std::string number;
  std::string ids;
  std::string tail;
  if (RE2::FullMatch(Piece(heading), *kNumbers, &number, &ids, &tail)) {
    absl::string_view name = "Class";
    for (const auto& [known, code] : PciClasses()) {
      if (code == number) name = known;
    }
    absl::string_view vendor = "Vendor";
    for (const auto& [known, code] : PciVendors()) {
      if (absl::StartsWith(ids, absl::StrCat(code, ":"))) vendor = known;
    }
    return absl::StrCat(name, " [", number, "]: ", vendor, " Device [", ids, "]", tail);
  }
  const std::size_t colon = heading.find(": ");
  if (colon == absl::string_view::npos) return std::string(heading);
  const auto known = PciClasses().find(heading.substr(0, colon));
  if (known == PciClasses().end()) return std::string(heading);
  return absl::StrCat(known->first, " [", known->second, "]: ", WithIds(heading.substr(colon + 2)));
}

// Lines that lspci prints below a device.
bool IsPciDetail(absl::string_view line) {
  static const LazyRE2 kDetail = {
      R"(^\s*(?:Subsystem|Control|Status|Latency|Interrupt|NUMA node|IOMMU group|Region \d|Bus|Capabilities|LnkCap2?|LnkSta2?|LnkCtl2?|DevCap2?|DevCtl2?|DevSta|SltCap|SltSta|UESta|CESta|ACSCtl|Expansion ROM|Physical Slot|DeviceName|Kernel driver in use|Kernel modules|!!!|Flags|Memory at|I/O ports|BIST|I/O behind bridge|Memory behind bridge|Prefetchable memory)\b)"};
  return RE2::PartialMatch(Piece(line), *kDetail) || absl::StrContains(line, "!!! ");
}

// The address in `-s 41:00.0`, if it names one device.
std::optional<std::string> AddressOfCommand(const TypedCommand& typed) {
  static const LazyRE2 kAddress = {R"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"};
  auto slot = typed.ValueOf({"-s"});
  if (!slot.has_value() || !RE2::FullMatch(*slot, *kAddress)) return std::nullopt;
  return slot;
}

class PciReader {
 public:
  // `asked`: the one device that the command asks for.
  explicit PciReader(std::optional<std::string> asked) : asked_(std::move(asked)) {}

  void Line(absl::string_view line) {
    static const LazyRE2 kHeading = {
        R"(^\s*((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) (\S.*)$)"};
    std::string address;
    std::string heading;
    if (RE2::FullMatch(Piece(line), *kHeading, &address, &heading)) {
      has_host_bridge_ |=
          absl::StartsWith(heading, "Host bridge") || absl::StartsWith(heading, "0600");
      indent_ = IndentOf(line);
      Begin(absl::StrCat(absl::AsciiStrToLower(address), " ", HeadingWithNumbers(heading)));
      return;
    }
    const bool detail = IsPciDetail(line);
    // A foreign line that is not indented more than the heading ends the device.
    if (!detail && !line.empty() && IndentOf(line) <= indent_) in_device_ = false;
    // grep removed the heading, but the command names the only device.
    if (detail && text_.empty() && asked_.has_value()) Begin(*asked_);
    if (in_device_) Detail(absl::StripAsciiWhitespace(line));
  }

  const std::string& text() const { return text_; }
  bool has_host_bridge() const { return has_host_bridge_; }

 private:
  void Begin(absl::string_view heading) {
    in_device_ = true;
    told_.clear();
    absl::StrAppend(&text_, heading, "\n");
  }

  void Detail(absl::string_view line) {
    if (line.empty()) return;
    // A second value belongs to another device, whose heading grep removed.
    for (const absl::string_view once : {"LnkCap:", "LnkSta:", "LnkCtl:", "Subsystem:", "Bus:",
                                         "Kernel driver in use:", "NUMA node:"}) {
      if (!absl::StartsWith(line, once) || told_.insert(once).second) continue;
      in_device_ = false;
      return;
    }
    absl::StrAppend(&text_, "\t", line, "\n");
  }

  const std::optional<std::string> asked_;
  std::string text_;
  std::set<absl::string_view> told_;
  std::size_t indent_ = 0;
  bool in_device_ = false;
  bool has_host_bridge_ = false;
};

}  // namespace

absl::StatusOr<Converted> PciList(absl::string_view text, absl::string_view command) {
  const TypedCommand typed(command, "lspci");
  PciReader reader(AddressOfCommand(typed));
  for (const absl::string_view line : PastedLines(text)) reader.Line(line);
  if (reader.text().empty()) return Unreadable("lspci", "no line describes a device on the bus");
  Converted converted;
  converted.text = reader.text();
  // Every PCI bus has a host bridge, so a list without one is incomplete.
  converted.partial = !reader.has_host_bridge() || typed.filtered() ||
                      typed.ValueOf({"-s"}).has_value() || typed.ValueOf({"-d"}).has_value();
  return converted;
}

}  // namespace galen::intake
