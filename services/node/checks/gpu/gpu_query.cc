#include "services/node/checks/gpu/gpu_query.h"

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/nvidia_smi.h"
#include "services/node/checks/gpu/nvml_source.h"
#include "services/node/checks/gpu/pci_devices.h"

namespace galen::node {
namespace {

using NvmlResult = std::shared_ptr<const nvml::Source::Result>;

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

// nvidia-smi warns of infoROMs by its exit code, and newer versions name the GPU.
void JudgeInforoms(int exit_code, GpuState& state) {
  const std::set<std::string> corrupted = CorruptedInforoms(state.remarks);
  const bool unnamed = exit_code == nvml::kCorruptedInforom && corrupted.empty();
  for (Gpu& gpu : state.gpus) {
    if (!unnamed) {
      gpu.inforom_corrupted = corrupted.contains(gpu.pci_address);
    } else if (state.gpus.size() == 1) {
      gpu.inforom_corrupted = true;
    }  // else some GPU's is, and nothing says which
  }
}

GpuReport ReportOf(const nvml::Source::Result& result) {
  const nvml::Answer& answer = result.answer;
  GpuReport report{.asked = "NVML",
                   .exit_code = answer.code,
                   .complaint = answer.complaint,
                   .duration = result.duration,
                   .state = answer.state};
  if (answer.state.gpus.empty()) {
    report.state = answer.code == nvml::kSuccess
                       ? absl::FailedPreconditionError("NVML finds no GPU on this node")
                       : absl::UnavailableError(
                             absl::StrCat("NVML: exit code ", answer.code, ": ", answer.complaint));
  }
  return report;
}

// Parsed answers of tools, each with the output that it was parsed from: a bundle gives the same
// output to every check, so it is parsed once.
class ReadAnswers {
 public:
  absl::StatusOr<GpuState> StateOf(const host::CommandResult& result) {
    {
      const MutexLock lock(mu_);
      for (const std::shared_ptr<const Answer>& answer : answers_) {
        if (answer->IsOf(result)) return answer->state;
      }
    }
    auto read = std::make_shared<const Answer>(Answer{result, node::StateOf(result)});
    const MutexLock lock(mu_);
    answers_.push_front(read);
    if (answers_.size() > kMost) answers_.pop_back();
    return read->state;
  }

 private:
  static constexpr std::size_t kMost = 8;

  struct Answer {
    host::CommandResult result;
    absl::StatusOr<GpuState> state;

    bool IsOf(const host::CommandResult& other) const {
      return result.exit_code == other.exit_code && result.truncated == other.truncated &&
             result.err == other.err && result.out == other.out;
    }
  };

  Mutex mu_;
  std::list<std::shared_ptr<const Answer>> answers_ ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<GpuState> ReadOnce(const host::CommandResult& result) {
  static auto* const answers = new ReadAnswers;
  return answers->StateOf(result);
}

absl::StatusOr<GpuReport> AskNvidiaSmi(const host::Host& host) {
  GALEN_ASSIGN_OR_RETURN(const host::CommandResult result, RunNvidiaSmi(host, "-q -x"));
  GpuReport report{.asked = "nvidia-smi -q -x",
                   .exit_code = result.exit_code,
                   .complaint = Complaint(result),
                   .duration = result.duration,
                   .state = host.live() ? StateOf(result) : ReadOnce(result)};
  if (report.state.ok()) JudgeInforoms(result.exit_code, *report.state);
  return report;
}

// NVML is not there, or is not what we know: nvidia-smi may still be.
bool Elsewhere(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsAborted(status);
}

// Whether lspci shows a GPU that NVIDIA's driver ought to know.
bool ShowsNvidiaGpu(const host::Host& host) {
  const absl::StatusOr<std::vector<PciDevice>> devices = ListPciDevices(host);
  return devices.ok() && std::any_of(devices->begin(), devices->end(), [](const PciDevice& device) {
           return IsNvidiaGpu(device) && !BelongsToGuest(device);
         });
}

}  // namespace

absl::StatusOr<GpuReport> AskNvidia(const host::Host& host) {
  if (host.live()) {
    const absl::StatusOr<NvmlResult> result = nvml::Source::OfProcess().Read();
    if (result.ok()) return ReportOf(**result);
    if (!Elsewhere(result.status())) return result.status();
  }
  return AskNvidiaSmi(host);
}

absl::StatusOr<GpuState> QueryNvidia(const host::Host& host) {
  GALEN_ASSIGN_OR_RETURN(GpuReport report, AskNvidia(host));
  return std::move(report.state);
}

absl::StatusOr<GpuState> QueryGpus(const host::Host& host) {
  absl::StatusOr<GpuState> nvidia = QueryNvidia(host);
  if (nvidia.ok() || (!absl::IsNotFound(nvidia.status()) && !absl::IsUnavailable(nvidia.status()) &&
                      !absl::IsFailedPrecondition(nvidia.status()))) {
    return nvidia;
  }
  absl::StatusOr<GpuState> amd = QueryAmd(host);
  if (amd.ok()) {
    // The integrated GPU of the CPU does not replace GPUs whose driver is loaded and lists none.
    const bool owed = !absl::IsNotFound(nvidia.status()) && ShowsNvidiaGpu(host);
    return owed ? nvidia : amd;
  }
  // A tool of AMD that is there and fails says more than that NVIDIA's is not.
  const bool absent = absl::IsNotFound(amd.status()) || absl::IsUnavailable(amd.status());
  return absent ? nvidia.status() : amd.status();
}

absl::StatusOr<GpuState> QueryGpusAgain(const host::Host& host) {
  if (!host.live()) return absl::UnavailableError("a bundle holds one reading");
  const absl::StatusOr<NvmlResult> result = nvml::Source::OfProcess().ReadAnew();
  if (result.ok()) return ReportOf(**result).state;
  if (!Elsewhere(result.status())) return result.status();
  absl::StatusOr<GpuState> amd = ReadAmdSysfs(host);
  if (amd.ok()) return amd;
  return absl::UnavailableError("no counter of a GPU can be read twice on this node");
}

}  // namespace galen::node
