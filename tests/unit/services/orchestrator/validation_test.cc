#include "services/orchestrator/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/testing/status_matchers.h"

namespace galen::orchestrator {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::CreateDiagnosisRequest Good() {
  v1::CreateDiagnosisRequest request;
  request.set_parent("tenants/acme-1");
  request.mutable_diagnosis()->mutable_incident()->set_description("training is slow");
  return request;
}

TEST(Validation, TakesTheLeastThatMakesAnIncident) { EXPECT_THAT(Validate(Good()), IsOk()); }

struct Bad {
  const char* field;
  const char* fact;
  std::function<void(v1::CreateDiagnosisRequest&)> spoil;
};

TEST(Validation, NamesTheFieldAndTheFact) {
  const std::vector<Bad> table = {
      {"parent", "tenants/{tenant}", [](auto& r) { r.set_parent("acme"); }},
      {"parent", "tenants/{tenant}", [](auto& r) { r.set_parent("tenants/Acme"); }},
      {"parent", "tenants/{tenant}", [](auto& r) { r.set_parent("tenants/a/b"); }},
      {"diagnosis_id", "a-z", [](auto& r) { r.set_diagnosis_id("A/B"); }},
      {"diagnosis_id", "1 to 63", [](auto& r) { r.set_diagnosis_id(std::string(64, 'a')); }},
      {"request_id", "129 bytes", [](auto& r) { r.set_request_id(std::string(129, 'a')); }},
      {"diagnosis.strategy", "tiered",
       [](auto& r) { r.mutable_diagnosis()->set_strategy("guess"); }},
      {"diagnosis.incident.description", "empty",
       [](auto& r) { r.mutable_diagnosis()->mutable_incident()->set_description(" \n"); }},
      {"diagnosis.incident.description", "1048577 bytes",
       [](auto& r) {
         r.mutable_diagnosis()->mutable_incident()->set_description(
             std::string((1 << 20) + 1, 'x'));
       }},
      {"diagnosis.incident.description", "UTF-8",
       [](auto& r) { r.mutable_diagnosis()->mutable_incident()->set_description("\xff"); }},
      {"diagnosis.incident.nodes", "10001 entries",
       [](auto& r) {
         for (int i = 0; i < 10'001; ++i) {
           r.mutable_diagnosis()->mutable_incident()->add_nodes("n");
         }
       }},
      {"diagnosis.incident.baseline.nodes", "10001 entries",
       [](auto& r) {
         for (int i = 0; i < 10'001; ++i) {
           r.mutable_diagnosis()->mutable_incident()->mutable_baseline()->add_nodes("n");
         }
       }},
      {"diagnosis.incident.baseline.nodes[0]", "254 bytes",
       [](auto& r) {
         r.mutable_diagnosis()->mutable_incident()->mutable_baseline()->add_nodes(
             std::string(254, 'n'));
       }},
      {"diagnosis.incident.nodes[1]", "empty",
       [](auto& r) {
         r.mutable_diagnosis()->mutable_incident()->add_nodes("n");
         r.mutable_diagnosis()->mutable_incident()->add_nodes("");
       }},
      {"diagnosis.incident.logs", "1001 entries",
       [](auto& r) {
         for (int i = 0; i < 1'001; ++i) {
           r.mutable_diagnosis()->mutable_incident()->add_logs()->set_path("l");
         }
       }},
      {"diagnosis.incident.logs[0].path", "empty",
       [](auto& r) { r.mutable_diagnosis()->mutable_incident()->add_logs(); }},
      {"diagnosis.incident.logs[0].content", "bundle",
       [](auto& r) {
         auto& log = *r.mutable_diagnosis()->mutable_incident()->add_logs();
         log.set_path("l");
         log.set_content(std::string((2 << 20) + 1, 'x'));
       }},
      {"diagnosis.incident.end_time", "before start_time", [](auto& r) {
         r.mutable_diagnosis()->mutable_incident()->mutable_start_time()->set_seconds(2);
         r.mutable_diagnosis()->mutable_incident()->mutable_end_time()->set_seconds(1);
       }}};
  for (const Bad& bad : table) {
    v1::CreateDiagnosisRequest request = Good();
    bad.spoil(request);
    EXPECT_THAT(Validate(request),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(StartsWith(std::string(bad.field) + ":"), HasSubstr(bad.fact))));
  }
}

TEST(Validation, WantsWordsInFeedback) {
  v1::SubmitFeedbackRequest request;
  request.set_text("  ");
  EXPECT_THAT(Validate(request), StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("text:")));
  request.set_text(std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(Validate(request), StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("text:")));
  request.set_text("rank 3 again");
  EXPECT_THAT(Validate(request), IsOk());
  request.set_text("");
  request.set_look_again(true);
  EXPECT_THAT(Validate(request), IsOk());
  request.mutable_evidence()->add_logs()->set_content("x");
  EXPECT_THAT(Validate(request),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("evidence.logs[0].path")));
}

TEST(Validation, AConfirmationNamesALabelAndAPerson) {
  v1::SubmitFeedbackRequest request;
  request.set_confirmed_label("GPU.MEMORY.UNCORRECTABLE_ECC");
  EXPECT_THAT(Validate(request),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("confirmed_by:")));
  request.set_confirmed_by("ada");
  EXPECT_THAT(Validate(request), IsOk()) << "no other words are needed";
  request.set_confirmed_by(std::string(257, 'x'));
  EXPECT_THAT(Validate(request),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("confirmed_by:")));
  for (const std::string& label : {std::string("gpu ecc"), std::string("A\nB"),
                                   std::string(201, 'A'), std::string("../../x")}) {
    request.set_confirmed_label(label);
    EXPECT_THAT(Validate(request),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("confirmed_label:")));
  }
}

TEST(Validation, BoundsThePage) {
  v1::ListDiagnosesRequest request;
  request.set_parent("tenants/acme");
  EXPECT_THAT(Validate(request), IsOk());
  for (const int size : {-1, 1'001}) {
    request.set_page_size(size);
    EXPECT_THAT(Validate(request),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("page_size:")));
  }
}

}  // namespace
}  // namespace galen::orchestrator
