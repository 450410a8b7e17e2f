#include "services/node/checks/gpu/gpu_findings.h"

#include <gtest/gtest.h>

namespace galen::node {
namespace {

TEST(Sentence, TellsWhatIsSpecialAndWhatHoldsForTheRest) {
  Sentence none("GPU", 8);
  EXPECT_EQ(none.Tell("no error"), "all 8 GPUs: no error");
  Sentence one("GPU", 8);
  one.Special("1", "2 errors");
  EXPECT_EQ(one.Tell("no error"), "GPU 1: 2 errors; the other 7 GPUs: no error");
  Sentence only("GPU", 1);
  only.Special("0", "2 errors");
  EXPECT_EQ(only.Tell("no error"), "GPU 0: 2 errors");
  Sentence pair("GPU", 2);
  pair.Special("0", "hot");
  EXPECT_EQ(pair.Tell("cool"), "GPU 0: hot; the other GPU: cool");
}

TEST(Sentence, SaysNothingGoodOfDevicesThatWereNotShown) {
  Sentence one("GPU", 4);
  one.Special("2", "4 pages");
  EXPECT_EQ(one.Tell("no page", 3), "GPU 2: 4 pages; 3 GPUs not shown");
  Sentence none("GPU", 4);
  EXPECT_EQ(none.Tell("no page", 3), "1 GPU: no page; 3 GPUs not shown");
  // A remark may come from elsewhere than the GPU's own values.
  Sentence both("GPU", 2);
  both.Special("0", "hot");
  EXPECT_EQ(both.Tell("cool", 2), "GPU 0: hot; 1 GPU not shown");
}

TEST(Sentence, NamesDevicesTogetherThatAreAlike) {
  Sentence some("GPU", 8);
  some.Special("1", "off");
  some.Special("4", "slow");
  some.Special("6", "off");
  EXPECT_EQ(some.Tell("fine"), "GPUs 1 and 6: off; GPU 4: slow; the other 5 GPUs: fine");
  Sentence all("GPU", 2);
  all.Special("0", "off");
  all.Special("1", "off");
  EXPECT_EQ(all.Tell("fine"), "all 2 GPUs: off");
}

TEST(Sentence, StaysShort) {
  Sentence many("NVLink", 1000);
  for (int i = 0; i < 500; ++i) many.Special(std::to_string(i), std::to_string(i) + " errors");
  EXPECT_LT(many.Tell("fine").size(), 400u);
}

}  // namespace
}  // namespace galen::node
