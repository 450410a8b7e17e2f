// galen-gputest TEST NAME=VALUE...: one active test of GPUs through the CUDA driver, in a process
// of its own, so that a driver that hangs or a cancel is ended by ending it (docs/decisions).
// Started by the node executor; prints lines (report.h). It needs nothing but the C and C++
// libraries and libcuda.so.1, and no root.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "services/node/checks/cuda/gputest/report.h"
#include "services/node/checks/cuda/gputest/tests.h"

namespace {

struct NamedTest {
  const char* name;
  void (*run)(const galen::node::cuda::Options& options);
};

constexpr NamedTest kTests[] = {
    {"list", galen::node::cuda::ListGpus},     {"init", galen::node::cuda::TestInit},
    {"memory", galen::node::cuda::TestMemory}, {"compute", galen::node::cuda::TestCompute},
    {"gemm", galen::node::cuda::TestGemm},     {"hbm", galen::node::cuda::TestDeviceMemoryRate},
    {"host", galen::node::cuda::TestHostRate}, {"peers", galen::node::cuda::TestPeers},
    {"stress", galen::node::cuda::TestStress},
};

}  // namespace

int main(int argc, char** argv) {
  using galen::node::cuda::kExitRefused;
  galen::node::cuda::Options options;
  const NamedTest* test = nullptr;
  for (const NamedTest& known : kTests) {
    if (argc > 1 && std::strcmp(argv[1], known.name) == 0) test = &known;
  }
  if (test == nullptr || !options.Parse(argc, argv, 2)) {
    std::cerr << "usage: galen-gputest";
    for (const NamedTest& known : kTests) std::cerr << (&known == kTests ? " " : "|") << known.name;
    std::cerr << " limit=SECONDS patience=FACTOR NAME=VALUE...\n";
    return kExitRefused;
  }
  // The parent is the only reader of the result, so the test ends with it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The last resort, should the parent be stopped: SIGALRM ends the process.
  alarm(options.Count("limit"));
  galen::node::cuda::SetPatience(options.Number("patience"));
  test->run(options);
  galen::node::cuda::Say("@done", {});
  return 0;
}
