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
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/counter_window.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/link_reports.h"
#include "services/node/checks/gpu/nvidia_smi.h"

namespace galen::node {
namespace {

// The GPUs of the state, or what a heading says of one where that was not captured.
std::vector<Gpu> Identities(const host::Host& host) {
  absl::StatusOr<GpuState> state = QueryNvidia(host);
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

// The link states as nvidia-smi lists them, from NVML if that was the source, and their text.
struct LinkStatus {
  std::vector<GpuLinks> gpus;
  std::string text;
};

std::string ReadingsOf(const GpuState& state, absl::string_view section) {
  std::string text;
  for (const GpuReading& reading : state.readings) {
    if (reading.section == section) {
      absl::StrAppend(&text, "GPU ", reading.gpu, ": ", reading.text, "\n");
    }
  }
  return text;
}

absl::StatusOr<LinkStatus> ReadLinkStatus(const host::Host& host,
                                          std::vector<GpuLinks> GpuState::*of_nvml,
                                          absl::string_view section, absl::string_view arguments) {
  if (host.live()) {
    const absl::StatusOr<GpuState> state = QueryNvidia(host);
    if (absl::IsDeadlineExceeded(state.status())) return state.status();
    if (state.ok() && !((*state).*of_nvml).empty()) {
      return LinkStatus{.gpus = (*state).*of_nvml, .text = ReadingsOf(*state, section)};
    }
  }
  GALEN_ASSIGN_OR_RETURN(std::string output, NvidiaSmiOutput(host, arguments));
  std::vector<GpuLinks> gpus = ParseLinkStatus(output);
  return LinkStatus{.gpus = std::move(gpus), .text = std::move(output)};
}

struct LinkCounters {
  std::vector<GpuLinkErrors> gpus;
  std::string text;
};

absl::StatusOr<LinkCounters> ReadLinkCounters(const host::Host& host) {
  if (host.live()) {
    const absl::StatusOr<GpuState> state = QueryNvidia(host);
    if (absl::IsDeadlineExceeded(state.status())) return state.status();
    if (state.ok() && !state->nvlink_errors.empty()) {
      return LinkCounters{.gpus = state->nvlink_errors, .text = ReadingsOf(*state, "nvlink")};
    }
  }
  GALEN_ASSIGN_OR_RETURN(std::string output, NvidiaSmiOutput(host, "nvlink -e"));
  std::vector<GpuLinkErrors> gpus = ParseLinkErrors(output);
  return LinkCounters{.gpus = std::move(gpus), .text = std::move(output)};
}

bool Grew(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  return before.has_value() && after.has_value() && *after > *before;
}

bool Grew(const LinkErrors& before, const LinkErrors& after) {
  return Grew(before.crc, after.crc) || Grew(before.replay, after.replay) ||
         Grew(before.recovery, after.recovery);
}

// Whether some counter was read both times.
bool BothKnow(const LinkErrors& before, const LinkErrors& after) {
  return (before.crc.has_value() && after.crc.has_value()) ||
         (before.replay.has_value() && after.replay.has_value()) ||
         (before.recovery.has_value() && after.recovery.has_value());
}

const LinkErrors* FindLink(const GpuState& state, int gpu, int link) {
  for (const GpuLinkErrors& errors : state.nvlink_errors) {
    if (errors.index != gpu) continue;
    const auto found = errors.links.find(link);
    return found == errors.links.end() ? nullptr : &found->second;
  }
  return nullptr;
}

bool AnyLinkGrew(const GpuState& before, const GpuState& after) {
  for (const GpuLinkErrors& gpu : before.nvlink_errors) {
    for (const auto& [link, errors] : gpu.links) {
      const LinkErrors* const later = FindLink(after, gpu.index, link);
      if (later != nullptr && Grew(errors, *later)) return true;
    }
  }
  return false;
}

// Whether the counters of the link grew within the window; unknown without a window.
std::optional<bool> GrewInWindow(const absl::StatusOr<CounterWindow>& window, int gpu, int link) {
  if (!window.ok()) return std::nullopt;
  const LinkErrors* const before = FindLink(window->before, gpu, link);
  const LinkErrors* const after = FindLink(window->after, gpu, link);
  if (before == nullptr || after == nullptr || !BothKnow(*before, *after)) return std::nullopt;
  return Grew(*before, *after);
}

// Boards whose links run over a bridge that is sold apart: links that are all down mean that there
// is no bridge. On all others the links are wired on the baseboard.
bool NeedsBridge(const GpuLinks& gpu, const std::vector<CheckData::Pattern>& boards) {
  return !CheckData::FirstMatch(boards, gpu.product).empty();
}

// How many links the GPU ought to have: what is known of its model, else what most of its siblings
// list. Unknown for boards with a bridge, which may connect any part of the links.
std::optional<std::int64_t> ExpectedLinks(const GpuLinks& gpu, const std::vector<GpuLinks>& all,
                                          const knowledge::Knowledge& knowledge,
                                          const std::vector<CheckData::Pattern>& boards) {
  if (NeedsBridge(gpu, boards)) {
    if (NoneActive(gpu)) return std::nullopt;
    return static_cast<std::int64_t>(gpu.links.size());
  }
  if (const auto links = HardwareFact(knowledge, gpu.product, "nvlinks"); links.has_value()) {
    return static_cast<std::int64_t>(*links);
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

bool AnyCounter(const LinkErrors& errors) {
  return errors.crc.has_value() || errors.replay.has_value() || errors.recovery.has_value();
}

// None of the counters that were read is above 0.
bool NoneCounted(const LinkErrors& errors) {
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

// No link of any GPU is active, and none is expected: which of them could have a bridge.
absl::StatusOr<CheckOutput> WithoutBridge(const CheckContext& context,
                                          const std::vector<GpuLinks>& gpus,
                                          const std::vector<Gpu>& known,
                                          const std::vector<CheckData::Pattern>& boards,
                                          absl::string_view output) {
  constexpr absl::string_view kWhy =
      "no NVLink bridge is installed: all links of all GPUs are inactive";
  GpuFindings findings(context);
  for (const GpuLinks& gpu : gpus) {
    if (!NeedsBridge(gpu, boards)) continue;
    findings.Bool("bridge_installed", findings.Of(Identify(gpu.index, gpu.uuid, known)), false);
  }
  if (!findings.any_known()) return absl::FailedPreconditionError(kWhy);
  return std::move(findings).Finish(std::string(kWhy), std::string(output));
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuNvlinkStatus(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "gpu.nvlink_status"));
  const std::vector<CheckData::Pattern> boards = data.Patterns("bridge_board");
  GALEN_ASSIGN_OR_RETURN(LinkStatus status,
                         ReadLinkStatus(context.host, &GpuState::nvlinks, "nvlink", "nvlink -s"));
  const std::string& output = status.text;
  std::vector<GpuLinks>& gpus = status.gpus;
  const bool alone = gpus.size() == 1;
  gpus.erase(std::remove_if(gpus.begin(), gpus.end(),
                            [](const GpuLinks& gpu) {
                              return gpu.not_supported || (gpu.links.empty() && !gpu.all_inactive);
                            }),
             gpus.end());
  if (gpus.empty()) {
    return absl::FailedPreconditionError("no GPU of this node has NVLink that can be asked");
  }
  const std::vector<Gpu> known = Identities(context.host);
  // A single GPU of a baseboard that was given to a virtual machine, for one.
  if (alone && known.size() <= 1 && NoneActive(gpus.front()) &&
      !NeedsBridge(gpus.front(), boards)) {
    return absl::FailedPreconditionError(
        "no NVLink of the only GPU is active, and nothing tells whether it is linked to any");
  }
  if (std::all_of(gpus.begin(), gpus.end(), [&](const GpuLinks& gpu) {
        return NoneActive(gpu) && !ExpectedLinks(gpu, gpus, context.knowledge, boards).has_value();
      })) {
    return WithoutBridge(context, gpus, known, boards, output);
  }
  GpuFindings findings(context);
  Sentence sentence("GPU", gpus.size());
  std::optional<std::int64_t> of_healthy;
  bool healthy_alike = true;
  int shown = gpus.front().index;
  for (const GpuLinks& gpu : gpus) {
    const Gpu identity = Identify(gpu.index, gpu.uuid, known);
    const v1::Device subject = findings.Of(identity);
    const std::int64_t active = ActiveLinks(gpu);
    const std::optional<std::int64_t> expected =
        ExpectedLinks(gpu, gpus, context.knowledge, boards);
    // A link that ought to be there and is not listed is as inactive as one that says so.
    std::optional<std::int64_t> inactive;
    if (expected.has_value()) inactive = std::max<std::int64_t>(*expected - active, 0);
    v1::Finding& count = findings.Int("links_active", subject, active);
    if (expected.has_value()) count.set_expected(absl::StrCat(*expected));
    findings.Int("links_expected", subject, expected);
    findings.Int("links_inactive", subject, inactive).set_expected("0");
    if (NeedsBridge(gpu, boards)) findings.Bool("bridge_installed", subject, active > 0);
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
  GALEN_ASSIGN_OR_RETURN(const LinkCounters counters, ReadLinkCounters(context.host));
  const std::string& output = counters.text;
  const std::vector<GpuLinkErrors>& gpus = counters.gpus;
  const std::vector<Gpu> known = Identities(context.host);
  GpuFindings findings(context);
  std::size_t links = 0;
  for (const GpuLinkErrors& gpu : gpus) links += gpu.links.size();
  absl::StatusOr<CounterWindow> window = absl::UnavailableError("no counter to watch");
  // A single reading does not show whether a counter grows.
  if (links > 0) window = WatchCounters(context, AnyLinkGrew);
  if (absl::IsCancelled(window.status())) return window.status();
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
      std::optional<bool> growing = GrewInWindow(window, gpu.index, link);
      // A counter at 0 has not grown; for any other value a single reading does not show it.
      if (!growing.has_value() && AnyCounter(errors) && NoneCounted(errors)) growing = false;
      findings.Bool("growing", subject, growing).set_expected("false");
      if (growing.value_or(false)) {
        if (!sentence.has_special()) shown = gpu.index;
        sentence.Special(
            absl::StrCat(link, " of GPU ", gpu.index),
            absl::StrCat(ErrorText(errors), NoneCounted(errors) ? "" : ", and ", "growing"));
      } else if (!NoneCounted(errors)) {
        if (!sentence.has_special()) shown = gpu.index;
        sentence.Special(absl::StrCat(link, " of GPU ", gpu.index), ErrorText(errors));
      } else if (!AnyCounter(errors)) {
        sentence.Special(absl::StrCat(link, " of GPU ", gpu.index), "no counter can be read");
      }
    }
  }
  if (links == 0) {
    return absl::FailedPreconditionError("no GPU of this node has an active NVLink with counters");
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no error counter of an active NVLink can be read");
  }
  return std::move(findings).Finish(sentence.Tell("no error counted"), ExcerptOf(output, shown));
}

absl::StatusOr<CheckOutput> CheckGpuC2c(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const LinkStatus status,
                         ReadLinkStatus(context.host, &GpuState::c2c_links, "c2c", "c2c -s"));
  const std::string& output = status.text;
  const std::vector<GpuLinks>& gpus = status.gpus;
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
