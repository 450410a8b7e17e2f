#ifndef SERVICES_NODE_CHECKS_RDMA_VERBS_ENDPOINT_H_
#define SERVICES_NODE_CHECKS_RDMA_VERBS_ENDPOINT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "services/node/checks/rdma/verbs/verbs_library.h"

namespace galen::node {

// How the other side reaches an endpoint.
struct EndpointAddress {
  std::uint16_t lid = 0;
  std::array<std::uint8_t, 16> gid{};
  bool ethernet = false;
  int mtu = 0;                      // bytes: 256 to 4096
  std::uint32_t psn = 0;            // 24 bits
  std::vector<std::uint32_t> qpns;  // 24 bits each
  std::uint64_t target = 0;         // where to write to
  std::uint32_t rkey = 0;
};

// The parameters of an endpoint. Endpoint::Open() enforces all bounds.
struct EndpointOptions {
  std::string device;  // "mlx5_0"
  int port = 1;
  int gid_index = 0;
  int qps = 1;                       // 1 to 16
  int slots = 16;                    // messages in flight for each queue pair, 1 to 64
  std::size_t slot_bytes = 1 << 20;  // 4 KiB to 8 MiB; less where less memory may be locked
};

// Reliable connected queue pairs on one port, and the memory they write from and to: the first half
// is the source, the second half the target of the other side. Frees all it holds. Not thread-safe.
class Endpoint {
 public:
  // NOT_FOUND: no such device. FAILED_PRECONDITION: only that its port is not active.
  // PERMISSION_DENIED: this process may not open it, or may not lock any memory. UNAVAILABLE: the
  // adapter lacks a required feature, as EFA has no reliable connected queue pairs.
  // INVALID_ARGUMENT: out of bounds.
  static absl::StatusOr<std::unique_ptr<Endpoint>> Open(std::shared_ptr<const VerbsLibrary> library,
                                                        const EndpointOptions& options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const EndpointAddress& address() const { return address_; }
  int qps() const { return static_cast<int>(qps_.size()); }
  int slots() const { return slots_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  absl::Span<std::uint8_t> source() { return memory_.subspan(0, memory_.size() / 2); }
  absl::Span<std::uint8_t> target() { return memory_.subspan(memory_.size() / 2); }

  // Makes the slots no larger than `bytes`, as the other side's may be smaller.
  void ShrinkSlots(std::size_t bytes) { slot_bytes_ = std::min(slot_bytes_, bytes); }

  // Joins each queue pair with that of the same place in `remote`. ABORTED: it is not reached;
  // UNAVAILABLE: the adapter refuses; INVALID_ARGUMENT: `remote` has another number of queue pairs.
  absl::Status Connect(const EndpointAddress& remote);

  // Posts a write of the first `bytes` of source slot `slot` to the same place of the target.
  absl::Status PostWrite(int qp, const EndpointAddress& remote, int slot, std::size_t bytes);

  // Takes completions without waiting: the number of queue pair of each. ABORTED: a write failed,
  // with the adapter's word for it.
  absl::Status Poll(std::vector<int>* completed);

 private:
  Endpoint(std::shared_ptr<const VerbsLibrary> library, const EndpointOptions& options);
  absl::Status OpenPort();
  absl::Status LockMemory(std::size_t wanted);
  absl::Status MakeQueues(int qps);

  const std::shared_ptr<const VerbsLibrary> library_;
  const EndpointOptions options_;
  int slots_ = 0;
  std::size_t slot_bytes_ = 0;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_cq* cq_ = nullptr;
  std::vector<ibv_qp*> qps_;
  absl::Span<std::uint8_t> memory_;
  EndpointAddress address_;
};

// The MTU, in bytes, that a port runs with. Errors as Endpoint::Open().
absl::StatusOr<int> ActiveMtu(const VerbsLibrary& library, const std::string& device, int port);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_VERBS_ENDPOINT_H_
