#include "services/gateway/api/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/services/gateway/api/fakes.h"

namespace galen::gateway {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class WatchStreamTest : public ::testing::Test {
 protected:
  void Start(std::int64_t after_sequence = 0, FieldFilter filter = {}) {
    auto request = std::make_shared<galen::v1::WatchDiagnosisRequest>();
    request->set_name("tenants/t/diagnoses/d");
    request->set_after_sequence(after_sequence);
    WatchStreams::Stream stream;
    stream.exchange = exchange_;
    stream.call.method = galen::v1::WatchDiagnosisRequest::descriptor()
                             ->file()
                             ->FindServiceByName("DiagnosisService")
                             ->FindMethodByName("WatchDiagnosis");
    stream.call.request = request;
    stream.filter = std::move(filter);
    stream.on_end = [this](const absl::Status& status) { ends_.push_back(status); };
    streams_.Start(std::move(stream));
  }
  FakeUpstream::Stream& feed() { return *upstream_.streams.back(); }
  static std::int64_t AfterOf(const FakeUpstream::Stream& feed) {
    return dynamic_cast<const galen::v1::WatchDiagnosisRequest&>(*feed.call.request)
        .after_sequence();
  }

  FakeUpstream upstream_;
  std::shared_ptr<FakeExchange> exchange_ = std::make_shared<FakeExchange>();
  std::vector<absl::Status> ends_;
  WatchStreams streams_{upstream_,
                        {.heartbeat = absl::Milliseconds(50),
                         .begin_after = absl::Milliseconds(20),
                         .tick = absl::Milliseconds(5),
                         .retry = absl::Seconds(2)}};
};

TEST_F(WatchStreamTest, SendsEachEventWithItsSequenceAsId) {
  Start();
  feed().Give(1);
  feed().Give(2);
  feed().Done(absl::OkStatus());
  const std::string text = exchange_->AwaitEnd();
  EXPECT_THAT(text, StartsWith("retry: 2000\n\n"));
  EXPECT_THAT(text, HasSubstr("id: 1\ndata: {\"sequence\":\"1\","
                              "\"cancelled\":{\"reason\":\"line\\nbreak\"}}\n\n"));
  EXPECT_THAT(text, HasSubstr("id: 2\n"));
  EXPECT_THAT(text, EndsWith("event: end\ndata: {}\n\n"));
  const http::Response head = exchange_->AwaitResponse();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.Get("Content-Type"), "text/event-stream");
  EXPECT_EQ(ends_.size(), 1u);
  EXPECT_EQ(streams_.open(), 0u);
}

TEST_F(WatchStreamTest, AsksForTheNextEventWhenTheOneBeforeHasFoundRoom) {
  Start();
  EXPECT_EQ(feed().asked, 1);
  feed().Give(1);
  EXPECT_EQ(feed().asked, 1);
  exchange_->SetFull(true);
  feed().Give(2);
  EXPECT_EQ(feed().asked, 0);  // and events that are not requested wait in the log
  exchange_->TellRoom();
  EXPECT_EQ(feed().asked, 0);
  exchange_->SetFull(false);
  exchange_->TellRoom();
  EXPECT_EQ(feed().asked, 1);
  EXPECT_THAT(exchange_->AwaitText("id: 2\n"), HasSubstr("id: 2\n"));
}

TEST_F(WatchStreamTest, EndsAfterAnEventThatHadToWait) {
  Start();
  exchange_->SetFull(true);
  feed().Give(1);
  feed().Done(absl::OkStatus());
  exchange_->SetFull(false);
  exchange_->TellRoom();
  EXPECT_THAT(exchange_->AwaitEnd(), HasSubstr("id: 1\n"));
}

TEST_F(WatchStreamTest, BeginsAndShowsItsLifeWhereNothingHappens) {
  Start();
  EXPECT_THAT(exchange_->AwaitText(": still here\n\n: still here\n\n"), StartsWith("retry: "));
  EXPECT_EQ(exchange_->AwaitResponse().status, 200);
}

TEST_F(WatchStreamTest, WithNothingNewerIs204SoThatBrowsersStop) {
  Start(/*after_sequence=*/7);
  EXPECT_EQ(AfterOf(feed()), 7);
  feed().Done(absl::OkStatus());
  EXPECT_EQ(exchange_->AwaitResponse().status, 204);
}

TEST_F(WatchStreamTest, AnErrorBeforeTheFirstEventIsAnOrdinaryAnswer) {
  Start();
  feed().Done(absl::NotFoundError("there is none"));
  EXPECT_EQ(exchange_->AwaitResponse().status, 404);
  EXPECT_THAT(exchange_->AwaitResponse().body, HasSubstr("there is none"));
}

TEST_F(WatchStreamTest, APlaceBeyondTheLogBeginsAnewAndSaysSo) {
  Start(/*after_sequence=*/1000);
  feed().Done(absl::OutOfRangeError("after_sequence lies beyond the log"));
  ASSERT_EQ(upstream_.streams.size(), 2u);
  EXPECT_EQ(AfterOf(feed()), 0);
  feed().Give(1);
  EXPECT_THAT(exchange_->AwaitText("id: 1\n"), HasSubstr("event: reset\ndata: {}\n\nid: 1\n"));
  // Once is enough.
  feed().Done(absl::OutOfRangeError("again"));
  EXPECT_THAT(exchange_->AwaitEnd(), HasSubstr("event: error\n"));
  EXPECT_EQ(upstream_.streams.size(), 2u);
}

TEST_F(WatchStreamTest, WhatWillBeBackJustEndsTheStreamSoThatTheClientGoesOn) {
  Start();
  feed().Give(1);
  feed().Done(absl::UnavailableError("the orchestrator restarts"));
  EXPECT_THAT(exchange_->AwaitEnd(), Not(HasSubstr("event: ")));
}

TEST_F(WatchStreamTest, EndsTheCallWhenTheClientHangsUp) {
  Start();
  feed().Give(1);
  exchange_->HangUp();
  EXPECT_TRUE(feed().cancelled);
  feed().Done(absl::CancelledError(""));  // as gRPC then does
  EXPECT_EQ(streams_.open(), 0u);
  ASSERT_EQ(ends_.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(ends_[0]));
}

TEST_F(WatchStreamTest, EndsEarlyWhenTheProgramGoes) {
  Start();
  feed().Give(1);
  streams_.EndAll();
  EXPECT_THAT(exchange_->AwaitEnd(), Not(HasSubstr("event: end")));
  EXPECT_TRUE(feed().cancelled);
  // And takes no new ones.
  exchange_ = std::make_shared<FakeExchange>();
  Start();
  EXPECT_EQ(exchange_->AwaitResponse().status, 503);
}

TEST_F(WatchStreamTest, SendsTheFieldsThatAreWantedAndStillTheId) {
  Start(0, FieldFilter::Parse("eventTime", *galen::v1::DiagnosisEvent::descriptor()).value());
  feed().Give(1);
  EXPECT_THAT(exchange_->AwaitText("data"), HasSubstr("id: 1\ndata: {}\n\n"));
}

}  // namespace
}  // namespace galen::gateway
