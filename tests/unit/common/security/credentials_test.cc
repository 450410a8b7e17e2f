#include "common/security/certificates/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/base/read_file.h"
#include "tests/testing/security/certificates.h"
#include "tests/testing/status_matchers.h"

namespace galen::security {
namespace {

using ::galen::testing::CertificateDirectory;
using ::galen::testing::Expired;
using ::galen::testing::GoodNow;
using ::galen::testing::IsOk;
using ::galen::testing::IssueFor;
using ::galen::testing::NewAuthority;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CredentialsTest : public ::testing::Test {
 protected:
  absl::StatusOr<Credentials> Load(Role role = Role::kPlanning) {
    return LoadCredentials(FilesIn(directory_.path(), role), role, absl::Now());
  }
  void ExpectRefused(const std::string& file, const std::string& why) {
    EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr(file), HasSubstr(why))));
  }
  const Issued authority_ = NewAuthority();
  const CertificateDirectory directory_{authority_};
};

TEST_F(CredentialsTest, SoundOnesSayWhoTheProgramIs) {
  for (const Role role : AllRoles()) {
    const auto loaded = Load(role);
    ASSERT_THAT(loaded, IsOk());
    EXPECT_EQ(loaded->uri, IdentityUri(galen::testing::kDomain, role));
    EXPECT_EQ(loaded->domain, galen::testing::kDomain);
    EXPECT_GT(loaded->not_after, absl::Now());
  }
}

TEST_F(CredentialsTest, ACertManagerSecretIsRead) {
  const Issued own = IssueFor(authority_, Role::kPlanning);
  directory_.Write("tls.crt", own.certificate);
  directory_.Write("tls.key", own.key);
  directory_.Write("ca.crt", authority_.certificate);
  const auto loaded = Load();
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->certificate, own.certificate);
}

TEST_F(CredentialsTest, WhatIsUnsoundIsRefusedByName) {
  directory_.Put("planning", IssueFor(authority_, Role::kPlanning, Expired()));
  ExpectRefused("planning.pem", "expired");
  directory_.Put("planning", IssueFor(NewAuthority("other"), Role::kPlanning));
  ExpectRefused("planning.pem", "issuer");
  directory_.Put("planning", IssueFor(authority_, Role::kReflection));
  ExpectRefused("planning.pem", "is of role reflection; this program is planning");
  directory_.Put("planning", Issue(authority_, "https://example.org", GoodNow()).value());
  ExpectRefused("planning.pem", "https://example.org");
  directory_.Put("planning", IssueFor(authority_, Role::kPlanning));
  EXPECT_THAT(Load(), IsOk());
  directory_.Write("planning.key", IssueFor(authority_, Role::kPlanning).key);
  ExpectRefused("planning.key", "is not the key of");
  directory_.Write("planning.key", "garbage");
  ExpectRefused("planning.key", "holds no private key");
  directory_.Put("planning", IssueFor(authority_, Role::kPlanning));
  directory_.Write("planning.pem",
                   "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  ExpectRefused("planning.pem", "cannot be read");
  directory_.Write("planning.pem", std::string(2 << 20, 'x'));
  ExpectRefused("planning.pem", "more than 1 MiB");
  std::filesystem::remove(directory_.path() + "/planning.pem");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("planning.pem")));
}

TEST_F(CredentialsTest, ACertificateOfTwoIdentitiesIsRefused) {
  directory_.Put("planning",
                 Issue(authority_,
                       IdentityUri(galen::testing::kDomain, Role::kPlanning) + ",URI:spiffe://" +
                           galen::testing::kDomain + "/galen/gateway",
                       GoodNow())
                     .value());
  ExpectRefused("planning.pem", "has 2 URIs");
}

TEST_F(CredentialsTest, TwoAuthoritiesAreTrustedSideBySide) {
  const Issued second = NewAuthority("second");
  directory_.Write("ca.pem", second.certificate + authority_.certificate);
  EXPECT_THAT(Load(), IsOk());
  directory_.Put("planning", IssueFor(second, Role::kPlanning));
  EXPECT_THAT(Load(), IsOk());
  directory_.Write("ca.pem", authority_.certificate);
  EXPECT_FALSE(Load().ok());
}

TEST_F(CredentialsTest, AReplacedFileHasItsModeAndLeavesNothingBehind) {
  const std::string path = directory_.path() + "/planning.key";
  ASSERT_THAT(ReplaceFile(path, "secret", 0600), IsOk());
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  EXPECT_EQ(ReadSmallFile(path).value(), "secret");
}

}  // namespace
}  // namespace galen::security
