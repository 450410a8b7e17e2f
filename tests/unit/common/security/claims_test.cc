#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "common/security/claims/claim.h"
#include "common/security/claims/signer.h"
#include "common/security/claims/verifier.h"
#include "common/security/policy.h"
#include "galen/security/v1/claim.pb.h"
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

class ClaimsTest : public ::testing::Test {
 protected:
  ClaimsTest() {
    EXPECT_THAT(verifier_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kOrchestrator),
                                            Role::kOrchestrator)),
                IsOk());
    EXPECT_THAT(signer_.Use(CredentialsOf(authority_, brought_by_, Role::kGateway)), IsOk());
  }
  // Brought by a gateway that showed `brought_by_`, unless it is said otherwise.
  absl::StatusOr<std::string> TenantOf(const std::string& claim,
                                       const std::string& uri = IdentityUri(galen::testing::kDomain,
                                                                            Role::kGateway)) {
    const auto accepted =
        verifier_.Accept(claim, {uri, [this] { return brought_by_.certificate; }});
    if (!accepted.ok()) return accepted.status();
    return accepted->tenant;
  }
  void ExpectRefused(const std::string& claim, const std::string& why) {
    EXPECT_THAT(TenantOf(claim), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(why)));
  }
  // Signed and brought by a program of that role.
  absl::StatusOr<std::string> TenantBy(const Issued& authority, Role role,
                                       const std::string& domain = galen::testing::kDomain) {
    ClaimSigner signer(clock_);
    brought_by_ = IssueFor(authority, role, galen::testing::GoodNow(), domain);
    EXPECT_THAT(signer.Use(CredentialsOf(authority, brought_by_, role, domain)), IsOk());
    return TenantOf(signer.For("acme", Role::kOrchestrator).value(), IdentityUri(domain, role));
  }
  // As after an exchange of the signer's certificate for the same one: it goes along.
  std::string WithCertificate() {
    EXPECT_THAT(signer_.Use(CredentialsOf(authority_, brought_by_, Role::kGateway)), IsOk());
    return signer_.For("acme", Role::kOrchestrator).value();
  }

  galen::testing::FakeClock clock_{absl::Now()};
  const Issued authority_ = NewAuthority();
  Issued brought_by_ = IssueFor(authority_, Role::kGateway);
  ClaimSigner signer_{clock_};
  ClaimVerifier verifier_{clock_, Role::kOrchestrator};
};

TEST_F(ClaimsTest, NamesTheAskerItWasMadeFor) {
  const std::string claim = signer_.For("acme", Role::kOrchestrator, "key/7 (customer)").value();
  const std::string uri = IdentityUri(galen::testing::kDomain, Role::kGateway);
  for (int i = 0; i < 2; ++i) {  // also when it is remembered
    const auto accepted =
        verifier_.Accept(claim, {uri, [this] { return brought_by_.certificate; }});
    ASSERT_THAT(accepted, IsOk());
    EXPECT_EQ(accepted->tenant, "acme");
    EXPECT_EQ(accepted->asker, "key/7 (customer)");
  }
  // Claims of different askers are apart.
  EXPECT_NE(signer_.For("acme", Role::kOrchestrator).value(), claim);
  EXPECT_EQ(signer_.For("acme", Role::kOrchestrator, "key/7 (customer)").value(), claim);
}

TEST_F(ClaimsTest, AreBelievedAndSayWhichTenant) {
  const auto claim = signer_.For("acme", Role::kOrchestrator);
  ASSERT_THAT(claim, IsOk());
  EXPECT_LE(claim->size(), kMaxClaimBytes);
  EXPECT_EQ(TenantOf(*claim).value(), "acme");
  EXPECT_EQ(TenantOf(*claim).value(), "acme");  // also when it is remembered
}

TEST_F(ClaimsTest, OneIsUsedForManyCallsAndMadeAnewBeforeItEnds) {
  const std::string first = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_EQ(signer_.For("acme", Role::kOrchestrator).value(), first);
  EXPECT_NE(signer_.For("other", Role::kOrchestrator).value(), first);
  clock_.Advance(kClaimLife / 2);
  const std::string second = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_NE(second, first);
  EXPECT_THAT(TenantOf(first), IsOk());  // who has it already may still use it
  clock_.Advance(kClaimLife / 2 + kClockSkew);
  ExpectRefused(first, "it was good from");
}

TEST_F(ClaimsTest, EndAlsoWhenTheyWereBelievedBefore) {
  const std::string claim = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_THAT(TenantOf(claim), IsOk());
  clock_.Advance(kClaimLife + kClockSkew);
  ExpectRefused(claim, "it was good from");
}

TEST_F(ClaimsTest, AreForOneAudience) {
  ExpectRefused(signer_.For("acme", Role::kExecution).value(), "it is not for orchestrator");
}

TEST_F(ClaimsTest, AreBelievedOfEntriesAlone) {
  for (const Role role : AllRoles()) {
    const auto tenant = TenantBy(authority_, role);
    if (ClaimIssuers(Role::kOrchestrator).Has(role)) {
      EXPECT_THAT(tenant, IsOk()) << NameOf(role);
    } else {
      EXPECT_THAT(tenant, StatusIs(absl::StatusCode::kPermissionDenied,
                                   HasSubstr("may not speak for a tenant")));
    }
  }
}

TEST_F(ClaimsTest, OfStrangersAreRefused) {
  EXPECT_THAT(TenantBy(NewAuthority("other"), Role::kGateway),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("who signed it")));
  EXPECT_THAT(TenantBy(authority_, Role::kGateway, "elsewhere.local"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("issuer")));
}

TEST_F(ClaimsTest, AreOfNoUseToAnybodyElse) {
  for (const std::string& claim :
       {signer_.For("acme", Role::kOrchestrator).value(), WithCertificate()}) {
    EXPECT_THAT(TenantOf(claim), IsOk());
    for (const Role role : {Role::kOperator, Role::kWatch}) {
      EXPECT_THAT(TenantOf(claim, IdentityUri(galen::testing::kDomain, role)),
                  StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("brings it")));
    }
  }
}

TEST_F(ClaimsTest, CarryACertificateWhileConnectionsMayHaveBeenMadeWithAnOlderOne) {
  const std::string small = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_LT(small.size(), 256u);
  EXPECT_THAT(TenantOf(small), IsOk());
  // The connection stays as it is, and the signer's certificate is exchanged.
  ASSERT_THAT(
      signer_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kGateway), Role::kGateway)),
      IsOk());
  const std::string large = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_GT(large.size(), small.size() + 256);
  EXPECT_THAT(TenantOf(large), IsOk());
  v1::SignedClaim without;
  ASSERT_TRUE(without.ParseFromString(large));
  without.clear_certificates();
  ExpectRefused(without.SerializeAsString(), "signature");
  clock_.Advance(kOldConnections);
  EXPECT_LT(signer_.For("acme", Role::kOrchestrator).value().size(), 256u);
}

TEST_F(ClaimsTest, ThatWereChangedAreRefused) {
  const std::string claim = WithCertificate();
  v1::SignedClaim made;
  ASSERT_TRUE(made.ParseFromString(claim));
  v1::Claim inner;
  ASSERT_TRUE(inner.ParseFromString(made.claim()));
  inner.set_tenant("other");
  v1::SignedClaim other_tenant = made;
  other_tenant.set_claim(inner.SerializeAsString());
  ExpectRefused(other_tenant.SerializeAsString(), "signature");
  inner.set_tenant("acme");
  inner.set_expires_s(inner.expires_s() + 3600);
  v1::SignedClaim longer = made;
  longer.set_claim(inner.SerializeAsString());
  ExpectRefused(longer.SerializeAsString(), "too long");
  // The certificate of another party, who did not sign it.
  v1::SignedClaim another = made;
  brought_by_ = IssueFor(authority_, Role::kGateway);
  v1::SignedClaim theirs;
  ASSERT_TRUE(theirs.ParseFromString(WithCertificate()));
  *another.mutable_certificates() = theirs.certificates();
  ExpectRefused(another.SerializeAsString(), "signature");
}

TEST_F(ClaimsTest, NoBytesOfAStrangerDoMoreThanBeRefused) {
  // Signs with another certificate, so that the claim without it is worthless too.
  ASSERT_THAT(
      signer_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kGateway), Role::kGateway)),
      IsOk());
  const std::string claim = signer_.For("acme", Role::kOrchestrator).value();
  for (std::size_t i = 0; i < claim.size(); ++i) {
    std::string changed = claim;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    const auto read = TenantOf(changed);
    // DER leaves no freedom in the signed data; an ECDSA signature cannot be changed into another
    // one.
    EXPECT_FALSE(read.ok()) << i;
    EXPECT_FALSE(TenantOf(claim.substr(0, i)).ok()) << i;
  }
  ExpectRefused("", "it is not for");
  ExpectRefused("garbage", "malformed");
  ExpectRefused(std::string(kMaxClaimBytes + 1, 'x'), "larger");
}

TEST_F(ClaimsTest, AreNoLongerBelievedWhenTheirAuthorityIsNoLongerTrusted) {
  const std::string claim = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_THAT(TenantOf(claim), IsOk());
  const Issued next = NewAuthority("next");
  ASSERT_THAT(
      verifier_.Use(CredentialsOf(next, IssueFor(next, Role::kOrchestrator), Role::kOrchestrator)),
      IsOk());
  ExpectRefused(claim, "who signed it");
}

TEST_F(ClaimsTest, AreSignedAndCheckedByManyThreadsWhileKeysChange) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string tenant = "t" + std::to_string((t + i) % 3);
        const auto claim = signer_.For(tenant, Role::kOrchestrator);
        ASSERT_THAT(claim, IsOk());
        EXPECT_EQ(TenantOf(*claim).value(), tenant);
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(signer_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kGateway),
                                          Role::kGateway)),
                IsOk());
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace galen::security
