// A person's approval on its way to a machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/security/certificates/openssl.h"
#include "common/security/certificates/signature.h"
#include "common/security/warrants/signer.h"
#include "common/security/warrants/verifier.h"
#include "galen/security/v1/warrant.pb.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/security/certificates.h"
#include "tests/testing/status_matchers.h"

namespace galen::security {
namespace {

using ::galen::testing::CredentialsOf;
using ::galen::testing::IsOk;
using ::galen::testing::IssueFor;
using ::galen::testing::NewAuthority;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

class WarrantsTest : public ::testing::Test {
 protected:
  WarrantsTest() {
    EXPECT_THAT(
        verifier_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kNode), Role::kNode)),
        IsOk());
    EXPECT_THAT(signer_.Use(CredentialsOf(authority_, own_, Role::kGateway)), IsOk());
  }
  Warrant Wanted() const {
    return {"tenants/t/diagnoses/d/actions/a", "00ff", "n1", "key/ana",
            clock_.Now() + absl::Minutes(15),  ""};
  }
  void ExpectRefused(const std::string& warrant, const std::string& why) {
    EXPECT_THAT(verifier_.Read(warrant),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(why)));
  }
  // One with arbitrary content, signed by `own_` all the same.
  std::string Forged(const v1::Warrant& warrant) {
    v1::SignedWarrant made;
    made.set_warrant(warrant.SerializeAsString());
    const KeyPtr key = ParseKey(own_.key).value();
    made.set_signature(security::Sign(key.get(), kWarrantContext, made.warrant()).value());
    const std::vector<X509Ptr> chain = ParseCertificates(own_.certificate).value();
    const std::vector<std::string> links = ToDer(chain).value();
    for (const std::string& der : links) made.add_certificates(der);
    return made.SerializeAsString();
  }
  v1::Warrant Read(const std::string& signed_warrant) {
    v1::SignedWarrant outer;
    v1::Warrant inner;
    EXPECT_TRUE(outer.ParseFromString(signed_warrant) && inner.ParseFromString(outer.warrant()));
    return inner;
  }

  galen::testing::FakeClock clock_{absl::Now()};
  const Issued authority_ = NewAuthority();
  const Issued own_ = IssueFor(authority_, Role::kGateway);
  WarrantSigner signer_{clock_};
  WarrantVerifier verifier_{clock_};
};

TEST_F(WarrantsTest, SayWhatWasApprovedWhereByWhomAndUntilWhen) {
  const auto signed_warrant = signer_.Sign(Wanted());
  ASSERT_THAT(signed_warrant, IsOk());
  EXPECT_LE(signed_warrant->size(), kMostWarrantBytes);
  const auto read = verifier_.Read(*signed_warrant);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->action, Wanted().action);
  EXPECT_EQ(read->content_hash, "00ff");
  EXPECT_EQ(read->node, "n1");
  EXPECT_EQ(read->approver, "key/ana");
  EXPECT_LE(read->expires, Wanted().expires);
  EXPECT_EQ(read->nonce.size(), 32u);
  EXPECT_NE(verifier_.Read(signer_.Sign(Wanted()).value())->nonce, read->nonce);
}

TEST_F(WarrantsTest, AreGoodUntilTheyExpireAndNotASecondLonger) {
  const std::string warrant = signer_.Sign(Wanted()).value();
  clock_.Advance(absl::Minutes(14));
  EXPECT_THAT(verifier_.Read(warrant), IsOk());
  clock_.Advance(absl::Minutes(1));
  ExpectRefused(warrant, "it was good from");
}

TEST_F(WarrantsTest, NoByteOfThemCanBeAnother) {
  const std::string warrant = signer_.Sign(Wanted()).value();
  for (std::size_t i = 0; i < warrant.size(); ++i) {
    std::string other = warrant;
    other[i] = static_cast<char>(other[i] ^ 1);
    const auto read = verifier_.Read(other);
    // (A bit may be in a place that nothing reads: then the meaning is the same.)
    if (read.ok()) {
      EXPECT_EQ(read->action, Wanted().action) << i;
      EXPECT_EQ(read->content_hash, "00ff") << i;
      EXPECT_EQ(read->node, "n1") << i;
    }
    ExpectRefused(warrant.substr(0, i), "warrant of an approval");
  }
}

TEST_F(WarrantsTest, OnlyAGatewayOfThisDomainKnowsAPerson) {
  for (const Role role : AllRoles()) {
    if (role == Role::kGateway) continue;
    WarrantSigner other(clock_);
    EXPECT_THAT(other.Use(CredentialsOf(authority_, IssueFor(authority_, role), role)), IsOk());
    ExpectRefused(other.Sign(Wanted()).value(), "cannot attest a person's approval");
  }
  WarrantSigner elsewhere(clock_);
  const Issued foreign =
      IssueFor(authority_, Role::kGateway, galen::testing::GoodNow(), "other.org");
  EXPECT_THAT(elsewhere.Use(CredentialsOf(authority_, foreign, Role::kGateway, "other.org")),
              IsOk());
  ExpectRefused(elsewhere.Sign(Wanted()).value(), "its issuer is not who signed it");
  const Issued strangers = NewAuthority("strangers");
  WarrantSigner stranger(clock_);
  EXPECT_THAT(
      stranger.Use(CredentialsOf(strangers, IssueFor(strangers, Role::kGateway), Role::kGateway)),
      IsOk());
  ExpectRefused(stranger.Sign(Wanted()).value(), "the certificate of who signed it");
}

TEST_F(WarrantsTest, WhatIsSignedForAnythingElseIsNone) {
  v1::SignedWarrant made;
  ASSERT_TRUE(made.ParseFromString(signer_.Sign(Wanted()).value()));
  const KeyPtr key = ParseKey(own_.key).value();
  made.set_signature(security::Sign(key.get(), "galen-claim-v1", made.warrant()).value());
  ExpectRefused(made.SerializeAsString(), "its signature does not hold");
}

TEST_F(WarrantsTest, OneThatSaysTooLittleOrIsGoodForTooLongIsRefusedThoughItIsSigned) {
  const v1::Warrant good = Read(signer_.Sign(Wanted()).value());
  EXPECT_THAT(verifier_.Read(Forged(good)), IsOk());
  v1::Warrant longer = good;
  longer.set_expires_s(good.issued_s() + 3601);
  ExpectRefused(Forged(longer), "good for too long");
  for (const char* field : {"action", "content_hash", "node", "approver", "nonce"}) {
    v1::Warrant less = good;
    less.GetReflection()->ClearField(&less, less.GetDescriptor()->FindFieldByName(field));
    ExpectRefused(Forged(less), "does not say what was approved");
  }
  ExpectRefused("", "there is none");
  ExpectRefused(std::string(kMostWarrantBytes + 1, 'a'), "too large");
}

TEST_F(WarrantsTest, WhoSignsSaysWhatIsMissing) {
  Warrant wanted = Wanted();
  wanted.node.clear();
  EXPECT_THAT(signer_.Sign(wanted),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node")));
  wanted = Wanted();
  wanted.expires = clock_.Now() + absl::Hours(2);
  EXPECT_THAT(signer_.Sign(wanted), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1h")));
  const WarrantSigner without(clock_);
  EXPECT_THAT(without.Sign(Wanted()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no certificate")));
}

}  // namespace
}  // namespace galen::security
