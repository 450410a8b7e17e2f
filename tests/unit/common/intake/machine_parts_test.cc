#include "common/intake/machine_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace galen::intake {
namespace machine_parts_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "gpu01,gpu02: 2-4" for lines 2 to 4 (from 0), the last excluded.
std::vector<std::string> Parts(absl::string_view text, std::vector<std::string> machines = {}) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::vector<std::string> shown;
  for (const MachinePart& part : PartsByMachine(lines, machines)) {
    shown.push_back(
        absl::StrCat(absl::StrJoin(part.machines, ","), ": ", part.first, "-", part.end));
  }
  return shown;
}

TEST(MachinesOf, ExpandsRangesWithTheirZeros) {
  EXPECT_THAT(MachinesOf("gpu[08-10,12]-ib,login"),
              ElementsAre("gpu08-ib", "gpu09-ib", "gpu10-ib", "gpu12-ib", "login"));
}

TEST(MachinesOf, AnyOtherTextNamesNobody) {
  for (const char* text :
       {"", "$(cat hosts)", "gpu[a-b]", "gpu[9-3]", "gpu[1-2", "a b", "../x", "gpu[1-999999999]"}) {
    EXPECT_THAT(MachinesOf(text), IsEmpty()) << text;
  }
}

TEST(PartsByMachine, HeadingsOfLoopsAndOfParallelShells) {
  EXPECT_THAT(Parts("alfa\nx\nbeta\ny\nz", {"alfa", "beta"}),
              ElementsAre("alfa: 1-2", "beta: 3-5"));
  EXPECT_THAT(Parts("=== gpu01 ===\nx\n=== gpu02 ===\ny"), ElementsAre("gpu01: 1-2", "gpu02: 3-4"));
  EXPECT_THAT(Parts("---------------\ngpu[1-2]\n---------------\nx\n---------------\ngpu3\n"
                    "---------------\ny"),
              ElementsAre("gpu1,gpu2: 3-4", "gpu3: 7-8"));
  EXPECT_THAT(Parts("gpu1 | CHANGED | rc=0 >>\nx\ngpu2 | FAILED | rc=1 >>\ny"),
              ElementsAre("gpu1: 1-2", "gpu2: 3-4"));
  EXPECT_THAT(Parts("gpu1: x\ngpu1: y\ngpu2: z"), ElementsAre("gpu1: 0-2", "gpu2: 2-3"));
}

TEST(PartsByMachine, OneNameOrAWordOfTheOutputPartsNothing) {
  EXPECT_THAT(Parts("eth0\nup\n4096"), IsEmpty());
  EXPECT_THAT(Parts("mlx5_0: up\nrate 400"), IsEmpty());
  EXPECT_THAT(Parts("gamma\nx", {"alfa", "beta"}), IsEmpty());
  EXPECT_THAT(Parts(""), IsEmpty());
}

}  // namespace machine_parts_test
}  // namespace galen::intake
