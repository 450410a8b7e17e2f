// The peer is who it says it is, or nothing is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "common/llm/http_client.h"
#include "tests/testing/llm/certificates.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/status_matchers.h"

namespace galen::llm {
namespace {

using galen::testing::Authority;
using galen::testing::Certificate;
using galen::testing::ChatReply;
using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Code = absl::StatusCode;

class Tls : public ::testing::Test {
 protected:
  Tls() : authority_("Galen test authority") {
    endpoint_.model = "m";
    endpoint_.proxy = "none";
    endpoint_.ca_file = Write("ca.pem", authority_.certificate());
  }

  static std::string Write(const std::string& name, const std::string& text) {
    const std::string path =
        ::testing::TempDir() + "galen-tls-" + std::to_string(getpid()) + "-" + name;
    std::ofstream(path) << text;
    return path;
  }

  static ScriptedEndpoint::Script Answers() {
    return [](const Recorded&) { return ChatReply("x"); };
  }

  absl::StatusOr<ChatAnswer> Ask(const ScriptedEndpoint& endpoint) {
    endpoint_.url = endpoint.url();
    const auto client = HttpClient::Make(endpoint_);
    if (!client.ok()) return client.status();
    return (*client)->Chat({.messages = {{Message::Role::kUser, "why?"}}}, {});
  }

  const Authority authority_;
  Endpoint endpoint_;
};

TEST_F(Tls, TrustsTheAuthorityItIsGiven) {
  ScriptedEndpoint endpoint(Answers(), authority_.Issue("127.0.0.1"));
  EXPECT_THAT(Ask(endpoint), IsOk());
  EXPECT_THAT(endpoint.requests(), SizeIs(1));
}

TEST_F(Tls, DoesNotTrustAnotherAuthority) {
  const Authority other("Somebody else");
  ScriptedEndpoint endpoint(Answers(), other.Issue("127.0.0.1"));
  EXPECT_THAT(Ask(endpoint), StatusIs(Code::kPermissionDenied,
                                      AllOf(HasSubstr("certificate"), HasSubstr(endpoint.url()))));
  EXPECT_THAT(endpoint.requests(), IsEmpty());
}

TEST_F(Tls, DoesNotTrustTheSystemsAuthoritiesBesideTheOneItIsGiven) {
  ScriptedEndpoint endpoint(Answers(), authority_.Issue("127.0.0.1"));
  endpoint_.ca_file.clear();
  EXPECT_THAT(Ask(endpoint), StatusIs(Code::kPermissionDenied, _));
  EXPECT_THAT(endpoint.requests(), IsEmpty());
}

TEST_F(Tls, DoesNotTrustACertificateOfAnotherHost) {
  ScriptedEndpoint endpoint(Answers(), authority_.Issue("models.example.org"));
  EXPECT_THAT(Ask(endpoint), StatusIs(Code::kPermissionDenied, HasSubstr("127.0.0.1")));
  EXPECT_THAT(endpoint.requests(), IsEmpty());
}

TEST_F(Tls, DoesNotTrustACertificateThatHasExpired) {
  ScriptedEndpoint endpoint(Answers(), authority_.Issue("127.0.0.1", -absl::Hours(1)));
  EXPECT_THAT(Ask(endpoint), StatusIs(Code::kPermissionDenied, HasSubstr("expired")));
  EXPECT_THAT(endpoint.requests(), IsEmpty());
}

TEST_F(Tls, SaysWhenItsOwnFilesAreNotThere) {
  ScriptedEndpoint endpoint(Answers(), authority_.Issue("127.0.0.1"));
  endpoint_.ca_file = "/nowhere/ca.pem";
  EXPECT_THAT(Ask(endpoint), StatusIs(Code::kFailedPrecondition, HasSubstr("/nowhere/ca.pem")));
  endpoint_.ca_file = Write("empty.pem", "no certificate");
  EXPECT_THAT(Ask(endpoint), StatusIs(Code::kPermissionDenied, HasSubstr("certificate")));
}

TEST_F(Tls, SaysWhenThePeerSpeaksNone) {
  ScriptedEndpoint endpoint({ChatReply("x")});
  endpoint_.retry.most = 0;
  endpoint_.url = "https" + endpoint.url().substr(4);
  const auto client = HttpClient::Make(endpoint_);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(
      (*client)->Chat({.messages = {{Message::Role::kUser, "why?"}}},
                      {.deadline = absl::Now() + absl::Milliseconds(300)}),
      ::testing::AnyOf(StatusIs(Code::kUnavailable, _), StatusIs(Code::kDeadlineExceeded, _)));
}

}  // namespace
}  // namespace galen::llm
