#ifndef SERVICES_NODE_CHECKS_RDMA_VERBS_VERBS_LIBRARY_H_
#define SERVICES_NODE_CHECKS_RDMA_VERBS_VERBS_LIBRARY_H_

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

// verbs.h makes macros of what the library exports; here the exported functions are meant.
#undef ibv_query_port
#undef ibv_reg_mr

namespace galen::node {

// libibverbs, opened while it is needed and not linked: an idle executor carries nothing of it, and
// a host without RDMA needs nothing installed. Thread-safe once loaded.
class VerbsLibrary {
 public:
  // NOT_FOUND: the library, or a function of it that we call, is not there.
  static absl::StatusOr<std::shared_ptr<const VerbsLibrary>> Load(
      const std::string& path = "libibverbs.so.1");

  ~VerbsLibrary();
  VerbsLibrary(const VerbsLibrary&) = delete;
  VerbsLibrary& operator=(const VerbsLibrary&) = delete;

  ibv_device** (*get_device_list)(int* count) = nullptr;
  void (*free_device_list)(ibv_device** list) = nullptr;
  const char* (*get_device_name)(ibv_device* device) = nullptr;
  ibv_context* (*open_device)(ibv_device* device) = nullptr;
  int (*close_device)(ibv_context* context) = nullptr;
  int (*query_port)(ibv_context* context, std::uint8_t port,
                    _compat_ibv_port_attr* attributes) = nullptr;
  int (*query_gid)(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) = nullptr;
  ibv_pd* (*alloc_pd)(ibv_context* context) = nullptr;
  int (*dealloc_pd)(ibv_pd* pd) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd* pd, void* address, std::size_t bytes, int access) = nullptr;
  int (*dereg_mr)(ibv_mr* mr) = nullptr;
  ibv_cq* (*create_cq)(ibv_context* context, int entries, void* user, ibv_comp_channel* channel,
                       int vector) = nullptr;
  int (*destroy_cq)(ibv_cq* cq) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd* pd, ibv_qp_init_attr* attributes) = nullptr;
  int (*modify_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask) = nullptr;
  int (*destroy_qp)(ibv_qp* qp) = nullptr;
  const char* (*wc_status_str)(ibv_wc_status status) = nullptr;

 private:
  explicit VerbsLibrary(void* handle) : handle_(handle) {}

  void* handle_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_VERBS_VERBS_LIBRARY_H_
