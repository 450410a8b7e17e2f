#include "services/node/checks/job/environment.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {

absl::StatusOr<CheckOutput> CheckUserEnv(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const auto environment, context.host.JobEnvironment());
  const std::string& node = context.host.name();
  std::vector<std::string> overrides;
  std::vector<std::string> debugging;
  CheckOutput output;
  const auto set = [&](const char* name) {
    const auto it = environment.find(name);
    return it == environment.end() || it->second.empty()
               ? std::string()
               : absl::StrCat(name, "=", CleanText(it->second, 256));
  };
  // Those that change which device or code a library takes.
  for (const char* name :
       {"HSA_OVERRIDE_GFX_VERSION", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "LD_PRELOAD",
        "CUDA_HOME", "RDMAV_FORK_SAFE", "IBV_FORK_SAFE", "HF_HOME", "TRITON_CACHE_DIR",
        "XDG_CACHE_HOME", "TORCH_CUDA_ARCH_LIST"}) {
    if (std::string text = set(name); !text.empty()) overrides.push_back(std::move(text));
  }
  // Set and empty they leave a program without a GPU.
  for (const char* name :
       {"HSA_OVERRIDE_GFX_VERSION", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const auto it = environment.find(name);
    if (it != environment.end() && it->second.empty()) overrides.push_back(absl::StrCat(name, "="));
  }
  for (const char* name : {"CUDA_LAUNCH_BLOCKING", "CUDA_INJECTION64_PATH", "AMD_SERIALIZE_KERNEL",
                           "TORCH_SHOW_CPP_STACKTRACES", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION"}) {
    if (std::string text = set(name); !text.empty() && !absl::EndsWith(text, "=0")) {
      debugging.push_back(std::move(text));
    }
  }
  const auto value = [&](const char* name) {
    const auto it = environment.find(name);
    return it == environment.end() || it->second.empty() ? std::string("none")
                                                         : CleanText(it->second, 512);
  };
  const auto list = [](const std::vector<std::string>& found) {
    return found.empty() ? std::string("none") : absl::StrJoin(found, " ");
  };
  output.findings = {TextFinding("ld_library_path", node, "", value("LD_LIBRARY_PATH")),
                     TextFinding("override", node, "", list(overrides)),
                     TextFinding("debug_variable", node, "", list(debugging)),
                     TextFinding("cuda_visible_devices", node, "", value("CUDA_VISIBLE_DEVICES"))};
  output.message = absl::StrCat("overriding variables: ", list(overrides),
                                "; debugging variables: ", list(debugging));
  return output;
}

absl::StatusOr<CheckOutput> CheckContainerRuntime(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto config = host.ReadFile("/etc/nvidia-container-runtime/config.toml");
  const auto daemon = host.ReadFile("/etc/docker/daemon.json");
  const auto info = host.Run(std::vector<std::string>{"nvidia-container-cli", "info"});
  if (!config.ok() && !daemon.ok() && !info.ok()) return config.status();
  CheckOutput output;
  std::optional<bool> no_cgroups;
  if (config.ok()) {
    static const RE2 setting(R"((?m)^\s*no-cgroups\s*=\s*true)");
    no_cgroups = RE2::PartialMatch(*config, setting);
  }
  std::optional<bool> registered;
  if (daemon.ok())
    registered = absl::StrContains(*daemon, "nvidia-container-runtime") ||
                 absl::StrContains(*daemon, "\"nvidia\"");
  const auto flag = [&](absl::string_view name, std::optional<bool> value) {
    output.findings.push_back(value.has_value() ? BoolFinding(name, node, "", *value)
                                                : UnknownFinding(name, node, ""));
  };
  flag("no_cgroups", no_cgroups);
  flag("runtime_registered", registered);
  std::string toolkit;
  if (const auto packages = Output(host, {"dpkg-query", "-W"}); packages.ok()) {
    static const RE2 package(R"((?m)^nvidia-container-toolkit(?::\w+)?[ \t]+(\d+(?:\.\d+){1,3}))");
    RE2::PartialMatch(*packages, package, &toolkit);
  }
  output.findings.push_back(toolkit.empty() ? UnknownFinding("toolkit_version", node, "")
                                            : TextFinding("toolkit_version", node, "", toolkit));
  // "none" means that the container asked for no GPU. "all" is set in many images, and "void" is
  // set with a CDI that passes GPUs in another way: neither is evidence.
  std::optional<bool> requested;
  if (const auto environment = host.JobEnvironment(); environment.ok()) {
    const auto it = environment->find("NVIDIA_VISIBLE_DEVICES");
    if (it != environment->end() && it->second == "none") requested = false;
  }
  flag("gpu_requested", requested);
  std::string error;
  if (info.ok()) {
    error = "none";
    if (info->exit_code != 0) {
      const absl::string_view complaint = info->err.empty() ? info->out : info->err;
      error = CleanText(complaint.substr(0, complaint.find('\n')), 300);
      if (error.empty()) error = absl::StrCat("exit status ", info->exit_code);
    }
  }
  output.findings.push_back(error.empty() ? UnknownFinding("cli_error", node, "")
                                          : TextFinding("cli_error", node, "", error));
  output.message = absl::StrCat(
      "container runtime: ", no_cgroups.value_or(false) ? "no-cgroups is set" : "default options",
      error.empty() || error == "none" ? "" : ", its CLI says: ", error == "none" ? "" : error);
  return output;
}

}  // namespace galen::node
