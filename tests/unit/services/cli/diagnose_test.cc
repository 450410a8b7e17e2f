#include "services/cli/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Plays a diagnosis that ends in `final`, or an error.
class FakeApi final : public DiagnosisApi {
 public:
  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request) override {
    if (!create_error.ok()) return create_error;
    v1::Diagnosis diagnosis = request.diagnosis();
    diagnosis.set_name("tenants/default/diagnoses/d1");
    return diagnosis;
  }
  absl::StatusOr<v1::Diagnosis> Get(const std::string&) override {
    if (before_final.empty()) return final;
    const v1::Diagnosis state = before_final.front();
    before_final.erase(before_final.begin());
    return state;
  }
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest& request) override {
    feedback.push_back(request.text());
    final.set_state(v1::Diagnosis::SUCCEEDED);
    final.mutable_report()->set_outcome(v1::Report::CAUSE_CONFIRMED);
    return final;
  }
  absl::StatusOr<v1::ListDiagnosesResponse> List(const v1::ListDiagnosesRequest&) override {
    v1::ListDiagnosesResponse response;
    *response.add_diagnoses() = final;
    return response;
  }
  absl::StatusOr<v1::Diagnosis> Escalate(const v1::EscalateDiagnosisRequest&) override {
    final.set_state(v1::Diagnosis::ESCALATED);
    return final;
  }
  absl::Status Delete(const std::string&) override { return absl::OkStatus(); }
  absl::Status Watch(const std::string&, std::int64_t after_sequence,
                     const std::function<void(const v1::DiagnosisEvent&)>& on_event) override {
    watched_after.push_back(after_sequence);
    v1::DiagnosisEvent event;
    event.set_sequence(9);
    event.mutable_created()->mutable_incident()->set_description("the words of the customer");
    on_event(event);
    return absl::OkStatus();
  }
  absl::Status create_error;
  v1::Diagnosis final;
  std::vector<v1::Diagnosis> before_final;  // the results of earlier reads
  std::vector<std::string> feedback;
  std::vector<std::int64_t> watched_after;
};

class DiagnoseTest : public ::testing::Test {
 protected:
  ExitCode Run(bool may_ask = false) {
    Console console{in_, out_, err_, {.interactive = false, .width = 100}, may_ask};
    return Diagnose(api_, v1::Incident(), arguments_, console);
  }
  void Confirmed() {
    api_.final.set_state(v1::Diagnosis::SUCCEEDED);
    api_.final.mutable_report()->set_outcome(v1::Report::CAUSE_CONFIRMED);
    api_.final.mutable_report()->set_headline("the cable");
  }
  FakeApi api_;
  DiagnoseArguments arguments_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DiagnoseTest, IsWatchedOnWhereItsEndWasLost) {
  Confirmed();
  v1::Diagnosis lost;
  lost.set_state(v1::Diagnosis::RUNNING);
  lost.set_last_sequence(4);
  api_.before_final = {lost};
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(api_.watched_after, ::testing::ElementsAre(0, 4));
  EXPECT_THAT(out_.str(), HasSubstr("the cable"));
}

TEST_F(DiagnoseTest, TellsTheProgressAndTheReport) {
  Confirmed();
  EXPECT_EQ(Run(), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("the words of the customer"));
  EXPECT_THAT(out_.str(), HasSubstr("the cable"));
}

TEST_F(DiagnoseTest, JsonIsTheOnlyThingOnStandardOutput) {
  Confirmed();
  arguments_.json = true;
  EXPECT_EQ(Run(), kOk);
  EXPECT_EQ(out_.str().front(), '{');
  EXPECT_THAT(out_.str(), HasSubstr("\"headline\": \"the cable\""));
  EXPECT_THAT(out_.str(), Not(HasSubstr("the words of the customer")));
}

TEST_F(DiagnoseTest, AsksAPersonForMoreWhenNothingIsConfirmed) {
  api_.final.set_state(v1::Diagnosis::AWAITING_FEEDBACK);
  in_.str("we changed the cable yesterday\n");
  EXPECT_EQ(Run(/*may_ask=*/true), kOk);
  EXPECT_THAT(api_.feedback, ::testing::ElementsAre("we changed the cable yesterday"));
}

TEST_F(DiagnoseTest, NeverAsksAPipe) {
  api_.final.set_state(v1::Diagnosis::AWAITING_FEEDBACK);
  in_.str("not to be read\n");
  EXPECT_EQ(Run(/*may_ask=*/false), kNoCause);
  EXPECT_THAT(api_.feedback, IsEmpty());
}

TEST_F(DiagnoseTest, ExitCodesTellBadInputFromAServiceThatIsAway) {
  api_.create_error = absl::InvalidArgumentError("incident.description: too long");
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("incident.description: too long"));
  api_.create_error = absl::UnavailableError("127.0.0.1:1: no answer");
  EXPECT_EQ(Run(), kUnreachable);
  api_.create_error = absl::InternalError("bug");
  EXPECT_EQ(Run(), kBroken);
}

TEST_F(DiagnoseTest, AFailedDiagnosisTellsItsError) {
  api_.final.set_state(v1::Diagnosis::FAILED);
  api_.final.mutable_error()->set_code(static_cast<int>(absl::StatusCode::kNotFound));
  api_.final.mutable_error()->set_message("train.log: no such file");
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("train.log"));
}

}  // namespace
}  // namespace galen::cli
