#ifndef TESTS_TESTING_SECURITY_CERTIFICATES_H_
#define TESTS_TESTING_SECURITY_CERTIFICATES_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/security/certificates/authority.h"
#include "common/security/certificates/credentials.h"
#include "common/security/certificates/files.h"
#include "common/security/identity.h"

namespace galen::testing {

inline constexpr char kDomain[] = "test.local";

// Good since an hour ago, for an hour.
inline security::Validity GoodNow() {
  return {absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1)};
}
inline security::Validity Expired() {
  return {absl::Now() - absl::Hours(2), absl::Now() - absl::Hours(1)};
}

inline security::Issued NewAuthority(const std::string& name = "test") {
  return security::MakeAuthority(name, GoodNow()).value();
}

inline security::Issued IssueFor(const security::Issued& authority, security::Role role,
                                 const security::Validity& validity = GoodNow(),
                                 const std::string& domain = kDomain,
                                 const std::string& instance = "") {
  return security::Issue(authority, security::IdentityUri(domain, role, instance), validity)
      .value();
}

// The credentials that a program reads from files with this content.
inline security::Credentials CredentialsOf(const security::Issued& authority,
                                           const security::Issued& own, security::Role role,
                                           const std::string& domain = kDomain) {
  security::Credentials credentials;
  credentials.certificate = own.certificate;
  credentials.key = own.key;
  credentials.authority = authority.certificate;
  credentials.uri = security::IdentityUri(domain, role);
  credentials.domain = domain;
  credentials.role = role;
  credentials.not_after = absl::InfiniteFuture();
  return credentials;
}

// A directory of a test's own, removed afterwards, with a certificate of each role.
class CertificateDirectory {
 public:
  explicit CertificateDirectory(const security::Issued& authority)
      : path_(::testing::TempDir() + "/galen-certs-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) abort();
    Put("ca", authority);
    for (const security::Role role : security::AllRoles()) {
      Put(std::string(security::NameOf(role)), IssueFor(authority, role));
    }
  }
  ~CertificateDirectory() { std::filesystem::remove_all(path_); }
  CertificateDirectory(const CertificateDirectory&) = delete;
  CertificateDirectory& operator=(const CertificateDirectory&) = delete;

  const std::string& path() const { return path_; }
  // NAME.pem and NAME.key, each replaced whole, one after the other.
  void Put(const std::string& name, const security::Issued& issued) const {
    Write(name + ".key", issued.key);
    Write(name + ".pem", issued.certificate);
  }
  void Write(const std::string& name, const std::string& content) const {
    const absl::Status written =
        security::ReplaceFile(absl::StrCat(path_, "/", name), content, 0600);
    if (!written.ok()) abort();
  }

 private:
  std::string path_;
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_SECURITY_CERTIFICATES_H_
