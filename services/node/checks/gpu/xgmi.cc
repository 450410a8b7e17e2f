#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"

namespace galen::node {
namespace {

// Whether every GPU of the model is wired to every other. If not, a missing link is not a fault.
bool FullMesh(const knowledge::Knowledge& knowledge, const Gpu& gpu) {
  return HardwareFact(knowledge, gpu.product, "xgmi_full_mesh").value_or(0) > 0;
}

bool Anything(const GpuXgmi& xgmi) {
  return xgmi.correctable.has_value() || xgmi.uncorrectable.has_value() || !xgmi.up.empty() ||
         xgmi.link_gb_s.has_value();
}

bool AboveZero(const std::optional<std::int64_t>& count) { return count.value_or(0) > 0; }

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuXgmi(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.xgmi"));
  GALEN_ASSIGN_OR_RETURN(const double share, data.Number("least_share_of_speed"));
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryAmd(context.host));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  std::string excerpt;
  for (const Gpu& gpu : state.gpus) {
    if (!Anything(gpu.xgmi)) continue;
    const v1::Device subject = findings.Of(gpu);
    findings.Int("uncorrectable", subject, gpu.xgmi.uncorrectable).set_expected("0");
    findings.Int("correctable", subject, gpu.xgmi.correctable);
    std::vector<std::string> told;
    std::vector<std::string> down;
    for (const auto& [peer, up] : gpu.xgmi.up) {
      if (peer == gpu.index) continue;
      std::optional<bool> link_down;
      if (up.value_or(false)) link_down = false;
      if (!up.value_or(true) && FullMesh(context.knowledge, gpu)) link_down = true;
      findings.Bool("link_down", findings.OfLink(gpu, peer), link_down).set_expected("false");
      if (link_down.value_or(false)) down.push_back(absl::StrCat(peer));
    }
    const std::optional<double> expected =
        HardwareFact(context.knowledge, gpu.product, "link_gb_s");
    std::optional<bool> slow;
    if (gpu.xgmi.link_gb_s.has_value() && expected.has_value()) {
      slow = *gpu.xgmi.link_gb_s < share * *expected;
    }
    v1::Finding& speed = findings.Bool("speed_below_expected", subject, slow);
    if (expected.has_value()) speed.set_expected(absl::StrCat(Short(*expected), " GB/s"));
    if (!down.empty()) {
      told.push_back(absl::StrCat("no XGMI link to GPU ", absl::StrJoin(down, ", ")));
    }
    if (AboveZero(gpu.xgmi.uncorrectable)) {
      told.push_back(absl::StrCat(Count(*gpu.xgmi.uncorrectable, "uncorrectable XGMI error")));
    }
    if (AboveZero(gpu.xgmi.correctable)) {
      told.push_back(absl::StrCat(Count(*gpu.xgmi.correctable, "corrected XGMI error")));
    }
    if (slow.value_or(false)) {
      told.push_back(absl::StrCat("links of ", Short(*gpu.xgmi.link_gb_s), " GB/s of ",
                                  Short(*expected), " GB/s"));
    }
    if (!told.empty()) {
      sentence.Special(gpu, absl::StrJoin(told, ", "));
      if (excerpt.empty()) excerpt = Excerpt(state, gpu, "xgmi");
      if (excerpt.empty()) excerpt = Excerpt(state, gpu, "ecc_errors");
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports XGMI links");
  }
  return std::move(findings).Finish(sentence.Tell("no XGMI fault, as far as told"),
                                    std::move(excerpt));
}

}  // namespace galen::node
