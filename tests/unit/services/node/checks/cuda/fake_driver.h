#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_DRIVER_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_DRIVER_H_

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/base/cancellation.h"
#include "common/knowledge/load.h"
#include "common/knowledge/make_result.h"
#include "common/knowledge/rules.h"
#include "services/node/checks/cuda/cuda_checks.h"
#include "tests/testing/host/fake_host.h"

namespace galen::node {

// A machine with GPUs whose driver plays a script (fake_script.h): the checks start the real
// galen-gputest, and that loads the scripted libcuda.so.1 by its name.
class FakeGpuMachine {
 public:
  // The GPUs that nvidia-smi shows, idle, at the driver's addresses.
  explicit FakeGpuMachine(const std::string& script, int gpus = 2)
      : folder_(std::filesystem::temp_directory_path() /
                absl::StrCat("galen_fake_cuda_", getpid(), "_", next_++)) {
    std::filesystem::create_directories(folder_);
    // The memory test leaves 64 MiB free; the rest is enough to test and quick.
    std::ofstream(folder_ / "script") << "mib 66\nlog " << (folder_ / "log").string() << "\n"
                                      << script;
    setenv("LD_LIBRARY_PATH", GALEN_FAKE_DRIVER, 1);
    setenv("GALEN_FAKE_CUDA", (folder_ / "script").c_str(), 1);
    // The GPU tests must ignore this setting.
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    host_.SetLive(true);
    for (int i = 0; i < gpus; ++i) processes_.emplace_back();
    TellNvidiaSmi();
  }
  ~FakeGpuMachine() {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("GALEN_FAKE_CUDA");
    unsetenv("CUDA_VISIBLE_DEVICES");
    std::filesystem::remove_all(folder_);
  }

  // nvidia-smi does not report the used memory of a GPU.
  void HideMemory(int gpu) { UseMemory(gpu, -1); }

  // This much of a GPU's memory is used.
  void UseMemory(int gpu, int mib) {
    used_[gpu] = mib;
    TellNvidiaSmi();
  }

  testing::FakeHost& host() { return host_; }
  Cancellation& cancellation() { return cancellation_; }
  bool allow_busy = false;
  absl::Duration time = absl::Seconds(60);
  std::function<void(double, absl::string_view)> progress = nullptr;

  // "C": another process computes on that GPU.
  void Occupy(int gpu, const std::string& type = "C") {
    processes_[static_cast<std::size_t>(gpu)] =
        absl::StrCat("<process_info><pid>4711</pid><type>", type,
                     "</type><process_name>python</process_name><used_memory>100 MiB</used_memory>"
                     "</process_info>");
    TellNvidiaSmi();
  }

  // Runs the check as the executor does, judged by the shipped knowledge. Parameters: the test's
  // own, then short defaults for tests.
  galen::v1::CheckResult Run(const std::string& name,
                             std::map<std::string, std::string> parameters = {}) {
    const knowledge::v1::Check* const spec = Knowledge().FindCheck(name);
    galen::v1::CheckParameters asked;
    for (const auto& [key, value] : parameters) (*asked.mutable_values())[key] = value;
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"seconds", "0.1"}, {"mib", "1"}, {"size", "128"}, {"repeats", "2"}}) {
      for (const knowledge::v1::Parameter& known : spec->parameters()) {
        if (known.name() == key) (*asked.mutable_values()).insert({key, value});
      }
    }
    absl::StatusOr<Parameters> resolved = Parameters::Resolve(*spec, asked);
    if (!resolved.ok()) return knowledge::MakeResult(*spec, "node-1", resolved.status());
    for (const NamedCheck& check : CudaChecks()) {
      if (check.name != name) continue;
      return knowledge::MakeResult(*spec, "node-1",
                                   check.run({.host = host_,
                                              .knowledge = Knowledge(),
                                              .deadline = absl::Now() + time,
                                              .parameters = *resolved,
                                              .allow_busy = allow_busy,
                                              .cancelled = cancellation_,
                                              .progress = progress}));
    }
    return knowledge::ResultWithoutFindings(name, "node-1", galen::v1::CheckResult::ERROR,
                                            "no such check");
  }

  // The objects that each process of the driver reported as left behind.
  std::string LeftBehind() const {
    std::ifstream file(folder_ / "log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  static const knowledge::Knowledge& Knowledge() {
    static const auto* const knowledge = [] {
      std::vector<knowledge::Problem> problems;
      auto base =
          knowledge::Parse(std::vector<std::string>{GALEN_SOURCE_DIR "/knowledge"}, problems);
      return new knowledge::Knowledge(base.ok() ? *std::move(base)
                                                : knowledge::v1::KnowledgeBase());
    }();
    return *knowledge;
  }

 private:
  void TellNvidiaSmi() {
    std::string xml = absl::StrCat(
        "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<driver_version>550.54.14</driver_version>"
        "<cuda_version>12.4</cuda_version><attached_gpus>",
        processes_.size(), "</attached_gpus>\n");
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const auto used = used_.find(static_cast<int>(i));
      const int mib = used == used_.end() ? 3 : used->second;
      absl::StrAppend(&xml, absl::StrFormat("<gpu id=\"00000000:%02X:00.0\">", 0x10 + i),
                      "<product_name>NVIDIA A100-SXM4-80GB</product_name>",
                      "<mig_mode><current_mig>Disabled</current_mig></mig_mode>",
                      "<fb_memory_usage><total>81920 MiB</total><used>",
                      mib < 0 ? std::string("N/A") : absl::StrCat(mib, " MiB"),
                      "</used></fb_memory_usage>", "<processes>", processes_[i],
                      "</processes></gpu>\n");
    }
    host_.AddCommand("nvidia-smi -q -x", absl::StrCat(xml, "</nvidia_smi_log>\n"));
  }

  static inline int next_ = 0;
  const std::filesystem::path folder_;
  testing::FakeHost host_;
  Cancellation cancellation_;
  std::vector<std::string> processes_;
  std::map<int, int> used_;  // MiB; below 0: not reported
};

// The value of a finding as people read it, "unknown", or "(none)" if it was not emitted.
inline std::string ValueOf(const galen::v1::CheckResult& result, absl::string_view name,
                           absl::string_view device) {
  for (const galen::v1::Finding& finding : result.findings()) {
    if (finding.name() == name && finding.subject().device() == device) {
      return knowledge::ValueText(finding);
    }
  }
  return "(none)";
}

inline bool IsAbnormal(const galen::v1::CheckResult& result, absl::string_view name,
                       absl::string_view device) {
  for (const galen::v1::Finding& finding : result.findings()) {
    if (finding.name() == name && finding.subject().device() == device) return finding.abnormal();
  }
  return false;
}

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_DRIVER_H_
