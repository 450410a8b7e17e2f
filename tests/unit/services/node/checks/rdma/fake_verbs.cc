// A libibverbs.so.1 that answers from a script: the functions that Galen calls, and no adapter.
#include "tests/unit/services/node/checks/rdma/fake_verbs.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#undef ibv_query_port
#undef ibv_reg_mr

namespace {

struct FakeCq {
  ibv_cq cq{};
  std::deque<ibv_wc> done;
};
struct FakeQp {
  ibv_qp qp{};
  FakeCq* completions = nullptr;
  std::uint32_t remote = 0;
};

struct World {
  std::mutex mu;
  FakeVerbsScript script;
  int open = 0;
  int writes = 0;
  std::size_t locked = 0;
  std::uint32_t next_qpn = 17;
  std::uint32_t next_key = 100;
  std::map<std::uint32_t, FakeQp*> qps;
  std::map<std::uint32_t, ibv_mr*> regions;
  ibv_device device{};
};
World& TheWorld() {
  static World* const world = new World;  // as the real one's, its state outlives all callers
  return *world;
}

int PostSend(ibv_qp* qp, ibv_send_wr* work, ibv_send_wr** bad) {
  World& world = TheWorld();
  const std::lock_guard<std::mutex> lock(world.mu);
  auto* const fake = reinterpret_cast<FakeQp*>(qp);
  ibv_wc done = {};
  done.wr_id = work->wr_id;
  done.status = IBV_WC_SUCCESS;
  if (qp->state != IBV_QPS_RTS) {
    *bad = work;
    return EINVAL;
  }
  if (world.script.swallows) return 0;
  const auto region = world.regions.find(work->wr.rdma.rkey);
  const std::uint64_t from = work->sg_list[0].addr;
  const std::uint64_t to = work->wr.rdma.remote_addr;
  const std::uint32_t bytes = work->sg_list[0].length;
  if (region == world.regions.end() || to < reinterpret_cast<std::uint64_t>(region->second->addr) ||
      to + bytes > reinterpret_cast<std::uint64_t>(region->second->addr) + region->second->length ||
      world.qps.find(fake->remote) == world.qps.end()) {
    done.status = IBV_WC_REM_ACCESS_ERR;
  } else if (world.script.fails_after >= 0 && world.writes >= world.script.fails_after) {
    done.status = IBV_WC_RETRY_EXC_ERR;
    done.vendor_err = 129;
  } else {
    ++world.writes;
    auto* const target = reinterpret_cast<unsigned char*>(to);
    std::memcpy(target, reinterpret_cast<const void*>(from), bytes);
    if (world.script.corrupts) target[0] ^= 1;
  }
  fake->completions->done.push_back(done);
  return 0;
}

int PollCq(ibv_cq* cq, int most, ibv_wc* done) {
  const std::lock_guard<std::mutex> lock(TheWorld().mu);
  auto* const fake = reinterpret_cast<FakeCq*>(cq);
  int count = 0;
  while (count < most && !fake->done.empty()) {
    done[count++] = fake->done.front();
    fake->done.pop_front();
  }
  return count;
}

constexpr std::size_t kPage = 4096;

// Locks this much more memory if it is allowed.
bool Lock(World& world, std::size_t bytes) {
  if (world.locked > world.script.most_locked || bytes > world.script.most_locked - world.locked) {
    errno = ENOMEM;
    return false;
  }
  world.locked += bytes;
  return true;
}

void Count(int change) {
  const std::lock_guard<std::mutex> lock(TheWorld().mu);
  TheWorld().open += change;
}

}  // namespace

extern "C" {

void fake_verbs_set(const FakeVerbsScript* script) {
  const std::lock_guard<std::mutex> lock(TheWorld().mu);
  TheWorld().script = *script;
  TheWorld().writes = 0;
}
int fake_verbs_open() {
  const std::lock_guard<std::mutex> lock(TheWorld().mu);
  return TheWorld().open;
}

ibv_device** ibv_get_device_list(int* count) {
  *count = 1;
  auto** const list = new ibv_device*[2];
  list[0] = &TheWorld().device;
  list[1] = nullptr;
  return list;
}
void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device*) { return "fake0"; }
ibv_context* ibv_open_device(ibv_device* device) {
  auto* const context = new ibv_context{};
  context->device = device;
  context->ops.post_send = PostSend;
  context->ops.poll_cq = PollCq;
  Count(1);
  return context;
}
int ibv_close_device(ibv_context* context) {
  delete context;
  Count(-1);
  return 0;
}
int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr* attributes) {
  const std::lock_guard<std::mutex> lock(TheWorld().mu);
  auto* const port = reinterpret_cast<ibv_port_attr*>(attributes);
  port->state = TheWorld().script.port_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  port->active_mtu = IBV_MTU_4096;
  port->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}
int ibv_query_gid(ibv_context*, uint8_t, int, ibv_gid* gid) {
  std::memset(gid, 7, sizeof(*gid));
  return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* const pd = new ibv_pd{};
  pd->context = context;
  Count(1);
  return pd;
}
int ibv_dealloc_pd(ibv_pd* pd) {
  delete pd;
  Count(-1);
  return 0;
}
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t bytes, int) {
  World& world = TheWorld();
  const std::lock_guard<std::mutex> lock(world.mu);
  if (!Lock(world, bytes)) return nullptr;
  auto* const mr = new ibv_mr{};
  mr->context = pd->context;
  mr->addr = address;
  mr->length = bytes;
  mr->lkey = mr->rkey = world.next_key++;
  world.regions[mr->rkey] = mr;
  ++world.open;
  return mr;
}
int ibv_dereg_mr(ibv_mr* mr) {
  World& world = TheWorld();
  const std::lock_guard<std::mutex> lock(world.mu);
  world.regions.erase(mr->rkey);
  world.locked -= mr->length;
  delete mr;
  --world.open;
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int, void*, ibv_comp_channel*, int) {
  World& world = TheWorld();
  const std::lock_guard<std::mutex> lock(world.mu);
  if (!Lock(world, kPage)) return nullptr;
  auto* const cq = new FakeCq;
  cq->cq.context = context;
  ++world.open;
  return &cq->cq;
}
int ibv_destroy_cq(ibv_cq* cq) {
  World& world = TheWorld();
  const std::lock_guard<std::mutex> lock(world.mu);
  delete reinterpret_cast<FakeCq*>(cq);
  world.locked -= kPage;
  --world.open;
  return 0;
}
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  World& world = TheWorld();
  const std::lock_guard<std::mutex> lock(world.mu);
  if (world.script.datagrams_only && attributes->qp_type == IBV_QPT_RC) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  if (!Lock(world, kPage)) return nullptr;
  auto* const qp = new FakeQp;
  qp->qp.context = pd->context;
  qp->qp.qp_num = world.next_qpn++;
  qp->completions = reinterpret_cast<FakeCq*>(attributes->send_cq);
  world.qps[qp->qp.qp_num] = qp;
  ++world.open;
  return &qp->qp;
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  const std::lock_guard<std::mutex> lock(TheWorld().mu);
  if ((mask & IBV_QP_DEST_QPN) != 0) {
    reinterpret_cast<FakeQp*>(qp)->remote = attributes->dest_qp_num;
  }
  qp->state = attributes->qp_state;
  return 0;
}
int ibv_destroy_qp(ibv_qp* qp) {
  World& world = TheWorld();
  const std::lock_guard<std::mutex> lock(world.mu);
  world.qps.erase(qp->qp_num);
  delete reinterpret_cast<FakeQp*>(qp);
  world.locked -= kPage;
  --world.open;
  return 0;
}
const char* ibv_wc_status_str(ibv_wc_status status) {
  return status == IBV_WC_RETRY_EXC_ERR ? "transport retry counter exceeded" : "error";
}

}  // extern "C"
