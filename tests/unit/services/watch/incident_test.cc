#include "services/watch/incident.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch {
namespace incident_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const knowledge::Knowledge> TestKnowledge() {
  static const auto book =
      knowledge::Load({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")}, {}).value();
  return book;
}

v1::HealthEvent Xid(const std::string& node, const std::string& code) {
  v1::HealthEvent event;
  event.set_node(node);
  event.set_check("system.kernel_log");
  event.mutable_finding()->set_name("xid");
  event.mutable_finding()->mutable_event_value()->set_code(code);
  event.mutable_finding()->mutable_event_value()->set_text(
      absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", code, ", pid='<unknown>'"));
  return event;
}

TEST(WatchIncident, TheCatalogueOrWhoNoticedSaysWhatIsGrave) {
  EXPECT_TRUE(IsGrave(Xid("n", "79"), *TestKnowledge()));
  EXPECT_FALSE(IsGrave(Xid("n", "13"), *TestKnowledge()));
  EXPECT_FALSE(IsGrave(Xid("n", "no number"), *TestKnowledge()));
  v1::HealthEvent event = Xid("n", "79");
  event.set_severity(v1::HealthEvent::WARNING);
  EXPECT_FALSE(IsGrave(event, *TestKnowledge()));
  event = Xid("n", "13");
  event.set_severity(v1::HealthEvent::FATAL);
  EXPECT_TRUE(IsGrave(event, *TestKnowledge()));
  v1::HealthEvent number;
  number.mutable_finding()->set_name("temperature");
  number.mutable_finding()->set_int_value(99);
  EXPECT_FALSE(IsGrave(number, *TestKnowledge()));
}

TEST(WatchIncident, NamesEveryMachineAndCarriesWhatWasNoticed) {
  Outbreak outbreak;
  outbreak.kind = "system.kernel_log xid 79";
  outbreak.begin = 17;
  outbreak.begin_index = 3;
  outbreak.first = absl::FromUnixSeconds(1'700'000'000);
  outbreak.last = outbreak.first + absl::Milliseconds(310);
  outbreak.events = {Xid("a", "79"), Xid("b", "79")};
  const auto request = IncidentOf(outbreak, *TestKnowledge(), "tenants/provider");
  EXPECT_EQ(request.parent(), "tenants/provider");
  EXPECT_EQ(request.request_id(), "watch-17.3.0");
  const galen::v1::Incident& incident = request.diagnosis().incident();
  EXPECT_THAT(incident.nodes(), ElementsAre("a", "b"));
  EXPECT_THAT(incident.description(),
              HasSubstr("2 machines report within 0.31 s system.kernel_log xid 79: "));
  EXPECT_THAT(incident.description(), HasSubstr("fallen off the bus"));
  ASSERT_EQ(incident.logs_size(), 1);
  EXPECT_EQ(incident.logs(0).content(),
            "a NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>'\n"
            "b NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>'\n");
}

TEST(WatchIncident, ALogOfTenThousandMachinesStaysWithinWhatAnIncidentTakes) {
  Outbreak outbreak;
  outbreak.kind = "k";
  for (int i = 0; i < 10'000; ++i) {
    outbreak.events.push_back(Xid(absl::StrCat("node-", i), "79"));
    outbreak.events.back().mutable_finding()->mutable_event_value()->set_text(
        std::string(1024, 'x'));
  }
  const auto request = IncidentOf(outbreak, *TestKnowledge(), "tenants/provider");
  EXPECT_EQ(request.diagnosis().incident().nodes_size(), 10'000);
  EXPECT_LE(request.diagnosis().incident().logs(0).content().size(), std::size_t{2} << 20);
}

TEST(WatchIncident, RefusesACallWithAnEventThatIsNotUsable) {
  struct {
    std::string says;
    std::function<void(v1::ReportHealthRequest&)> spoil;
  } const cases[] = {
      {"1 to 10000", [](auto& request) { request.clear_events(); }},
      {"events[1].node", [](auto& request) { request.mutable_events(1)->clear_node(); }},
      {"events[1].node", [](auto& request) { request.mutable_events(1)->set_node("a\033[2J"); }},
      {"events[1].node",
       [](auto& request) { request.mutable_events(1)->set_node(std::string(257, 'a')); }},
      {"events[0].check", [](auto& request) { request.mutable_events(0)->clear_check(); }},
      {"events[0].finding.name", [](auto& request) { request.mutable_events(0)->clear_finding(); }},
      {"events[0].finding: has more",
       [](auto& request) {
         request.mutable_events(0)->mutable_finding()->set_text_value(std::string(20'000, 'x'));
       }},
      {"events[0].source",
       [](auto& request) { request.mutable_events(0)->set_source(std::string(65, 'x')); }},
  };
  for (const auto& each : cases) {
    v1::ReportHealthRequest request;
    *request.add_events() = Xid("a", "79");
    *request.add_events() = Xid("b", "79");
    ASSERT_THAT(CheckEvents(request), IsOk());
    each.spoil(request);
    EXPECT_THAT(CheckEvents(request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(each.says)));
  }
}

}  // namespace incident_test
}  // namespace galen::watch
