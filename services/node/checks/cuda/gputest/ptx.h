#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_PTX_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_PTX_H_

// The kernels as PTX, made from the .cu files of this folder when it is built.
namespace galen::node::cuda {

extern const char* const kKernelsPtx;
extern const char* const kTensorPtx;

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_PTX_H_
