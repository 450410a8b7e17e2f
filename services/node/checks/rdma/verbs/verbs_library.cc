#include "services/node/checks/rdma/verbs/verbs_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace galen::node {

absl::StatusOr<std::shared_ptr<const VerbsLibrary>> VerbsLibrary::Load(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(path, ": not installed; it comes with rdma-core (package libibverbs1)"));
  }
  const std::shared_ptr<VerbsLibrary> library(new VerbsLibrary(handle));
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    // The way that POSIX gives for a function out of dlsym().
    *reinterpret_cast<void**>(&function) = dlsym(handle, name);
    if (function == nullptr && missing.empty()) missing = name;
  };
  find(library->get_device_list, "ibv_get_device_list");
  find(library->free_device_list, "ibv_free_device_list");
  find(library->get_device_name, "ibv_get_device_name");
  find(library->open_device, "ibv_open_device");
  find(library->close_device, "ibv_close_device");
  find(library->query_port, "ibv_query_port");
  find(library->query_gid, "ibv_query_gid");
  find(library->alloc_pd, "ibv_alloc_pd");
  find(library->dealloc_pd, "ibv_dealloc_pd");
  find(library->reg_mr, "ibv_reg_mr");
  find(library->dereg_mr, "ibv_dereg_mr");
  find(library->create_cq, "ibv_create_cq");
  find(library->destroy_cq, "ibv_destroy_cq");
  find(library->create_qp, "ibv_create_qp");
  find(library->modify_qp, "ibv_modify_qp");
  find(library->destroy_qp, "ibv_destroy_qp");
  find(library->wc_status_str, "ibv_wc_status_str");
  if (!missing.empty()) return absl::NotFoundError(absl::StrCat(path, ": it lacks ", missing));
  return library;
}

VerbsLibrary::~VerbsLibrary() { dlclose(handle_); }

}  // namespace galen::node
