#ifndef SERVICES_NODE_CHECKS_RDMA_VERBS_MEASURE_H_
#define SERVICES_NODE_CHECKS_RDMA_VERBS_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/node/checks/net/tcp/tcp.h"
#include "services/node/checks/rdma/verbs/endpoint.h"
#include "services/node/checks/rdma/verbs/traffic.h"

namespace galen::node {

// A port to measure at, and which of its addresses to use.
struct MeasuredPort {
  std::string device;
  int port = 1;
  int gid_index = 0;
};

// How to measure.
struct MeasureOptions {
  int qps = 4;                                 // 1 to 16
  std::size_t message_bytes = 1 << 20;         // 4 KiB to 8 MiB
  absl::Duration duration = absl::Seconds(2);  // of each of two bandwidth measurements
  // The extra time that the adapter's own retries may take before a measurement counts as
  // unanswered.
  absl::Duration grace = absl::Seconds(10);
};

// The measurements of one port.
struct Measured {
  MeasuredPort own;
  std::string peer;    // device of the other side; "" where it is not known
  std::string failed;  // why no data, or not all, came through; "" when it did
  // The reason why no test was possible, which is not evidence about the link: a node may not open
  // its device, the device has no such queues, or the time was over. "" when it was possible.
  std::string unmeasured;
  bool unmeasured_by_peer = false;  // the other node is the one that could not test
  std::size_t message_bytes = 0;    // of one write: less than asked for where memory is short
  double gbps_one = 0;              // over one queue pair, payload in 10^9 bits a second
  double gbps_many = 0;             // over all of them
  Latency latency;
  std::uint64_t wrong_words = 0;  // of the 8-byte words that arrived other than they were sent
};

// Notes in `measured` that a port did not open: a port that is not active is a failure, because
// data cannot pass it; every other reason leaves it unmeasured.
void TellUnopened(const absl::Status& status, Measured* measured);

// Measures a port with itself: two endpoints, write and verify. The result reports a failed
// transfer, a port that does not open and one that no time is left for. INVALID_ARGUMENT as
// Endpoint::Open(), and CANCELLED.
absl::StatusOr<Measured> MeasureLoopback(const std::shared_ptr<const VerbsLibrary>& library,
                                         const MeasuredPort& port, const MeasureOptions& options,
                                         const WaitLimits& limits);

// Two nodes measure between their ports: the first port of the one with the first of the other, and
// so on, as many as both have. They agree over one TCP connection in lines of text (PairMessage);
// the client leads:
//
//   client                                            server
//   hello version=1 token=T                        →
//                                                  ←  welcome ports=N
//   try index=I qps=Q bytes=B seed=S device=D ENDPOINT →    (or: skip index=I device=D reason=R)
//                                                  ←  ready device=D bytes=B ENDPOINT
//                                                        (or: refused device=D reason=R)
//   measured one=G many=G median=U p99=U bytes=B → (or: failed reason=R)
//                                                  ←  verified wrong=W
//   bye                                            →
//
// Word unmeasured=1 of skip, refused and failed says that nothing could be tried: the port is not
// known to be bad.
//
// The client writes to the server's memory, which the server then compares with what the seed
// gives. A line is at most 1024 bytes. The server takes no line but a hello with its token; whoever
// sends another is hung up on. Both give up at their deadline, and free all when they end.

// Waits on `listener` for the client that knows `token`. DEADLINE_EXCEEDED: none came. ABORTED: it
// went away in the middle.
absl::StatusOr<std::vector<Measured>> ServePair(const std::shared_ptr<const VerbsLibrary>& library,
                                                const std::vector<MeasuredPort>& ports,
                                                const std::string& token, Listener& listener,
                                                const WaitLimits& limits);

// Measures with the server at `peer`. Calls `on_port` before each port with its number and the
// total. ABORTED: the server is unreachable, or disconnected during the test.
absl::StatusOr<std::vector<Measured>> MeasurePair(
    const std::shared_ptr<const VerbsLibrary>& library, const std::vector<MeasuredPort>& ports,
    const MeasureOptions& options, const std::string& token, const SocketAddress& peer,
    const std::function<void(int port, int ports)>& on_port, const WaitLimits& limits);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_VERBS_MEASURE_H_
