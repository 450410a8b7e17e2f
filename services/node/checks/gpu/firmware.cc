#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/nvidia_smi.h"

namespace galen::node {
namespace {

// nvidia-smi's exit code for a corrupted infoROM.
constexpr int kExitInforom = 14;

// The PCI addresses that "WARNING: infoROM is corrupted at gpu 0000:4B:00.0" names.
std::set<std::string> CorruptedInforoms(absl::string_view remarks) {
  static const LazyRE2 kWarning = {R"((?i)infoROM is corrupted at gpu ([0-9a-f:.]+))"};
  std::set<std::string> addresses;
  re2::StringPiece rest(remarks.data(), remarks.size());
  std::string address;
  while (RE2::FindAndConsume(&rest, *kWarning, &address)) {
    addresses.insert(CanonicalPciAddress(address));
  }
  return addresses;
}

// Whether the GPU runs on its GSP. Without a version only the module's parameter decides: boards
// that have no GSP report the same.
std::optional<bool> GspEnabled(const Gpu& gpu, const absl::StatusOr<std::string>& params) {
  if (!gpu.gsp_firmware.empty()) return true;
  if (params.ok() && absl::StrContains(*params, "EnableGpuFirmware: 0\n")) return false;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuInforom(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const host::CommandResult result, RunNvidiaSmi(context.host, "-q -x"));
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  const std::set<std::string> corrupted = CorruptedInforoms(state.remarks);
  const bool unnamed = result.exit_code == kExitInforom && corrupted.empty();
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    std::optional<bool> bad = corrupted.contains(gpu.pci_address);
    // Some GPU's is, and nothing says which.
    if (unnamed && state.gpus.size() > 1) bad = std::nullopt;
    if (unnamed && state.gpus.size() == 1) bad = true;
    findings.Bool("corrupted", findings.Of(gpu), bad).set_expected("false");
    findings.Text("image_version", findings.Of(gpu), Known(gpu.inforom_image));
    if (bad.value_or(false)) sentence.Special(gpu, "the infoROM is corrupted");
  }
  findings.Int("smi_exit_code", findings.Node(), result.exit_code).set_expected("0");
  std::string message = unnamed && !sentence.has_special()
                            ? "nvidia-smi reports a corrupted infoROM without saying of which GPU"
                            : sentence.Tell("no infoROM warning");
  return std::move(findings).Finish(std::move(message), Complaint(result));
}

absl::StatusOr<CheckOutput> CheckGpuFirmware(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  const absl::StatusOr<std::string> params = context.host.ReadFile("/proc/driver/nvidia/params");
  GpuFindings findings(context);
  // Models of their own have versions of their own.
  std::map<std::string, std::set<std::string>> versions;
  for (const Gpu& gpu : state.gpus) {
    if (!gpu.vbios.empty()) versions[gpu.product].insert(gpu.vbios);
    findings.Bool("gsp_enabled", findings.Of(gpu), GspEnabled(gpu, params));
  }
  std::optional<std::int64_t> distinct;
  std::vector<std::string> told;
  for (const auto& [product, of_product] : versions) {
    distinct =
        std::max<std::int64_t>(distinct.value_or(0), static_cast<std::int64_t>(of_product.size()));
    told.push_back(absl::StrCat(product, " has VBIOS ", absl::StrJoin(of_product, " and ")));
  }
  findings.Int("vbios_versions_distinct", findings.Node(), distinct).set_expected("1");
  // Nobody told which versions are defective.
  findings.Bool("known_defective", findings.Node(), std::nullopt);
  return std::move(findings).Finish(
      told.empty() ? "no GPU reports its VBIOS version" : absl::StrJoin(told, "; "),
      XmlExcerpt(state, state.gpus.front(), "inforom_version"));
}

}  // namespace galen::node
