#include "common/curation/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "site_files.h"

namespace galen::curation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::string_view kMore =
    R"(  - {id: b, date: 2025-01-20, title: T, label: GPU.MEMORY.ECC}
  - {id: c, date: 2025-04-02, title: T, label: GPU.MEMORY.ECC}
  - {id: d, title: T, label: GPU.MEMORY.ECC}
  - {id: e, date: 2025-04-03, title: T, label: NET.LINK.DOWN}
)";

Statistics OfMore() { return StatisticsOf(ParsedText(absl::StrCat(kBook, kMore))); }

TEST(Statistics, RecurrenceIsIncidentsForEachDistinctCause) {
  const Statistics statistics = OfMore();
  ASSERT_EQ(statistics.categories.size(), 2u);
  EXPECT_EQ(statistics.categories[0].name, "GPU");
  EXPECT_EQ(statistics.categories[0].incidents, 4);
  EXPECT_EQ(statistics.categories[0].fault_types, 1);
  EXPECT_DOUBLE_EQ(statistics.categories[0].recurrence(), 4);
  EXPECT_DOUBLE_EQ(statistics.categories[1].recurrence(), 1);
  EXPECT_EQ(statistics.total.incidents, 5);
  EXPECT_EQ(statistics.total.fault_types, 2);
  EXPECT_EQ(statistics.total.labels, 2);
  EXPECT_DOUBLE_EQ(statistics.total.recurrence(), 2.5);
}

TEST(Statistics, ALabelIsNewInTheMonthOfItsFirstIncident) {
  const Statistics statistics = OfMore();
  ASSERT_EQ(statistics.months.size(), 4u) << "months without anything stand between";
  EXPECT_EQ(statistics.months[0].month, "2025-01");
  EXPECT_THAT(statistics.months[0].new_labels, ElementsAre("GPU.MEMORY.ECC"));
  EXPECT_EQ(statistics.months[0].incidents, 2);
  EXPECT_EQ(statistics.months[1].month, "2025-02");
  EXPECT_THAT(statistics.months[1].new_labels, IsEmpty());
  EXPECT_THAT(statistics.months[3].new_labels, ElementsAre("NET.LINK.DOWN"));
  EXPECT_EQ(statistics.undated_incidents, 1);
  EXPECT_EQ(statistics.undated_labels, 0);
}

TEST(Statistics, TheDayThatALabelNamesComesFirst) {
  auto base = ParsedText(kBook);
  for (auto& label : *base.mutable_labels()) {
    if (label.label() == "GPU.MEMORY.ECC") label.set_added("2024-12-31");
  }
  const Statistics statistics = StatisticsOf(base);
  EXPECT_EQ(statistics.months[0].month, "2024-12");
  EXPECT_EQ(statistics.undated_labels, 1);
}

TEST(Statistics, NothingIsNoDivisionByZero) {
  const Statistics statistics = StatisticsOf({});
  EXPECT_EQ(statistics.total.recurrence(), 0);
  EXPECT_THAT(statistics.months, IsEmpty());
}

TEST(Statistics, AHistoryOfManyCenturiesIsBounded) {
  auto base = ParsedText(kBook);
  base.mutable_incidents(0)->set_date("0001-01-01");
  *base.add_incidents() = base.incidents(0);
  base.mutable_incidents(1)->set_date("9999-12-31");
  EXPECT_LE(StatisticsOf(base).months.size(), 1300u);
}

}  // namespace
}  // namespace galen::curation
