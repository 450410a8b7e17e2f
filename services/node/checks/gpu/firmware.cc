#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/known_versions.h"
#include "services/node/checks/gpu/nvml_abi.h"

namespace galen::node {
namespace {

// Whether the GPU runs on its GSP. Without a version only the module's parameter decides: boards
// that have no GSP report the same.
std::optional<bool> GspEnabled(const Gpu& gpu, const absl::StatusOr<std::string>& params) {
  if (!gpu.gsp_firmware.empty()) return true;
  if (params.ok() && absl::StrContains(*params, "EnableGpuFirmware: 0\n")) return false;
  return std::nullopt;
}

// The version of `component` of the GPU; "" where it is not known.
absl::string_view VersionOf(const Gpu& gpu, absl::string_view component) {
  if (component == "vbios") return gpu.vbios;
  if (component == "gsp") return gpu.gsp_firmware;
  if (component == "mes") return gpu.mes_firmware;
  if (component == "smc") return gpu.smc_firmware;
  if (component == "inforom") return gpu.inforom_image;
  return "";
}

// Whether some firmware of the GPU is on the list of defective ones ([component, pattern of the
// model, version]); unknown where the list says nothing of the model, or its version is not known.
std::optional<bool> KnownDefective(const Gpu& gpu,
                                   const std::vector<std::vector<std::string>>& list,
                                   std::string& which) {
  std::optional<bool> defective;
  const std::string model = absl::StrCat(gpu.product, " ", gpu.architecture);
  for (const std::vector<std::string>& entry : list) {
    if (entry.size() != 3) continue;
    const RE2 pattern(entry[1], RE2::Quiet);
    const absl::string_view version = VersionOf(gpu, entry[0]);
    if (!pattern.ok() || !RE2::PartialMatch(model, pattern) || version.empty()) continue;
    const bool listed = CompareReleases(version, entry[2]) == 0;
    if (listed) which = absl::StrCat(absl::AsciiStrToUpper(entry[0]), " ", version);
    defective = defective.value_or(false) || listed;
  }
  return defective;
}

// Fills in the AMD firmware versions that the card itself does not report, from debugfs.
void CompleteFromDebugfs(const host::Host& host, GpuState& state) {
  const auto files = host.Glob("/sys/kernel/debug/dri/*/amdgpu_firmware_info");
  if (!files.ok()) return;
  std::vector<AmdFirmware> found;
  for (absl::string_view path : *files) {
    // From 128 on the numbers are render nodes of the same cards.
    absl::string_view number = path;
    absl::ConsumePrefix(&number, "/sys/kernel/debug/dri/");
    if (LeadingInteger(number).value_or(0) >= 128) continue;
    const auto content = host.ReadFile(path);
    if (content.ok()) found.push_back(ParseAmdFirmwareInfo(*content));
  }
  // Only then it is sure which is whose.
  if (found.size() != 1 || state.gpus.size() != 1) return;
  Gpu& gpu = state.gpus.front();
  if (gpu.mes_firmware.empty()) gpu.mes_firmware = found.front().mes;
  if (gpu.smc_firmware.empty()) gpu.smc_firmware = found.front().smc;
  if (gpu.vbios.empty()) gpu.vbios = found.front().vbios;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuInforom(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuReport report, AskNvidia(context.host));
  GALEN_RETURN_IF_ERROR(report.state.status());
  const GpuState& state = *report.state;
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  bool unnamed = report.exit_code == nvml::kCorruptedInforom;
  for (const Gpu& gpu : state.gpus) {
    const bool bad = gpu.inforom_corrupted.value_or(false);
    unnamed = unnamed && !bad;
    findings.Bool("corrupted", findings.Of(gpu), gpu.inforom_corrupted).set_expected("false");
    findings.Text("image_version", findings.Of(gpu), Known(gpu.inforom_image));
    if (bad) sentence.Special(gpu, "the infoROM is corrupted");
  }
  findings.Int("smi_exit_code", findings.Node(), report.exit_code).set_expected("0");
  std::string message = unnamed
                            ? "nvidia-smi reports a corrupted infoROM without saying of which GPU"
                            : sentence.Tell("no infoROM warning");
  return std::move(findings).Finish(std::move(message), report.complaint);
}

absl::StatusOr<CheckOutput> CheckGpuFirmware(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.firmware"));
  GALEN_ASSIGN_OR_RETURN(GpuState state, QueryGpus(context.host));
  const absl::StatusOr<std::string> params = context.host.ReadFile("/proc/driver/nvidia/params");
  const bool amd = state.gpus.front().vendor == "AMD";
  if (amd) CompleteFromDebugfs(context.host, state);
  const std::vector<std::vector<std::string>> defective = data.Lists("known_defective");
  GpuFindings findings(context);
  // Models of their own have versions of their own.
  std::map<std::string, std::set<std::string>> versions;
  std::vector<std::string> told;
  for (const Gpu& gpu : state.gpus) {
    if (!gpu.vbios.empty()) versions[gpu.product].insert(gpu.vbios);
    if (amd) {
      findings.Text("mes_version", findings.Of(gpu), Known(gpu.mes_firmware));
    } else {
      findings.Bool("gsp_enabled", findings.Of(gpu), GspEnabled(gpu, params));
    }
    std::string which;
    findings.Bool("known_defective", findings.Of(gpu), KnownDefective(gpu, defective, which))
        .set_expected("false");
    if (!which.empty()) {
      told.push_back(
          absl::StrCat("GPU ", gpu.index, " runs ", which, ", which is known defective"));
    }
  }
  std::optional<std::int64_t> distinct;
  for (const auto& [product, of_product] : versions) {
    distinct =
        std::max<std::int64_t>(distinct.value_or(0), static_cast<std::int64_t>(of_product.size()));
    told.push_back(absl::StrCat(product, " has VBIOS ", absl::StrJoin(of_product, " and ")));
  }
  findings.Int("vbios_versions_distinct", findings.Node(), distinct).set_expected("1");
  return std::move(findings).Finish(
      told.empty() ? "no GPU reports its VBIOS version" : absl::StrJoin(told, "; "),
      Excerpt(state, state.gpus.front(), "inforom_version"));
}

}  // namespace galen::node
