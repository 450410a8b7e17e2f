#include "common/intake/writer.h"

#include <gtest/gtest.h>

namespace galen::intake {
namespace writer_test {

TEST(WriterOf, ReadsThePrefixesOfLogs) {
  EXPECT_EQ(WriterOf("gpu-1:886:903 [0] NCCL INFO Bootstrap : Using eth0"), "gpu-1");
  EXPECT_EQ(
      WriterOf("[2025-10-07 04:52:12] run-k7m2v:5521:5607 [3] misc/shmutils.cc:87 NCCL WARN x"),
      "run-k7m2v");
  EXPECT_EQ(WriterOf("okt 14 09:03:12 pc-lab-19 kernel: Loading of module"), "pc-lab-19");
  EXPECT_EQ(WriterOf("2026-02-01T10:00:00+0100 gpu07 kernel: NVRM: Xid"), "gpu07");
  EXPECT_EQ(WriterOf("[d2f60c15ab38:09377] *** Process received signal ***"), "d2f60c15ab38");
  EXPECT_EQ(WriterOf("srun: error: vg-n0417: task 0: Exited with exit code 1"), "vg-n0417");
  EXPECT_EQ(WriterOf("volta-34: RuntimeError: CUDA error"), "volta-34");
}

TEST(WriterOf, TakesNoWordForAMachine) {
  EXPECT_EQ(WriterOf("RuntimeError: CUDA error"), "");
  EXPECT_EQ(WriterOf("[ 1234.5] NVRM: Xid (PCI:0000:3b:00): 79"), "");
  EXPECT_EQ(WriterOf("epoch 3: loss 0.1"), "");
  EXPECT_EQ(WriterOf("mpi4py: 3.5.1"), "");
  EXPECT_EQ(WriterOf(""), "");
}

}  // namespace writer_test
}  // namespace galen::intake
