#ifndef TESTS_TESTING_NODES_SIMULATED_NODES_H_
#define TESTS_TESTING_NODES_SIMULATED_NODES_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "galen/v1/evidence.pb.h"

namespace grpc {
class Server;
}

namespace galen::testing {

// Behaviour of simulated hosts. Hosts are SIM-0, SIM-1, ...; the first ones misbehave, as many as
// the fields say, in the order of the fields.
struct Behaviour {
  int hosts = 10000;
  int slow = 0;  // answer after `slow_by`
  absl::Duration slow_by = absl::Seconds(5);
  int hanging = 0;  // never answer
  int lying = 0;    // answer for their neighbour
  int bytes = 100;  // of the excerpt of a result
};

std::string HostName(int host);
// The result of a check on a healthy host.
v1::CheckResult ResultOf(absl::string_view check, absl::string_view node, int bytes);

// The node executors of many hosts, behind one port of the loopback interface: at 127.0.0.1, and at
// every other address of 127.0.0.0/8, so that each host can have an address of its own. Ends with
// the object.
class SimulatedNodes {
 public:
  static absl::StatusOr<std::unique_ptr<SimulatedNodes>> Start(const Behaviour& behaviour);
  ~SimulatedNodes();

  int port() const { return port_; }
  // The address of a host: the same for all, or its own.
  std::string AddressOf(int host, bool own) const;

 private:
  class Service;

  explicit SimulatedNodes(const Behaviour& behaviour);
  absl::Status Listen();
  void Accept();

  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int listener_ = -1;
  int stop_ = -1;  // an eventfd
  int port_ = 0;
  std::thread accepting_;
};

// Registers all hosts with execution at `target`, once, for ten minutes.
absl::Status RegisterAll(const SimulatedNodes& nodes, const std::string& target, int hosts,
                         bool own_addresses);

}  // namespace galen::testing

#endif  // TESTS_TESTING_NODES_SIMULATED_NODES_H_
