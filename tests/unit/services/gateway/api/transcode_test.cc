#include "services/gateway/api/transcode.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "google/rpc/error_details.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/api/fakes.h"

namespace galen::gateway {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class TranscodeTest : public ::testing::Test {
 protected:
  absl::StatusOr<Transcoded> Transcode(const std::string& verb, const std::string& target,
                                       const std::string& body = "",
                                       const http::Headers& headers = {}) {
    http::Request request;
    request.method = verb;
    request.headers = headers;
    request.body = body;
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(target, absl::MaxSplits('?', 1));
    std::string allowed;
    match_ = table_.Find(verb, parts.first, allowed).value();
    return TranscodeRequest(match_, parts.second, request);
  }
  template <typename Message>
  Message As(const absl::StatusOr<Transcoded>& made) {
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? dynamic_cast<const Message&>(*made->request) : Message();
  }
  static std::string FieldOf(const absl::Status& status) {
    google::rpc::BadRequest bad;
    const auto payload = status.GetPayload("type.googleapis.com/google.rpc.BadRequest");
    if (!payload || !bad.ParseFromString(std::string(*payload))) return "<none>";
    return bad.field_violations(0).field();
  }

  const RouteTable table_{PublicRoutes()};
  Match match_;
};

constexpr char kDiagnoses[] = "/v1/tenants/t/diagnoses";

TEST_F(TranscodeTest, TakesTheResourceFromTheBodyAndTheRestFromPathAndQuery) {
  const auto request = As<galen::v1::CreateDiagnosisRequest>(Transcode(
      "POST", std::string(kDiagnoses) + "?diagnosisId=d1&request_id=r%201+x",
      R"({"incident": {"description": "slow", "nodes": ["n1"], "start_time": "2026-11-18T03:00:00+01:00",
          "logs": [{"path": "a", "content": "aGk", "kind": "JOB"}],
          "workload": {"worldSize": 8, "attributes": {"k": "v"}}}})"));
  EXPECT_EQ(request.parent(), "tenants/t");
  EXPECT_EQ(request.diagnosis_id(), "d1");
  EXPECT_EQ(request.request_id(), "r 1 x");
  const galen::v1::Incident& incident = request.diagnosis().incident();
  EXPECT_EQ(incident.description(), "slow");
  EXPECT_EQ(incident.start_time().seconds(), 1794967200);
  EXPECT_EQ(incident.logs(0).content(), "hi");
  EXPECT_EQ(incident.logs(0).kind(), galen::v1::LogSource::JOB);
  EXPECT_EQ(incident.workload().world_size(), 8);
  EXPECT_EQ(incident.workload().attributes().at("k"), "v");
}

TEST_F(TranscodeTest, RefusesAFieldThatThereIsNotAndNamesIt) {
  const auto made = Transcode("POST", kDiagnoses, R"({"incident": {"descripton": "slow"}})");
  EXPECT_THAT(made, StatusIs(kInvalid, HasSubstr("no such field")));
  EXPECT_EQ(FieldOf(made.status()), "diagnosis.incident.descripton");
  const auto top = Transcode("POST", kDiagnoses, R"({"bogus": 1})");
  EXPECT_EQ(FieldOf(top.status()), "diagnosis.bogus");
  const auto query = Transcode("GET", std::string(kDiagnoses) + "?bogus=1");
  EXPECT_EQ(FieldOf(query.status()), "bogus");
}

TEST_F(TranscodeTest, RefusesAValueOfAnotherTypeAndNamesTheField) {
  const auto made =
      Transcode("POST", kDiagnoses, R"({"incident": {"workload": {"worldSize": "many"}}})");
  EXPECT_THAT(made, StatusIs(kInvalid, HasSubstr("many")));
  EXPECT_THAT(FieldOf(made.status()), HasSubstr("diagnosis.incident.workload"));
  EXPECT_EQ(FieldOf(Transcode("GET", std::string(kDiagnoses) + "?pageSize=ten").status()),
            "pageSize");
}

TEST_F(TranscodeTest, RefusesABodyThatIsNoJson) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  for (const std::string& body : {std::string("{"), std::string("[]"), std::string("\"x\""),
                                  std::string("{\"strategy\": \"\xff\"}"), deep,
                                  std::string("{\"strategy\": \"x\"} trailing")}) {
    EXPECT_THAT(Transcode("POST", kDiagnoses, body), StatusIs(kInvalid, ::testing::_))
        << body.substr(0, 40);
  }
}

TEST_F(TranscodeTest, RefusesABodyWhereNoneBelongsOrInAnotherForm) {
  EXPECT_THAT(Transcode("GET", kDiagnoses, "{}"), StatusIs(kInvalid, HasSubstr("no body")));
  http::Headers form;
  form.Add("Content-Type", "application/x-www-form-urlencoded");
  EXPECT_THAT(Transcode("POST", kDiagnoses, "a=b", form), StatusIs(kInvalid, HasSubstr("form")));
  http::Headers packed;
  packed.Add("Content-Encoding", "gzip");
  EXPECT_THAT(Transcode("POST", kDiagnoses, "{}", packed),
              StatusIs(kInvalid, HasSubstr("uncompressed")));
}

TEST_F(TranscodeTest, ThePathDecidesWhatARequestIsAbout) {
  const std::string cancel = "/v1/tenants/t/diagnoses/d:cancel";
  EXPECT_EQ(
      As<galen::v1::CancelDiagnosisRequest>(Transcode("POST", cancel, R"({"reason": "x"})")).name(),
      "tenants/t/diagnoses/d");
  EXPECT_EQ(As<galen::v1::CancelDiagnosisRequest>(Transcode("POST", cancel)).name(),
            "tenants/t/diagnoses/d");
  const auto other = Transcode("POST", cancel, R"({"name": "tenants/other/diagnoses/d"})");
  EXPECT_THAT(other, StatusIs(kInvalid, HasSubstr("the path")));
  EXPECT_EQ(FieldOf(other.status()), "name");
  // Neither does the query.
  EXPECT_FALSE(Transcode("POST", cancel + "?name=tenants/other/diagnoses/d").ok());
  EXPECT_FALSE(Transcode("GET", std::string(kDiagnoses) + "?parent=tenants/other").ok());
}

TEST_F(TranscodeTest, RefusesAParameterThatStandsThereTwice) {
  for (const char* query : {"?pageSize=1&pageSize=2", "?pageSize=1&page_size=2"}) {
    EXPECT_THAT(Transcode("GET", std::string(kDiagnoses) + query),
                StatusIs(kInvalid, HasSubstr("twice")))
        << query;
  }
}

TEST_F(TranscodeTest, TakesTheIdempotencyKeyAsRequestId) {
  http::Headers headers;
  headers.Add("Idempotency-Key", "\"k-1\"");
  EXPECT_EQ(As<galen::v1::CreateDiagnosisRequest>(Transcode("POST", kDiagnoses, "{}", headers))
                .request_id(),
            "k-1");
  EXPECT_THAT(Transcode("POST", std::string(kDiagnoses) + "?requestId=other", "{}", headers),
              StatusIs(kInvalid, HasSubstr("Idempotency-Key")));
}

TEST_F(TranscodeTest, RefusesAQueryThatIsNotEncodedRight) {
  EXPECT_FALSE(Transcode("GET", std::string(kDiagnoses) + "?pageToken=%zz").ok());
  std::string many = "?";
  for (int i = 0; i < 101; ++i) many += "a" + std::to_string(i) + "=1&";
  EXPECT_THAT(Transcode("GET", kDiagnoses + many), StatusIs(kInvalid, HasSubstr("too many")));
}

galen::v1::ListDiagnosesResponse TwoDiagnoses() {
  galen::v1::ListDiagnosesResponse response;
  response.set_next_page_token("p");
  for (const char* name : {"a", "b"}) {
    galen::v1::Diagnosis& diagnosis = *response.add_diagnoses();
    diagnosis.set_name(name);
    diagnosis.set_strategy("tiered");
    diagnosis.mutable_report()->set_headline("h");
    diagnosis.mutable_report()->mutable_primary_cause()->set_label("L");
    diagnosis.mutable_report()->mutable_primary_cause()->set_title("T");
  }
  return response;
}
std::string Filtered(const std::string& fields) {
  galen::v1::ListDiagnosesResponse response = TwoDiagnoses();
  const auto filter = FieldFilter::Parse(fields, *response.GetDescriptor());
  EXPECT_TRUE(filter.ok()) << filter.status();
  filter->Apply(response);
  return ToJson(response).value();
}

TEST(FieldFilter, LeavesWhatIsWantedAlsoInLists) {
  EXPECT_EQ(Filtered("diagnoses.name,next_page_token"),
            R"({"diagnoses":[{"name":"a"},{"name":"b"}],"nextPageToken":"p"})");
  EXPECT_EQ(Filtered(" diagnoses.report.primaryCause.label "),
            R"({"diagnoses":[{"report":{"primaryCause":{"label":"L"}}},)"
            R"({"report":{"primaryCause":{"label":"L"}}}]})");
  EXPECT_EQ(Filtered(""), ToJson(TwoDiagnoses()).value());
}

TEST(FieldFilter, APartOfWhatIsWantedWholeChangesNothing) {
  const std::string whole = Filtered("diagnoses.report");
  EXPECT_EQ(Filtered("diagnoses.report,diagnoses.report.headline"), whole);
  EXPECT_EQ(Filtered("diagnoses.report.headline,diagnoses.report"), whole);
  EXPECT_EQ(Filtered("diagnoses.report.primary_cause.label,diagnoses.report"), whole);
}

TEST(FieldFilter, RefusesAPathThatThereIsNot) {
  for (const char* fields : {"bogus", "diagnoses.bogus", "diagnoses..name", "nextPageToken.x",
                             "diagnoses.incident.workload.attributes.k"}) {
    EXPECT_THAT(FieldFilter::Parse(fields, *galen::v1::ListDiagnosesResponse::descriptor()),
                StatusIs(kInvalid, HasSubstr("no such field")))
        << fields;
  }
  EXPECT_FALSE(
      FieldFilter::Parse(std::string(5000, 'a'), *galen::v1::ListDiagnosesResponse::descriptor())
          .ok());
}

}  // namespace
}  // namespace galen::gateway
