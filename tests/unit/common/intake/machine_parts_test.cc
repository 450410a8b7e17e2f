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

// "gpu01,gpu02: 2 3" for lines 2 and 3 (from 0).
std::vector<std::string> Parts(absl::string_view text, std::vector<std::string> machines = {},
                               bool echoes = false) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::vector<std::string> shown;
  for (const MachinePart& part : PartsByMachine(lines, machines, echoes)) {
    shown.push_back(
        absl::StrCat(absl::StrJoin(part.machines, ","), ": ", absl::StrJoin(part.lines, " ")));
  }
  return shown;
}

TEST(MachinesOf, ExpandsRangesWithTheirZeros) {
  EXPECT_THAT(MachinesOf("gpu[08-10,12]-ib,login"),
              ElementsAre("gpu08-ib", "gpu09-ib", "gpu10-ib", "gpu12-ib", "login"));
}

TEST(MachinesOf, AnyOtherTextNamesNobody) {
  for (const char* text :
       {"", "$(cat hosts)", "gpu[a-b]", "gpu[9-3]", "gpu[1-2", "a b", "../x", "gpu[1-999999999]",
        "gpu[4294967295]", "gpu[99999999999999999999]", "gpu[1-200,1-200]", "gpu[-1]"}) {
    EXPECT_THAT(MachinesOf(text), IsEmpty()) << text;
  }
}

TEST(PartsByMachine, HeadingsOfLoopsAndOfParallelShells) {
  EXPECT_THAT(Parts("alfa\nx\nbeta\ny\nz", {"alfa", "beta"}), ElementsAre("alfa: 1", "beta: 3 4"));
  EXPECT_THAT(Parts("n1\nx\nn2\ny", {}, /*echoes=*/true), ElementsAre("n1: 1", "n2: 3"));
  EXPECT_THAT(Parts("=== gpu01 ===\nx\n=== gpu02 ===\ny"), ElementsAre("gpu01: 1", "gpu02: 3"));
  EXPECT_THAT(Parts("---------------\ngpu[1-2]\n---------------\nx\n---------------\ngpu3\n"
                    "---------------\ny"),
              ElementsAre("gpu1,gpu2: 3", "gpu3: 7"));
  EXPECT_THAT(Parts("gpu1 | CHANGED | rc=0 >>\nx\ngpu2 | FAILED | rc=1 >>\ny"),
              ElementsAre("gpu1: 1", "gpu2: 3"));
}

TEST(PartsByMachine, LinesWithTheirMachineMayBeMixed) {
  EXPECT_THAT(Parts("gpu1: x\ngpu1: y\ngpu2: z"), ElementsAre("gpu1: 0 1", "gpu2: 2"));
  // pdsh's blank lines and its own messages part nothing.
  EXPECT_THAT(Parts("gpu2: a\ngpu1: \ngpu1: b\ngpu2: \ngpu2: c\npdsh@login: gpu3: ssh exited with "
                    "exit code 255"),
              ElementsAre("gpu1: 1 2", "gpu2: 0 3 4"));
  EXPECT_THAT(Parts("gpu1: x\ngpu1: y", {"gpu1"}), ElementsAre("gpu1: 0 1"));
}

TEST(PartsByMachine, OneNameOrAWordOfTheOutputPartsNothing) {
  for (const char* text : {"", "eth0\nup\neth1\nup", "nvidia0\nnvidia1\nnvidiactl",
                           "mlx5_0: up\nmlx5_1: down", "n1\nx\nn2\ny", "=== gpu01 ===\nx"}) {
    EXPECT_THAT(Parts(text), IsEmpty()) << text;
  }
  EXPECT_THAT(Parts("gamma\nx", {"alfa", "beta"}), IsEmpty());
}

}  // namespace machine_parts_test
}  // namespace galen::intake
