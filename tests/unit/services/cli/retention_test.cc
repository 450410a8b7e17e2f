#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/store/store.h"
#include "services/cli/retention/retention_command.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace retention_test {

using ::galen::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

orchestrator::RetentionPolicy Keep(const std::vector<std::string>& entries) {
  return orchestrator::ParseRetention(entries).value();
}

class RetentionCommandTest : public ::testing::Test {
 protected:
  // A diagnosis that was cancelled then.
  void AddCancelled(const std::string& name, absl::Time when) {
    store::EventLog& log = store_->events();
    v1::DiagnosisEvent created;
    *created.mutable_event_time() = ToTimestamp(when - absl::Hours(1));
    created.mutable_created()->set_name(name);
    ASSERT_THAT(log.Create(created), IsOk());
    v1::DiagnosisEvent cancelled;
    *cancelled.mutable_event_time() = ToTimestamp(when);
    cancelled.mutable_cancelled();
    const store::Lease lease = log.AcquireLease(name, "a", absl::Now(), absl::Seconds(15)).value();
    ASSERT_THAT(log.Append(lease, 1, {cancelled}), IsOk());
    ASSERT_THAT(log.SetOver(name, 2), IsOk());
    ASSERT_THAT(log.ReleaseLease(lease), IsOk());
  }
  std::vector<std::string> Names() { return store_->events().ListOldest("", 0, 100).value().names; }

  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  std::istringstream in_;
  std::ostringstream out_, err_;
  Console console_{in_, out_, err_, Terminal(), false};
};

TEST_F(RetentionCommandTest, DeletesTheOldOnesAndNamesEach) {
  AddCancelled("tenants/acme/diagnoses/old", absl::Now() - absl::Hours(24 * 100));
  AddCancelled("tenants/acme/diagnoses/new", absl::Now() - absl::Hours(24));
  ASSERT_THAT(ApplyRetention(store_->events(), Keep({"90d"}), "b", /*trial=*/true, console_),
              IsOk());
  EXPECT_THAT(out_.str(), HasSubstr("tenants/acme/diagnoses/old  CANCELLED  20"));
  EXPECT_THAT(out_.str(), HasSubstr("would delete 1 diagnoses"));
  EXPECT_EQ(Names().size(), 2u);
  out_.str("");
  ASSERT_THAT(ApplyRetention(store_->events(), Keep({"90d"}), "b", /*trial=*/false, console_),
              IsOk());
  EXPECT_THAT(out_.str(), HasSubstr("deleted 1 diagnoses"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("/new")));
  EXPECT_THAT(Names(), ElementsAre("tenants/acme/diagnoses/new"));
}

// A service with diagnoses of one tenant, two on a page.
class FakeApi final : public DiagnosisApi {
 public:
  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest&) override {
    return None();
  }
  absl::StatusOr<v1::Diagnosis> Get(const std::string&) override { return None(); }
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest&) override {
    return None();
  }
  absl::StatusOr<v1::Diagnosis> Escalate(const v1::EscalateDiagnosisRequest&) override {
    return None();
  }
  absl::Status Watch(const std::string&, std::int64_t,
                     const std::function<void(const v1::DiagnosisEvent&)>&) override {
    return None();
  }
  absl::StatusOr<v1::ListDiagnosesResponse> List(const v1::ListDiagnosesRequest& request) override {
    parents.insert(request.parent());
    v1::ListDiagnosesResponse response;
    const std::size_t first = request.page_token().empty() ? 0 : std::stoul(request.page_token());
    for (std::size_t i = first; i < diagnoses.size() && i < first + 2; ++i) {
      *response.add_diagnoses() = diagnoses[i];
    }
    if (first + 2 < diagnoses.size()) response.set_next_page_token(absl::StrCat(first + 2));
    return response;
  }
  absl::Status Delete(const std::string& name) override {
    asked.push_back(name);
    return name == gone ? absl::NotFoundError("was deleted") : absl::OkStatus();
  }
  void Add(const std::string& id, v1::Diagnosis::State state, absl::Time last) {
    v1::Diagnosis& diagnosis = diagnoses.emplace_back();
    diagnosis.set_name("tenants/acme/diagnoses/" + id);
    diagnosis.set_state(state);
    *diagnosis.mutable_update_time() = ToTimestamp(last);
  }

  std::vector<v1::Diagnosis> diagnoses;
  std::vector<std::string> asked;
  std::set<std::string> parents;
  std::string gone;

 private:
  static absl::Status None() { return absl::UnimplementedError("not here"); }
};

TEST_F(RetentionCommandTest, AsksAServiceToDeleteWhatIsOverAndOld) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const absl::Time old = now - absl::Hours(24 * 91);
  FakeApi api;
  api.Add("new", v1::Diagnosis::SUCCEEDED, now);
  api.Add("runs", v1::Diagnosis::RUNNING, old);
  api.Add("waits", v1::Diagnosis::AWAITING_FEEDBACK, old);
  api.Add("failed", v1::Diagnosis::FAILED, old);
  api.Add("gone", v1::Diagnosis::CANCELLED, old);
  api.gone = "tenants/acme/diagnoses/gone";
  ASSERT_THAT(
      ApplyRetentionAt(api, Keep({"1d", "acme=90d"}), "acme", /*trial=*/false, now, console_),
      IsOk());
  EXPECT_THAT(api.parents, ElementsAre("tenants/acme"));
  EXPECT_THAT(api.asked,
              ElementsAre("tenants/acme/diagnoses/failed", "tenants/acme/diagnoses/gone"));
  EXPECT_THAT(out_.str(), HasSubstr("deleted 1 diagnoses; 1 older ones wait for a person"));
  api.asked.clear();
  ASSERT_THAT(ApplyRetentionAt(api, Keep({"acme=forever"}), "acme", false, now, console_), IsOk());
  EXPECT_TRUE(api.asked.empty());
}

TEST_F(RetentionCommandTest, ATimeThatIsNoneIsRefused) {
  RetentionArguments arguments;
  arguments.store = ":memory:";
  arguments.keep = {"soon"};
  EXPECT_EQ(RunRetention(arguments, console_), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("--keep: \"soon\": is not a time"));
}

}  // namespace retention_test
}  // namespace galen::cli
