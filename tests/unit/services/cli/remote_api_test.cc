#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"
#include "services/cli/diagnosis_api.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers each watch with the next of `turns`: events up to `last`, and an end.
class ScriptedDiagnoses final : public v1::DiagnosisService::Service {
 public:
  struct Turn {
    std::int64_t last;
    grpc::Status end;
  };

  grpc::Status WatchDiagnosis(grpc::ServerContext*, const v1::WatchDiagnosisRequest* request,
                              grpc::ServerWriter<v1::DiagnosisEvent>* writer) override {
    asked_after.push_back(request->after_sequence());
    if (turns.empty()) return {grpc::StatusCode::INTERNAL, "nobody was to ask once more"};
    const Turn turn = turns.front();
    turns.pop_front();
    for (std::int64_t sequence = request->after_sequence() + 1; sequence <= turn.last; ++sequence) {
      v1::DiagnosisEvent event;
      event.set_sequence(sequence);
      writer->Write(event);
    }
    return turn.end;
  }

  std::deque<Turn> turns;
  std::vector<std::int64_t> asked_after;
};

class RemoteWatch : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&diagnoses_);
    server_ = builder.BuildAndStart();
    auto api = ConnectTo(absl::StrCat("127.0.0.1:", port), {});
    ASSERT_THAT(api, IsOk());
    api_ = *std::move(api);
  }

  absl::Status Watch(std::int64_t after_sequence) {
    return api_->Watch("tenants/t/diagnoses/d", after_sequence,
                       [&](const v1::DiagnosisEvent& event) { seen_.push_back(event.sequence()); });
  }

  ScriptedDiagnoses diagnoses_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<DiagnosisApi> api_;
  std::vector<std::int64_t> seen_;
};

const grpc::Status kAway(grpc::StatusCode::UNAVAILABLE, "away");
const grpc::Status kBeyond(grpc::StatusCode::OUT_OF_RANGE, "lies beyond the last event");

TEST_F(RemoteWatch, GoesOnWhereTheConnectionBroke) {
  diagnoses_.turns = {{3, kAway}, {5, grpc::Status::OK}};
  EXPECT_THAT(Watch(0), IsOk());
  EXPECT_THAT(diagnoses_.asked_after, ElementsAre(0, 3));
  EXPECT_THAT(seen_, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(RemoteWatch, BeginsAnewWhenTheStoreLostWhatItHadGiven) {
  diagnoses_.turns = {{3, kAway}, {0, kBeyond}, {4, grpc::Status::OK}};
  EXPECT_THAT(Watch(1), IsOk());
  EXPECT_THAT(diagnoses_.asked_after, ElementsAre(1, 3, 1));
  EXPECT_THAT(seen_, ElementsAre(2, 3, 2, 3, 4));
}

TEST_F(RemoteWatch, SaysSoWhenItsCallerAskedForWhatIsBeyondTheLastEvent) {
  diagnoses_.turns = {{0, kBeyond}};
  EXPECT_THAT(Watch(7), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("beyond")));
  EXPECT_THAT(diagnoses_.asked_after, ElementsAre(7));
}

}  // namespace
}  // namespace galen::cli
