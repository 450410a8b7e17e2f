#include "services/node/checks/gpu/gpu_use.h"

#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "services/node/checks/gpu/gpu_query.h"

namespace galen::node {
namespace {

constexpr absl::string_view kAllow = "; allow busy devices to test all the same";

// The process that computes on AMD's GPUs, "used by python (4711)"; "" for none; no value if that
// is unknown. amdgpu lists every such process, of all containers, with the bytes that it holds of
// each GPU: /sys/class/kfd/kfd/proc/4711/vram_51545 (Linux
// drivers/gpu/drm/amd/amdkfd/kfd_process.c).
std::optional<std::string> KfdUser(const host::Host& host) {
  const auto paths = host.Glob("/sys/class/kfd/kfd/proc/*/vram_*");
  if (absl::IsNotFound(paths.status())) return std::string();
  if (!paths.ok()) return std::nullopt;
  for (const std::string& path : *paths) {
    const auto text = host.ReadFile(path);
    std::int64_t bytes = 0;
    if (!text.ok() || !absl::SimpleAtoi(*text, &bytes) || bytes <= 0) continue;
    const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
    const absl::string_view pid = parts[parts.size() - 2];
    const auto name = host.ReadFile(absl::StrCat("/proc/", pid, "/comm"));
    return absl::StrCat("used by ",
                        name.ok() ? CleanText(absl::StripAsciiWhitespace(*name), 64) : "a process",
                        " (", pid, ")");
  }
  return std::string();
}

}  // namespace

absl::Status UsersUnknown(const absl::Status& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot tell whether another process uses the GPUs: ", why.message(), kAllow));
}

std::optional<std::string> UserOf(const Gpu& gpu, std::optional<double> idle_memory_mib) {
  if (!gpu.processes.has_value()) return std::nullopt;
  for (const GpuProcess& process : *gpu.processes) {
    // Graphics alone (an X server) does not compute.
    if (absl::StrContains(process.type, "C")) {
      return absl::StrCat("used by ", CleanText(process.name, 64), " (", process.pid, ")");
    }
  }
  if (!idle_memory_mib.has_value()) return std::string();
  // Processes of other containers are not listed.
  if (!gpu.memory_used_mib.has_value()) return std::nullopt;
  if (*gpu.memory_used_mib > *idle_memory_mib) {
    return absl::StrCat(*gpu.memory_used_mib,
                        " MiB of its memory are used by nobody who is listed");
  }
  return std::string();
}

absl::Status RequireIdleGpus(const host::Host& host, std::optional<double> idle_memory_mib) {
  const absl::StatusOr<GpuState> state = QueryGpus(host);
  if (!state.ok()) return UsersUnknown(state.status());
  std::vector<std::string> users;
  const auto note = [&](const std::string& which, const std::optional<std::string>& user) {
    if (user == "") return;
    users.push_back(absl::StrCat(which, ": ", user.value_or(std::string(kUserUnknown))));
  };
  bool amd = false;
  for (const Gpu& gpu : state->gpus) {
    amd |= gpu.vendor == "AMD";
    if (gpu.lost || gpu.unreachable || gpu.vendor == "AMD") continue;
    note(DeviceName(gpu), UserOf(gpu, idle_memory_mib));
  }
  if (amd) note("AMD's GPUs", KfdUser(host));
  if (users.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(absl::StrJoin(users, "; "), kAllow));
}

}  // namespace galen::node
