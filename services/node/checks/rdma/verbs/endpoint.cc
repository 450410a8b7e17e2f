#include "services/node/checks/rdma/verbs/endpoint.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::node {
namespace {

constexpr int kMostQps = 16;
constexpr int kMostSlots = 64;
constexpr std::size_t kLeastSlotBytes = 4096;
constexpr std::size_t kMostSlotBytes = 8 << 20;
constexpr int kPollBatch = 16;
// 4.096 us * 2^17 = 537 ms for an answer, and seven tries: a link that is gone shows within a few
// seconds, one that drops now and then does not (InfiniBand Architecture Specification 1, 9.7.6).
constexpr std::uint8_t kTimeout = 17;
constexpr std::uint8_t kRetries = 7;

ibv_mtu MtuCode(int bytes) {
  switch (bytes) {
    case 256:
      return IBV_MTU_256;
    case 512:
      return IBV_MTU_512;
    case 2048:
      return IBV_MTU_2048;
    case 4096:
      return IBV_MTU_4096;
    default:
      return IBV_MTU_1024;
  }
}

absl::Status Refused(absl::string_view what, int error) {
  const std::string text = absl::StrCat(what, ": ", std::strerror(error));
  if (error == EPERM || error == EACCES) return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

// The codes of verbs are 1 to 5 for 256 to 4096 bytes.
int MtuBytes(ibv_mtu code) { return 128 << std::clamp(static_cast<int>(code), 1, 5); }

absl::StatusOr<ibv_context*> OpenDevice(const VerbsLibrary& library, const std::string& name) {
  int count = 0;
  ibv_device** const devices = library.get_device_list(&count);
  if (devices == nullptr) return Refused("the list of RDMA devices", errno);
  bool found = false;
  ibv_context* context = nullptr;
  int error = 0;
  for (int i = 0; i < count && !found; ++i) {
    if (name != library.get_device_name(devices[i])) continue;
    found = true;
    context = library.open_device(devices[i]);
    error = errno;
  }
  library.free_device_list(devices);
  if (!found) return absl::NotFoundError(absl::StrCat(name, ": no such RDMA device"));
  if (context == nullptr) return Refused(absl::StrCat(name, ": it does not open"), error);
  return context;
}

absl::StatusOr<ibv_port_attr> AskPort(const VerbsLibrary& library, ibv_context* context,
                                      const std::string& device, int port) {
  ibv_port_attr attributes = {};
  const int failed = library.query_port(context, static_cast<std::uint8_t>(port),
                                        reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  if (failed != 0) return Refused(absl::StrCat(device, " port ", port), failed);
  return attributes;
}

}  // namespace

absl::StatusOr<int> ActiveMtu(const VerbsLibrary& library, const std::string& device, int port) {
  GALEN_ASSIGN_OR_RETURN(ibv_context* const context, OpenDevice(library, device));
  const auto attributes = AskPort(library, context, device, port);
  library.close_device(context);
  if (!attributes.ok()) return attributes.status();
  return MtuBytes(attributes->active_mtu);
}

Endpoint::Endpoint(std::shared_ptr<const VerbsLibrary> library, const EndpointOptions& options)
    : library_(std::move(library)), options_(options), slots_(options.slots) {}

absl::StatusOr<std::unique_ptr<Endpoint>> Endpoint::Open(
    std::shared_ptr<const VerbsLibrary> library, const EndpointOptions& options) {
  if (options.qps < 1 || options.qps > kMostQps || options.slots < 1 ||
      options.slots > kMostSlots || options.slot_bytes < kLeastSlotBytes ||
      options.slot_bytes > kMostSlotBytes || options.port < 1 || options.port > 255 ||
      options.gid_index < 0 || options.gid_index > 255) {
    return absl::InvalidArgumentError("RDMA test: a number is out of its bounds");
  }
  std::unique_ptr<Endpoint> endpoint(new Endpoint(std::move(library), options));
  GALEN_RETURN_IF_ERROR(endpoint->OpenPort());
  GALEN_RETURN_IF_ERROR(endpoint->LockMemory(options.slot_bytes));
  GALEN_RETURN_IF_ERROR(endpoint->MakeQueues(options.qps));
  return endpoint;
}

Endpoint::~Endpoint() {
  // In the order that the library asks for: what is used by something goes after it.
  for (ibv_qp* qp : qps_) library_->destroy_qp(qp);
  if (cq_ != nullptr) library_->destroy_cq(cq_);
  if (mr_ != nullptr) library_->dereg_mr(mr_);
  if (pd_ != nullptr) library_->dealloc_pd(pd_);
  if (context_ != nullptr) library_->close_device(context_);
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

absl::Status Endpoint::OpenPort() {
  GALEN_ASSIGN_OR_RETURN(context_, OpenDevice(*library_, options_.device));
  GALEN_ASSIGN_OR_RETURN(const ibv_port_attr port,
                         AskPort(*library_, context_, options_.device, options_.port));
  if (port.state != IBV_PORT_ACTIVE) {
    return absl::FailedPreconditionError(
        absl::StrCat(options_.device, " port ", options_.port, " is not active"));
  }
  ibv_gid gid = {};
  if (library_->query_gid(context_, static_cast<std::uint8_t>(options_.port), options_.gid_index,
                          &gid) != 0) {
    return Refused(absl::StrCat(options_.device, " GID ", options_.gid_index), errno);
  }
  address_.lid = port.lid;
  address_.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  address_.mtu = MtuBytes(port.active_mtu);
  std::copy(std::begin(gid.raw), std::end(gid.raw), address_.gid.begin());
  return absl::OkStatus();
}

absl::Status Endpoint::LockMemory(std::size_t wanted) {
  pd_ = library_->alloc_pd(context_);
  if (pd_ == nullptr) return Refused(absl::StrCat(options_.device, ": protection domain"), errno);
  int error = ENOMEM;
  // Services may often lock no more than 8 MiB (systemd's default): smaller messages then have to
  // do. Buffers that fit may use up such a limit, and the queues are locked too: half of it is left
  // for them.
  bool leave_room = false;
  for (slot_bytes_ = wanted; slot_bytes_ >= kLeastSlotBytes; slot_bytes_ /= 2) {
    const std::size_t bytes = 2 * static_cast<std::size_t>(slots_) * slot_bytes_;
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return absl::ResourceExhaustedError("RDMA test: no memory");
    memory_ = absl::MakeSpan(static_cast<std::uint8_t*>(memory), bytes);
    mr_ = library_->reg_mr(pd_, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    const bool fits = mr_ != nullptr;
    if (fits && (slot_bytes_ == wanted || leave_room || slot_bytes_ / 2 < kLeastSlotBytes)) break;
    if (fits) {
      leave_room = true;
      library_->dereg_mr(mr_);
      mr_ = nullptr;
    } else {
      error = errno;
    }
    munmap(memory, bytes);
    memory_ = {};
    if (!fits && error != ENOMEM) break;
  }
  if (mr_ == nullptr) {
    if (error == ENOMEM) {
      return absl::PermissionDeniedError(
          "no memory may be locked for RDMA: raise the limit memlock (LimitMEMLOCK=infinity)");
    }
    return Refused(absl::StrCat(options_.device, ": registering memory"), error);
  }
  address_.rkey = mr_->rkey;
  address_.target = reinterpret_cast<std::uint64_t>(target().data());
  return absl::OkStatus();
}

absl::Status Endpoint::MakeQueues(int qps) {
  cq_ = library_->create_cq(context_, qps * slots_, nullptr, nullptr, 0);
  if (cq_ == nullptr) return Refused(absl::StrCat(options_.device, ": completion queue"), errno);
  for (int i = 0; i < qps; ++i) {
    ibv_qp_init_attr make = {};
    make.send_cq = cq_;
    make.recv_cq = cq_;
    make.qp_type = IBV_QPT_RC;
    make.cap.max_send_wr = static_cast<std::uint32_t>(slots_);
    make.cap.max_recv_wr = 1;
    make.cap.max_send_sge = 1;
    make.cap.max_recv_sge = 1;
    ibv_qp* const qp = library_->create_qp(pd_, &make);
    if (qp == nullptr) return Refused(absl::StrCat(options_.device, ": queue pair"), errno);
    qps_.push_back(qp);
    address_.qpns.push_back(qp->qp_num);
    ibv_qp_attr set = {};
    set.qp_state = IBV_QPS_INIT;
    set.port_num = static_cast<std::uint8_t>(options_.port);
    set.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    const int failed = library_->modify_qp(
        qp, &set, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (failed != 0) return Refused(absl::StrCat(options_.device, ": queue pair to INIT"), failed);
  }
  address_.psn = std::random_device()() & 0xffffff;
  return absl::OkStatus();
}

absl::Status Endpoint::Connect(const EndpointAddress& remote) {
  if (remote.qpns.size() != qps_.size()) {
    return absl::InvalidArgumentError("RDMA test: the two sides have different numbers of queues");
  }
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    ibv_qp_attr set = {};
    set.qp_state = IBV_QPS_RTR;
    set.path_mtu = MtuCode(std::min(address_.mtu, remote.mtu));
    set.dest_qp_num = remote.qpns[i];
    set.rq_psn = remote.psn;
    set.max_dest_rd_atomic = 1;
    set.min_rnr_timer = 12;
    set.ah_attr.dlid = remote.lid;
    set.ah_attr.port_num = static_cast<std::uint8_t>(options_.port);
    if (address_.ethernet || remote.lid == 0) {
      set.ah_attr.is_global = 1;
      std::copy(remote.gid.begin(), remote.gid.end(), std::begin(set.ah_attr.grh.dgid.raw));
      set.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(options_.gid_index);
      set.ah_attr.grh.hop_limit = 64;
    }
    int failed =
        library_->modify_qp(qps_[i], &set,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (failed != 0) {
      return absl::AbortedError(
          absl::StrCat(options_.device, " cannot reach the other side: ", std::strerror(failed)));
    }
    set = {};
    set.qp_state = IBV_QPS_RTS;
    set.timeout = kTimeout;
    set.retry_cnt = kRetries;
    set.rnr_retry = kRetries;
    set.sq_psn = address_.psn;
    set.max_rd_atomic = 1;
    failed = library_->modify_qp(qps_[i], &set,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (failed != 0) return Refused(absl::StrCat(options_.device, ": queue pair to RTS"), failed);
  }
  return absl::OkStatus();
}

absl::Status Endpoint::PostWrite(int qp, const EndpointAddress& remote, int slot,
                                 std::size_t bytes) {
  const std::size_t offset = static_cast<std::size_t>(slot) * slot_bytes_;
  ibv_sge piece = {};
  piece.addr = reinterpret_cast<std::uint64_t>(source().data() + offset);
  piece.length = static_cast<std::uint32_t>(std::min(bytes, slot_bytes_));
  piece.lkey = mr_->lkey;
  ibv_send_wr work = {};
  work.wr_id = static_cast<std::uint64_t>(qp);
  work.sg_list = &piece;
  work.num_sge = 1;
  work.opcode = IBV_WR_RDMA_WRITE;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.rdma.remote_addr = remote.target + offset;
  work.wr.rdma.rkey = remote.rkey;
  ibv_send_wr* bad = nullptr;
  const int failed = ibv_post_send(qps_[static_cast<std::size_t>(qp)], &work, &bad);
  if (failed != 0) {
    return absl::AbortedError(
        absl::StrCat(options_.device, ": a write was not taken: ", std::strerror(failed)));
  }
  return absl::OkStatus();
}

absl::Status Endpoint::Poll(std::vector<int>* completed) {
  completed->clear();
  std::array<ibv_wc, kPollBatch> done;
  const int count = ibv_poll_cq(cq_, kPollBatch, done.data());
  if (count < 0) return absl::AbortedError(absl::StrCat(options_.device, ": no completions"));
  for (int i = 0; i < count; ++i) {
    const ibv_wc& one = done[static_cast<std::size_t>(i)];
    if (one.status != IBV_WC_SUCCESS) {
      return absl::AbortedError(
          absl::StrCat(options_.device, ": a write failed: ", library_->wc_status_str(one.status),
                       " (vendor error ", one.vendor_err, ")"));
    }
    completed->push_back(static_cast<int>(one.wr_id));
  }
  return absl::OkStatus();
}

}  // namespace galen::node
