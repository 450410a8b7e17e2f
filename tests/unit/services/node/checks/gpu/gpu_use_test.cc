#include "services/node/checks/gpu/gpu_use.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gpu_xml.h"
#include "gtest/gtest.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace gpu_use_test {

using ::galen::testing::FakeHost;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kIdle = 1024;

// A GPU with `used` MiB in use, and these processes.
std::string Gpu(absl::string_view bus, int used, absl::string_view processes) {
  return GpuXml(
      bus, absl::StrCat("<fb_memory_usage><total>81920 MiB</total><used>", used,
                        " MiB</used></fb_memory_usage><processes>", processes, "</processes>"));
}

std::string Process(absl::string_view type) {
  return absl::StrCat("<process_info><pid>4711</pid><type>", type,
                      "</type><process_name>python</process_name><used_memory>512 MiB</used_memory>"
                      "</process_info>");
}

absl::Status Nvidia(const std::string& second) {
  FakeHost host;
  host.AddCommand("nvidia-smi -q -x", SmiXml({Gpu("17", 500, Process("G")), second}));
  return RequireIdleGpus(host, kIdle);
}

TEST(RequireIdleGpus, WhoComputesIsNamedAndGraphicsAloneDoesNot) {
  EXPECT_THAT(Nvidia(Gpu("b3", 500, "")), IsOk());
  EXPECT_THAT(
      Nvidia(Gpu("b3", 500, Process("C"))),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("gpu:1: used by python (4711)"), HasSubstr("allow busy devices"))));
}

TEST(RequireIdleGpus, MemoryOfNobodyIsThatOfAnotherContainer) {
  EXPECT_THAT(Nvidia(Gpu("b3", 40000, "")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("gpu:1: 40000 MiB of its memory are used by nobody")));
  FakeHost host;
  host.AddCommand("nvidia-smi -q -x", SmiXml({Gpu("17", 40000, "")}));
  EXPECT_THAT(RequireIdleGpus(host, std::nullopt), IsOk());
}

TEST(RequireIdleGpus, WhereNobodyCanTellNothingIsLoaded) {
  EXPECT_THAT(Nvidia(GpuXml("b3", "<processes>N/A</processes>")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("gpu:1: nobody can tell whether another process uses it")));
  FakeHost host;
  host.AddAbsentCommand("nvidia-smi -q -x");
  EXPECT_THAT(RequireIdleGpus(host, kIdle),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("cannot tell whether another process uses the GPUs")));
}

TEST(RequireIdleGpus, OfAmdTheKernelNamesTheProcess) {
  FakeHost host;
  host.AddAbsentCommand("nvidia-smi -q -x");
  host.AddCommand("amd-smi static --json",
                  R"([{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"},
                      "bus": {"bdf": "0000:26:00.0"}}])");
  host.AddFile("/sys/class/kfd/kfd/proc/815/vram_51545", "0\n");
  EXPECT_THAT(RequireIdleGpus(host, kIdle), IsOk());
  host.AddFile("/sys/class/kfd/kfd/proc/4711/vram_51545", "206158430208\n");
  host.AddFile("/proc/4711/comm", "python\n");
  EXPECT_THAT(RequireIdleGpus(host, kIdle),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("AMD's GPUs: used by python (4711)")));
}

}  // namespace gpu_use_test
}  // namespace galen::node
