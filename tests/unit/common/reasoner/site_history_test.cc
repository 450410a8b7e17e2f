#include "common/reasoner/site_history.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/reasoner/retrieve.h"
#include "tests/testing/status_matchers.h"

namespace galen::reasoner {
namespace {

using ::galen::testing::StatusIs;
using knowledge::v1::PastIncident;
using ::testing::_;

PastIncident Incident(const std::string& id, const std::string& title) {
  PastIncident incident;
  incident.set_id(id);
  incident.set_title(title);
  incident.set_label("MAIN.SUB.A");
  incident.set_resolution("replaced");
  return incident;
}

std::vector<PastIncident> Incidents(int first, int count) {
  std::vector<PastIncident> incidents;
  for (int i = first; i < first + count; ++i) {
    incidents.push_back(Incident(absl::StrCat("t", i), absl::StrCat("pump ", i, " stands still")));
  }
  return incidents;
}

class SiteHistoryTest : public ::testing::Test {
 protected:
  SiteHistoryTest() {
    std::string root = ::testing::TempDir() + "galen-site-history-XXXXXX";
    root_ = ::mkdtemp(root.data());
  }
  ~SiteHistoryTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::size_t Documents() const {
    const auto history = SiteHistory::Open(directory());
    return history.ok() ? (*history)->store().documents() : 0;
  }
  std::string directory() const { return root_ + "/history"; }

  std::string root_;
};

TEST_F(SiteHistoryTest, WhatWasAddedIsFoundWithAllThatWasKnownOfIt) {
  const auto added = SiteHistory::Add(directory(), Incidents(0, 700));
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->added, 700u);
  const auto history = SiteHistory::Open(directory());
  ASSERT_TRUE(history.ok()) << history.status();
  const auto hits = SearchConfirmed((*history)->store(), "pump 433 stands still", 3).hits;
  ASSERT_FALSE(hits.empty());
  EXPECT_EQ(hits[0].document.id, "t433");
  EXPECT_EQ(IncidentOf(hits[0].document).resolution(), "replaced");
}

TEST_F(SiteHistoryTest, MoreIsAddedToWhatIsThereAndWhatIsThereStays) {
  ASSERT_TRUE(SiteHistory::Add(directory(), Incidents(0, 3)).ok());
  std::vector<PastIncident> more = Incidents(2, 600);
  more[0].set_title("another title");
  const auto added = SiteHistory::Add(directory(), more);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->added, 599u);
  EXPECT_EQ(added->known, 1u);
  EXPECT_EQ(Documents(), 602u);
  const auto history = SiteHistory::Open(directory());
  for (const incident_history::Hit& hit :
       SearchConfirmed((*history)->store(), "another title", 3).hits) {
    EXPECT_EQ(hit.similarity, 0) << hit.document.text;
  }
}

TEST_F(SiteHistoryTest, ALoadThatFailsCanBeRepeated) {
  std::vector<PastIncident> incidents = Incidents(0, 700);
  incidents[600].set_id("");
  EXPECT_THAT(SiteHistory::Add(directory(), incidents).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  const std::size_t before = Documents();
  const auto added = SiteHistory::Add(directory(), Incidents(0, 700));
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->known, before);
  EXPECT_EQ(added->added, 700 - before);
  EXPECT_EQ(Documents(), 700u);
}

TEST_F(SiteHistoryTest, WhileAProcessHasItOpenNobodyElseAdds) {
  ASSERT_TRUE(SiteHistory::Add(directory(), Incidents(0, 1)).ok());
  const auto open = SiteHistory::Open(directory());
  ASSERT_TRUE(open.ok());
  EXPECT_THAT(SiteHistory::Add(directory(), Incidents(1, 1)).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, _));
  EXPECT_EQ((*open)->store().documents(), 1u);
}

}  // namespace
}  // namespace galen::reasoner
