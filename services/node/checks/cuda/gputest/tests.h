#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_TESTS_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_TESTS_H_

#include "services/node/checks/cuda/gputest/options.h"

// The tests of galen-gputest, one a run of the program. Each says what it finds in lines (report.h)
// and returns when it went through. Rates are in units of 10^9 a second. Seconds are bounds of a
// test's main part; what stands around it takes a few more.
namespace galen::node::cuda {

// Devices in the order of their PCI addresses.
//   @driver  version=12040 library=PATH
//   @gpu     index= address= name= memory= sms= capability=90
void ListGpus(const Options& options);

// gpu=ADDRESS: context, kernels, one launch, its result.
//   @result  right=0|1 (whether the kernel's answer is right)
void TestInit(const Options& options);

// gpu= seconds= share=(of the free memory) families=solid,checker,address,random
//   @mismatch  address=0x.. offset=0x.. expected=0x.. actual=0x.. pattern=    the first few
//   @result    mismatches=WORDS bits=0x.. tested=BYTES total=BYTES patterns= traffic_gb_s=
void TestMemory(const Options& options);

// gpu= seconds=: what every SM computes against what this machine's processor does.
//   @sm      sm= mismatches= not_finite=      an SM that was wrong
//   @result  mismatches=BLOCKS not_finite= blocks= sms_tested= sms= tensor=0|1 tensor_trouble=
void TestCompute(const Options& options);

// gpu= seconds= size=: c = a b in single precision, fused multiply-adds on the ordinary cores.
//   @result  tflops=(median) tflops_min= tflops_max= runs= wrong=(of the elements compared) size=
void TestGemm(const Options& options);

// gpu= seconds= mib=: copies within device memory; what is read and what is written both count.
//   @result  gb_s=(median) gb_s_min= gb_s_max= runs= mib=
void TestDeviceMemoryRate(const Options& options);

// gpu= seconds=(each way) mib=: pinned memory of the GPU's own NUMA node, both ways in turn.
//   @result  h2d_gb_s=(median) h2d_gb_s_min= d2h_gb_s= d2h_gb_s_min= wrong_bytes= mib=
//            beside=0|1 (whether that node could be told)
void TestHostRate(const Options& options);

// gpus=ADDRESS,ADDRESS,.. mib= repeats= skip=i-j,..: every ordered pair, those of `skip` left out.
//   @begin   from= to=                        numbers of `gpus`
//   @pair    from= to= access=0|1 gb_s= wrong=WORDS
void TestPeers(const Options& options);

// gpu= seconds= duty=(share of the time that the first, gentler phase works): load, first gently,
// then fully; power and clocks by NVML where it is there.
//   @phase   name=gentle|full                 begins
//   @sample  phase= t=(seconds) power= limit= clock= temperature=   (empty: unknown)
//   @result  phase= launches= mismatches= not_finite= tensor=0|1
void TestStress(const Options& options);

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_TESTS_H_
