#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_CUDA_WORDS_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_CUDA_WORDS_H_

// The words of CUDA C++ that the kernels use, as clang knows them without the CUDA toolkit.
#define GALEN_KERNEL extern "C" __attribute__((global))
#define GALEN_SHARED __attribute__((shared))
#define GALEN_GPU __attribute__((device))

using Vector = unsigned __attribute__((ext_vector_type(4)));
using Floats = float __attribute__((ext_vector_type(4)));

GALEN_GPU inline unsigned ThreadNumber() { return __nvvm_read_ptx_sreg_tid_x(); }
GALEN_GPU inline unsigned BlockNumber() { return __nvvm_read_ptx_sreg_ctaid_x(); }
GALEN_GPU inline unsigned long long GridThread() {
  return static_cast<unsigned long long>(BlockNumber()) * __nvvm_read_ptx_sreg_ntid_x() +
         ThreadNumber();
}
GALEN_GPU inline unsigned long long GridThreads() {
  return static_cast<unsigned long long>(__nvvm_read_ptx_sreg_nctaid_x()) *
         __nvvm_read_ptx_sreg_ntid_x();
}
GALEN_GPU inline unsigned SmNumber() {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_CUDA_WORDS_H_
