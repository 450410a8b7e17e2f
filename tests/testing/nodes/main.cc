// Many hosts in one process, which register with execution and answer every check at once, or with
// faults on command. For loads, and for faults that real nodes do not have on demand.
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "tests/testing/nodes/simulated_nodes.h"

ABSL_FLAG(std::string, execution, "127.0.0.1:50053",
          "Replica of galen-execution to register with.");
ABSL_FLAG(int, hosts, 10000, "How many hosts there are: sim-0, sim-1, ...");
ABSL_FLAG(bool, own_addresses, false, "Each host at its own address, 127.1.x.y.");
ABSL_FLAG(int, slow, 0, "So many of the first hosts answer late.");
ABSL_FLAG(absl::Duration, slow_by, absl::Seconds(5), "How late.");
ABSL_FLAG(int, hanging, 0, "So many of the next hosts never answer.");
ABSL_FLAG(int, lying, 0, "So many of the next hosts answer for their neighbour.");
ABSL_FLAG(int, bytes, 100, "Size of the excerpt of each result.");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("simulates the node executors of many hosts");
  absl::ParseCommandLine(argc, argv);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  galen::testing::Behaviour behaviour;
  behaviour.hosts = absl::GetFlag(FLAGS_hosts);
  behaviour.slow = absl::GetFlag(FLAGS_slow);
  behaviour.slow_by = absl::GetFlag(FLAGS_slow_by);
  behaviour.hanging = absl::GetFlag(FLAGS_hanging);
  behaviour.lying = absl::GetFlag(FLAGS_lying);
  behaviour.bytes = absl::GetFlag(FLAGS_bytes);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const auto nodes = galen::testing::SimulatedNodes::Start(behaviour);
  absl::Status status = nodes.status();
  if (status.ok()) {
    status = galen::testing::RegisterAll(**nodes, absl::GetFlag(FLAGS_execution), behaviour.hosts,
                                         absl::GetFlag(FLAGS_own_addresses));
  }
  if (!status.ok()) {
    fprintf(stderr, "simulate_nodes: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  fprintf(stderr, "%d hosts (port %d)\n", behaviour.hosts, (*nodes)->port());
  int received = 0;
  sigwait(&signals, &received);
  return 0;
}
