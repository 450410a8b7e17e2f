#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/link_reports.h"
#include "services/node/checks/gpu/nvidia_smi.h"

namespace galen::node {
namespace {

// The GPUs of `nvidia-smi -q -x`, or what a heading says of one where that was not captured.
std::vector<Gpu> Identities(const host::Host& host) {
  absl::StatusOr<GpuState> state = QueryGpus(host);
  return state.ok() ? std::move(state->gpus) : std::vector<Gpu>();
}

Gpu Identify(int index, const std::string& uuid, const std::vector<Gpu>& known) {
  for (const Gpu& gpu : known) {
    if (!uuid.empty() ? gpu.uuid == uuid : gpu.index == index) return gpu;
  }
  Gpu gpu;
  gpu.index = index;
  gpu.uuid = uuid;
  return gpu;
}

std::int64_t ActiveLinks(const GpuLinks& gpu) {
  return std::count_if(gpu.links.begin(), gpu.links.end(),
                       [](const auto& link) { return link.second; });
}

bool NoneActive(const GpuLinks& gpu) { return ActiveLinks(gpu) == 0; }

// Boards whose links run over a bridge that is sold apart: links that are all down mean that there
// is no bridge. On all others the links are wired on the baseboard.
bool NeedsBridge(const GpuLinks& gpu) {
  for (const absl::string_view word : {"PCIe", "NVL", "GeForce", "RTX", "Quadro", "TITAN"}) {
    if (absl::StrContains(gpu.product, word)) return true;
  }
  return false;
}

// How many links the GPU ought to have: what is known of its model, else what most of its siblings
// list. Unknown for boards with a bridge, which may connect any part of the links.
std::optional<std::int64_t> ExpectedLinks(const GpuLinks& gpu, const std::vector<GpuLinks>& all,
                                          const knowledge::Knowledge& knowledge) {
  if (NeedsBridge(gpu)) {
    if (NoneActive(gpu)) return std::nullopt;
    return static_cast<std::int64_t>(gpu.links.size());
  }
  if (const knowledge::v1::Hardware* model = knowledge.FindHardware(gpu.product);
      model != nullptr) {
    const auto links = model->facts().find("nvlinks");
    if (links != model->facts().end()) return static_cast<std::int64_t>(links->second);
  }
  std::map<std::int64_t, int> counts;
  for (const GpuLinks& other : all) {
    if (other.product == gpu.product && !other.links.empty()) {
      ++counts[static_cast<std::int64_t>(other.links.size())];
    }
  }
  if (counts.empty()) return std::nullopt;
  return std::max_element(
             counts.begin(), counts.end(),
             [](const auto& left, const auto& right) { return left.second <= right.second; })
      ->first;
}

// The lines of GPU `index` in the output.
std::string ExcerptOf(absl::string_view output, int index) {
  const std::size_t begin = output.find(absl::StrCat("GPU ", index, ":"));
  if (begin == absl::string_view::npos) return std::string(output);
  const std::size_t end = output.find("\nGPU ", begin);
  return std::string(output.substr(begin, end == absl::string_view::npos ? end : end - begin));
}

bool AllZero(const LinkErrors& errors) {
  return errors.crc.value_or(0) == 0 && errors.replay.value_or(0) == 0 &&
         errors.recovery.value_or(0) == 0 && errors.other == 0;
}

std::string ErrorText(const LinkErrors& errors) {
  std::vector<std::string> parts;
  const auto tell = [&](const std::optional<std::int64_t>& count, absl::string_view what) {
    if (count.value_or(0) > 0) parts.push_back(Count(*count, what));
  };
  tell(errors.crc, "CRC error");
  tell(errors.replay, "replay");
  // Not "recoverys".
  if (errors.recovery.value_or(0) > 0) {
    parts.push_back(absl::StrCat(*errors.recovery, " recovery errors"));
  }
  if (errors.other > 0) parts.push_back("other error counters above 0");
  return absl::StrJoin(parts, ", ");
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuNvlinkStatus(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::string output, NvidiaSmiOutput(context.host, "nvlink -s"));
  std::vector<GpuLinks> gpus = ParseLinkStatus(output);
  gpus.erase(std::remove_if(gpus.begin(), gpus.end(),
                            [](const GpuLinks& gpu) {
                              return gpu.not_supported || (gpu.links.empty() && !gpu.all_inactive);
                            }),
             gpus.end());
  if (gpus.empty()) {
    return absl::FailedPreconditionError("no GPU of this node has NVLink that can be asked");
  }
  if (std::all_of(gpus.begin(), gpus.end(), [&](const GpuLinks& gpu) {
        return NoneActive(gpu) && !ExpectedLinks(gpu, gpus, context.knowledge).has_value();
      })) {
    return absl::FailedPreconditionError(
        "no NVLink bridge is installed: all links of all GPUs are inactive");
  }
  const std::vector<Gpu> known = Identities(context.host);
  GpuFindings findings(context);
  Sentence sentence("GPU", gpus.size());
  std::optional<std::int64_t> of_healthy;
  bool healthy_alike = true;
  int shown = gpus.front().index;
  for (const GpuLinks& gpu : gpus) {
    const Gpu identity = Identify(gpu.index, gpu.uuid, known);
    const v1::Device subject = findings.Of(identity);
    const std::int64_t active = ActiveLinks(gpu);
    const std::optional<std::int64_t> expected = ExpectedLinks(gpu, gpus, context.knowledge);
    // A link that ought to be there and is not listed is as inactive as one that says so.
    std::optional<std::int64_t> inactive;
    if (expected.has_value()) inactive = std::max<std::int64_t>(*expected - active, 0);
    v1::Finding& count = findings.Int("links_active", subject, active);
    if (expected.has_value()) count.set_expected(absl::StrCat(*expected));
    findings.Int("links_expected", subject, expected);
    findings.Int("links_inactive", subject, inactive).set_expected("0");
    if (inactive.value_or(0) > 0) {
      if (!sentence.has_special()) shown = gpu.index;
      sentence.Special(identity,
                       absl::StrCat(*inactive, " of ", Count(*expected, "NVLink"), " inactive"));
    } else if (!expected.has_value()) {
      sentence.Special(identity, "no active NVLink, and no bridge is expected");
    } else {
      healthy_alike = healthy_alike && of_healthy.value_or(active) == active;
      of_healthy = active;
    }
  }
  const std::string others = of_healthy.has_value() && healthy_alike
                                 ? absl::StrCat("all ", Count(*of_healthy, "NVLink"), " active")
                                 : std::string("all NVLinks active");
  return std::move(findings).Finish(sentence.Tell(others), ExcerptOf(output, shown));
}

absl::StatusOr<CheckOutput> CheckGpuNvlinkErrors(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::string output, NvidiaSmiOutput(context.host, "nvlink -e"));
  const std::vector<GpuLinkErrors> gpus = ParseLinkErrors(output);
  const std::vector<Gpu> known = Identities(context.host);
  GpuFindings findings(context);
  std::size_t links = 0;
  for (const GpuLinkErrors& gpu : gpus) links += gpu.links.size();
  Sentence sentence("NVLink", links);
  int shown = gpus.empty() ? 0 : gpus.front().index;
  for (const GpuLinkErrors& gpu : gpus) {
    const Gpu identity = Identify(gpu.index, gpu.uuid, known);
    for (const auto& [link, errors] : gpu.links) {
      const v1::Device subject = findings.OfLink(identity, link);
      findings.Int("crc_errors", subject, errors.crc);
      findings.Int("replay_errors", subject, errors.replay);
      findings.Int("recovery_errors", subject, errors.recovery);
      if (errors.effective_ber.has_value()) {
        findings.Float("effective_ber", subject, errors.effective_ber);
      }
      // A counter at 0 has not grown; of any other, one reading does not tell.
      findings.Bool("growing", subject,
                    AllZero(errors) ? std::optional<bool>(false) : std::nullopt);
      if (!AllZero(errors)) {
        if (!sentence.has_special()) shown = gpu.index;
        sentence.Special(absl::StrCat(link, " of GPU ", gpu.index), ErrorText(errors));
      }
    }
  }
  if (links == 0) {
    return absl::FailedPreconditionError("no GPU of this node has an active NVLink with counters");
  }
  return std::move(findings).Finish(sentence.Tell("no error counted"), ExcerptOf(output, shown));
}

absl::StatusOr<CheckOutput> CheckGpuC2c(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::string output, NvidiaSmiOutput(context.host, "c2c -s"));
  const std::vector<GpuLinks> gpus = ParseLinkStatus(output);
  const std::vector<Gpu> known = Identities(context.host);
  GpuFindings findings(context);
  const auto with_links = std::count_if(gpus.begin(), gpus.end(),
                                        [](const GpuLinks& gpu) { return !gpu.links.empty(); });
  if (with_links == 0) {
    return absl::FailedPreconditionError("no GPU of this node has a C2C link to its CPU");
  }
  Sentence sentence("GPU", static_cast<std::size_t>(with_links));
  for (const GpuLinks& gpu : gpus) {
    if (gpu.links.empty()) continue;
    const Gpu identity = Identify(gpu.index, gpu.uuid, known);
    const auto total = static_cast<std::int64_t>(gpu.links.size());
    const std::int64_t down = total - ActiveLinks(gpu);
    findings.Int("links_down", findings.Of(identity), down).set_expected("0");
    findings.Bool("errors_growing", findings.Of(identity), std::nullopt);
    if (down > 0) {
      sentence.Special(identity, absl::StrCat(down, " of ", Count(total, "C2C link"), " down"));
    }
  }
  return std::move(findings).Finish(sentence.Tell("all C2C links up"), output);
}

}  // namespace galen::node
