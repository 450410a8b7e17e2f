#include "common/incident_history/vector_rows.h"

#include <gmock/gmock.h>

#include "common/incident_history/tokens.h"
#include "tickets.h"

namespace galen::incident_history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::int64_t> Numbers(const std::vector<Scored>& all) {
  std::vector<std::int64_t> numbers;
  for (const Scored& scored : all) numbers.push_back(scored.document);
  return numbers;
}

TEST(Best, GivesTheHighestScoresAndOfEqualOnesTheFirst) {
  const std::vector<Scored> all = {{4, 0.5}, {3, 0.9}, {2, 0.5}, {1, 0.1}};
  EXPECT_THAT(Numbers(Best(all, 3)), ElementsAre(3, 2, 4));
  EXPECT_THAT(Numbers(Best(all, 9)), ElementsAre(3, 2, 4, 1));
  EXPECT_THAT(Best({}, 3), IsEmpty());
}

TEST(VectorRows, GivesTheCosines) {
  VectorRows rows(2);
  rows.Add(10, "A", Normalised({3, 4}));
  rows.Add(11, "A", Normalised({-3, -4}));
  rows.Add(12, "B", Normalised({127, 0}));
  rows.Add(13, "B", Normalised({0, -127}));
  const std::vector<Scored> found = rows.Search(Normalised({6, 8}), 5, "");
  ASSERT_THAT(Numbers(found), ElementsAre(10, 12));
  EXPECT_NEAR(found[0].score, 1, 1e-6);
  EXPECT_NEAR(found[1].score, 0.6, 1e-6);
  EXPECT_THAT(Numbers(rows.Search(Normalised({6, 8}), 1, "")), ElementsAre(10));
  EXPECT_THAT(Numbers(rows.Search(Normalised({6, 8}), 5, "A")), ElementsAre(12));
}

TEST(VectorRows, ComparesOnlyVectorsOfItsSize) {
  VectorRows rows(2);
  rows.Add(1, "A", Normalised({1, 2, 3}));
  rows.Add(2, "A", {});
  rows.Add(3, "A", Normalised({0, 0}));
  rows.Add(4, "A", Normalised({1, 0}));
  EXPECT_THAT(Numbers(rows.Search(Normalised({1, 0}), 5, "")), ElementsAre(4));
  EXPECT_THAT(rows.Search(Normalised({1, 0, 0}), 5, ""), IsEmpty());
  EXPECT_THAT(rows.Search({}, 5, ""), IsEmpty());
}

TEST(VectorRows, TakesTheExtremesOfAByte) {
  const std::vector<std::int8_t> lowest(4096, -128);
  VectorRows rows(lowest.size());
  rows.Add(1, "A", Normalised(lowest));
  const std::vector<Scored> found = rows.Search(Normalised(lowest), 1, "");
  ASSERT_THAT(Numbers(found), ElementsAre(1));
  EXPECT_NEAR(found[0].score, 1, 1e-6);
}

}  // namespace
}  // namespace galen::incident_history
