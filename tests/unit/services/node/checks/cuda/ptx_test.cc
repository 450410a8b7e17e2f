#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "services/node/checks/cuda/gputest/ptx.h"
#include "tests/unit/services/node/checks/cuda/ptx_text.h"

namespace galen::node::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::vector<std::size_t>> Entries(const fake::PtxModule& module) {
  std::map<std::string, std::vector<std::size_t>> entries;
  for (const fake::PtxEntry& entry : module.entries) entries[entry.name] = entry.parameters;
  return entries;
}

const fake::PtxEntry& EntryOf(const fake::PtxModule& module, const std::string& name) {
  for (const fake::PtxEntry& entry : module.entries) {
    if (entry.name == name) return entry;
  }
  static const fake::PtxEntry none;
  return none;
}

TEST(Ptx, IsWholeAndForVolta) {
  for (const char* const text : {kKernelsPtx, kTensorPtx}) {
    const fake::PtxModule module = fake::ReadPtx(text);
    EXPECT_EQ(module.fault, "");
    EXPECT_EQ(module.version, "6.0");
    EXPECT_EQ(module.target, "sm_70");
    EXPECT_EQ(module.address_size, 64);
  }
}

TEST(Ptx, EntriesTakeWhatTheLaunchesGive) {
  const auto entries = Entries(fake::ReadPtx(kKernelsPtx));
  EXPECT_EQ(entries.size(), 6U);
  EXPECT_THAT(entries.at("galen_hello"), ElementsAre(8, 4));
  EXPECT_THAT(entries.at("galen_write"), ElementsAre(8, 8, 4, 4, 8));
  EXPECT_THAT(entries.at("galen_check"), ElementsAre(8, 8, 4, 4, 8, 4, 8));
  EXPECT_THAT(entries.at("galen_compute"), ElementsAre(4, 4, 8));
  EXPECT_THAT(entries.at("galen_random_matrix"), ElementsAre(8, 4, 4));
  EXPECT_THAT(entries.at("galen_gemm"), ElementsAre(8, 8, 8, 4));
  EXPECT_THAT(Entries(fake::ReadPtx(kTensorPtx)).at("galen_tensor"), ElementsAre(8, 8, 4, 8));
}

TEST(Ptx, NothingIsLeftToLinkAndNothingSpillsToLocalMemory) {
  for (const std::string text : {kKernelsPtx, kTensorPtx}) {
    EXPECT_THAT(text, Not(HasSubstr(".extern")));
    EXPECT_THAT(text, Not(HasSubstr(".local")));
    EXPECT_THAT(text, Not(HasSubstr("call")));
  }
}

TEST(Ptx, MemoryIsSweptSixteenBytesAtATime) {
  const fake::PtxModule module = fake::ReadPtx(kKernelsPtx);
  const std::string& write = EntryOf(module, "galen_write").body;
  EXPECT_THAT(write, HasSubstr("st.global.v4.u32"));
  EXPECT_THAT(write, Not(HasSubstr("ld.global")));
  const std::string& check = EntryOf(module, "galen_check").body;
  EXPECT_THAT(check, HasSubstr("ld.global.v4.u32"));
  EXPECT_THAT(check, HasSubstr("st.global.v4.u32"));
  EXPECT_THAT(check, Not(HasSubstr("ld.global.u32")));
}

TEST(Ptx, ComputesWithOneRightAnswer) {
  const fake::PtxModule module = fake::ReadPtx(kKernelsPtx);
  const std::string& compute = EntryOf(module, "galen_compute").body;
  // Round to nearest, denormals kept, like the processor.
  EXPECT_THAT(compute, HasSubstr("fma.rn.f32"));
  EXPECT_THAT(compute, HasSubstr("fma.rn.f64"));
  EXPECT_THAT(compute, Not(HasSubstr(".ftz")));
  EXPECT_THAT(compute, Not(HasSubstr(".approx")));
  EXPECT_THAT(compute, HasSubstr("%smid"));
  EXPECT_THAT(std::string(kTensorPtx), HasSubstr("wmma.mma.sync"));
}

TEST(Ptx, TheReaderTellsWhatIsNoPtx) {
  const std::string good = kKernelsPtx;
  EXPECT_THAT(fake::ReadPtx("").fault, HasSubstr("lacks"));
  EXPECT_THAT(fake::ReadPtx(good.substr(0, good.size() / 2)).fault, HasSubstr("does not end"));
  EXPECT_THAT(fake::ReadPtx(absl::StrReplaceAll(good, {{"%tid.x", "%r99999"}})).fault,
              HasSubstr("undeclared register"));
  EXPECT_THAT(fake::ReadPtx(absl::StrReplaceAll(good, {{"bra \tLBB0", "bra \tLBX0"}})).fault,
              HasSubstr("unknown LBX0"));
  EXPECT_THAT(
      fake::ReadPtx(absl::StrReplaceAll(good, {{"[galen_hello_param_1]", "[elsewhere]"}})).fault,
      HasSubstr("unknown elsewhere"));
}

}  // namespace
}  // namespace galen::node::cuda
