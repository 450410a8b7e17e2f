#include "services/node/checks/gpu/nvidia_smi.h"

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxComplaintBytes = 400;

// nvidia-smi says so with exit code 6, and some versions with 0.
bool FindsNoGpu(absl::string_view complaint) {
  return absl::StrContains(complaint, "No devices were found");
}

// Sentences with which nvidia-smi answers instead of doing what it was asked.
bool IsRefusal(absl::string_view output) {
  return FindsNoGpu(output) || absl::StrContains(output, "NVIDIA-SMI has failed") ||
         absl::StrContains(output, "NVIDIA-SMI couldn't find") ||
         absl::StrContains(output, "Failed to initialize NVML") ||
         absl::StrContains(output, "Unable to determine the device handle");
}

absl::Status Refusal(absl::string_view command, const host::CommandResult& result,
                     absl::string_view complaint) {
  if (FindsNoGpu(complaint)) {
    return absl::FailedPreconditionError("nvidia-smi finds no GPU on this node");
  }
  if (complaint.empty()) complaint = "(no output)";
  // Not an error of the check: gpu.smi_health says that the driver fails, the others say nothing.
  return absl::UnavailableError(
      absl::StrCat(command, ": exit code ", result.exit_code, ": ", complaint));
}

}  // namespace

absl::StatusOr<host::CommandResult> RunNvidiaSmi(const host::Host& host,
                                                 absl::string_view arguments) {
  std::vector<std::string> argv = absl::StrSplit(arguments, ' ');
  argv.insert(argv.begin(), "nvidia-smi");
  absl::StatusOr<host::CommandResult> result = host.Run(argv);
  if (absl::IsNotFound(result.status())) {
    return absl::NotFoundError("nvidia-smi is not installed: no NVIDIA driver on this node");
  }
  return result;
}

absl::StatusOr<std::string> NvidiaSmiOutput(const host::Host& host, absl::string_view arguments) {
  GALEN_ASSIGN_OR_RETURN(const host::CommandResult result, RunNvidiaSmi(host, arguments));
  if (result.exit_code != 0 || IsRefusal(result.out)) {
    return Refusal(absl::StrCat("nvidia-smi ", arguments), result, Complaint(result));
  }
  return result.out;
}

absl::StatusOr<GpuState> StateOf(const host::CommandResult& result) {
  if (!absl::StrContains(result.out, "<nvidia_smi_log")) {
    return Refusal("nvidia-smi -q -x", result, Complaint(result));
  }
  if (result.truncated) {
    return absl::DataLossError("nvidia-smi -q -x: the output is longer than may be read");
  }
  // An exit code besides 0 with all of the XML is a warning, such as 14 for a corrupted infoROM.
  GALEN_ASSIGN_OR_RETURN(GpuState state, ParseGpuState(result.out));
  absl::StrAppend(&state.remarks, state.remarks.empty() ? "" : "\n",
                  absl::StripAsciiWhitespace(result.err));
  if (state.gpus.empty()) {
    return absl::FailedPreconditionError("nvidia-smi finds no GPU on this node");
  }
  return state;
}

std::string Complaint(const host::CommandResult& result) {
  absl::string_view before = result.out;
  absl::string_view after;
  if (const std::size_t begin = before.find("<?xml"); begin != absl::string_view::npos) {
    constexpr absl::string_view kClose = "</nvidia_smi_log>";
    const std::size_t close = before.find(kClose, begin);
    if (close != absl::string_view::npos) after = before.substr(close + kClose.size());
    before = before.substr(0, begin);
  }
  std::vector<std::string> lines;
  for (const absl::string_view text : {before, after, absl::string_view(result.err)}) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (!line.empty()) lines.emplace_back(line);
    }
  }
  const std::string text = absl::StrJoin(lines, " ");
  return CleanText(absl::StripSuffix(text, "."), kMaxComplaintBytes);
}

}  // namespace galen::node
