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
    EXPECT_THAT(signer_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kGateway),
                                          Role::kGateway)),
                IsOk());
  }
  void ExpectRefused(const std::string& claim, const std::string& why) {
    EXPECT_THAT(verifier_.TenantOf(claim),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(why)));
  }
  std::string SignedBy(const Issued& authority, Role role,
                       const std::string& domain = galen::testing::kDomain) {
    ClaimSigner signer(clock_);
    EXPECT_THAT(
        signer.Use(CredentialsOf(
            authority, IssueFor(authority, role, galen::testing::GoodNow(), domain), role, domain)),
        IsOk());
    return signer.For("acme", Role::kOrchestrator).value();
  }

  galen::testing::FakeClock clock_{absl::Now()};
  const Issued authority_ = NewAuthority();
  ClaimSigner signer_{clock_};
  ClaimVerifier verifier_{clock_, Role::kOrchestrator};
};

TEST_F(ClaimsTest, AreBelievedAndSayWhichTenant) {
  const auto claim = signer_.For("acme", Role::kOrchestrator);
  ASSERT_THAT(claim, IsOk());
  EXPECT_LE(claim->size(), kMaxClaimBytes);
  EXPECT_EQ(verifier_.TenantOf(*claim).value(), "acme");
  EXPECT_EQ(verifier_.TenantOf(*claim).value(), "acme");  // also when it is remembered
}

TEST_F(ClaimsTest, OneIsUsedForManyCallsAndMadeAnewBeforeItEnds) {
  const std::string first = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_EQ(signer_.For("acme", Role::kOrchestrator).value(), first);
  EXPECT_NE(signer_.For("other", Role::kOrchestrator).value(), first);
  clock_.Advance(kClaimLife / 2);
  const std::string second = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_NE(second, first);
  EXPECT_THAT(verifier_.TenantOf(first), IsOk());  // who has it already may still use it
  clock_.Advance(kClaimLife / 2 + kClockSkew);
  ExpectRefused(first, "it was good from");
}

TEST_F(ClaimsTest, EndAlsoWhenTheyWereBelievedBefore) {
  const std::string claim = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_THAT(verifier_.TenantOf(claim), IsOk());
  clock_.Advance(kClaimLife + kClockSkew);
  ExpectRefused(claim, "it was good from");
}

TEST_F(ClaimsTest, AreForOneAudience) {
  ExpectRefused(signer_.For("acme", Role::kExecution).value(), "it is not for orchestrator");
}

TEST_F(ClaimsTest, AreBelievedOfEntriesAlone) {
  for (const Role role : AllRoles()) {
    const std::string claim = SignedBy(authority_, role);
    if (ClaimIssuers(Role::kOrchestrator).Has(role)) {
      EXPECT_THAT(verifier_.TenantOf(claim), IsOk()) << NameOf(role);
    } else {
      ExpectRefused(claim, "may not speak for a tenant");
    }
  }
}

TEST_F(ClaimsTest, OfStrangersAreRefused) {
  ExpectRefused(SignedBy(NewAuthority("other"), Role::kGateway), "who signed it");
  ExpectRefused(SignedBy(authority_, Role::kGateway, "elsewhere.local"), "issuer");
}

TEST_F(ClaimsTest, ThatWereChangedAreRefused) {
  const std::string claim = signer_.For("acme", Role::kOrchestrator).value();
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
  // The certificate of somebody else, who did not sign it.
  v1::SignedClaim another = made;
  ClaimSigner watch(clock_);
  ASSERT_THAT(
      watch.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kGateway), Role::kGateway)),
      IsOk());
  v1::SignedClaim theirs;
  ASSERT_TRUE(theirs.ParseFromString(watch.For("acme", Role::kOrchestrator).value()));
  *another.mutable_certificates() = theirs.certificates();
  ExpectRefused(another.SerializeAsString(), "signature");
}

TEST_F(ClaimsTest, NoBytesOfAStrangerDoMoreThanBeRefused) {
  const std::string claim = signer_.For("acme", Role::kOrchestrator).value();
  for (std::size_t i = 0; i < claim.size(); ++i) {
    std::string changed = claim;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    const auto read = verifier_.TenantOf(changed);
    // DER leaves no freedom in what is signed; an ECDSA signature can be changed into no other.
    EXPECT_FALSE(read.ok()) << i;
    EXPECT_FALSE(verifier_.TenantOf(claim.substr(0, i)).ok()) << i;
  }
  ExpectRefused("", "malformed");
  ExpectRefused(std::string(kMaxClaimBytes + 1, 'x'), "larger");
}

TEST_F(ClaimsTest, AreNoLongerBelievedWhenTheirAuthorityIsNoLongerTrusted) {
  const std::string claim = signer_.For("acme", Role::kOrchestrator).value();
  EXPECT_THAT(verifier_.TenantOf(claim), IsOk());
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
        EXPECT_EQ(verifier_.TenantOf(*claim).value(), tenant);
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
