#include "services/cli/certs/directory.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/authority.h"
#include "common/security/certificates/files.h"
#include "common/security/certificates/openssl.h"
#include "common/security/identity.h"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPublic = 0644;
constexpr mode_t kSecret = 0600;
// Machines whose clocks are a little behind take a new certificate too.
constexpr absl::Duration kBackdated = absl::Minutes(5);
constexpr absl::Duration kAuthorityLife = absl::Hours(24 * 365 * 5);

std::string AuthorityFile(const std::string& directory) { return directory + "/ca.pem"; }
std::string AuthorityKey(const std::string& directory) { return directory + "/ca.key"; }

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be made"));
}

absl::StatusOr<security::Issued> ReadAuthority(const std::string& directory) {
  security::Issued authority;
  GALEN_ASSIGN_OR_RETURN(authority.certificate, ReadSmallFile(AuthorityFile(directory)));
  GALEN_ASSIGN_OR_RETURN(authority.key, ReadSmallFile(AuthorityKey(directory)));
  return authority;
}

// `path` without ".pem". The key first: a watcher that sees only it finds that it does not fit yet
// and waits.
absl::Status Put(const std::string& path, const security::Issued& issued) {
  GALEN_RETURN_IF_ERROR(security::ReplaceFile(path + ".key", issued.key, kSecret));
  return security::ReplaceFile(path + ".pem", issued.certificate, kPublic);
}

security::Validity For(absl::Duration valid, absl::Time now) {
  return {now - kBackdated, now + valid};
}

// Every certificate below the directory that has its key beside it, without ".pem", sorted.
absl::StatusOr<std::vector<std::string>> LeavesOf(const std::string& directory) {
  std::vector<std::string> leaves;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    fs::path path = at->path();
    if (at.depth() > 1 || path.extension() != ".pem" || path.filename() == "ca.pem") continue;
    path.replace_extension();
    std::error_code ignored;
    if (fs::exists(path.string() + ".key", ignored)) leaves.push_back(path.string());
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(directory, ": cannot be read: ", error.message()));
  }
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

// Puts the authorities into the directory and into those of its nodes.
absl::Status SpreadAuthorities(const std::string& directory, const std::string& authorities) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_directory()) continue;
    const std::string below = AuthorityFile(at->path().string());
    std::error_code ignored;
    if (fs::exists(below, ignored)) {
      GALEN_RETURN_IF_ERROR(security::ReplaceFile(below, authorities, kPublic));
    }
  }
  return security::ReplaceFile(AuthorityFile(directory), authorities, kPublic);
}

std::string Hex(const unsigned char* data, unsigned int size) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(data), size});
}

std::string FingerprintOf(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return "";
  return Hex(digest, size);
}

std::string NameText(const X509_NAME* name) {
  char text[256] = "";
  X509_NAME_get_text_by_NID(const_cast<X509_NAME*>(name), NID_commonName, text, sizeof(text));
  return text;
}

CertificateFacts FactsOf(const std::string& file, X509* certificate) {
  CertificateFacts facts;
  facts.file = file;
  facts.not_before = security::NotBefore(certificate);
  facts.not_after = security::NotAfter(certificate);
  facts.issuer = NameText(X509_get_issuer_name(certificate));
  facts.fingerprint = FingerprintOf(certificate);
  return facts;
}

}  // namespace

absl::Status MakeCertificates(const std::string& directory, const NewCertificates& wanted,
                              absl::Time now) {
  if (!security::IsDomain(wanted.domain)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--domain \"", wanted.domain,
                     "\": a trust domain has 1 to 255 of a-z, 0-9, '.', '_', '-'"));
  }
  for (const std::string& node : wanted.nodes) {
    if (security::IsInstance(node)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--node \"", node, "\": a host has 1 to 253 of letters, digits, '.', '_', '-'"));
  }
  GALEN_RETURN_IF_ERROR(MakeDirectory(directory));
  std::error_code ignored;
  for (const std::string& path : {AuthorityFile(directory), AuthorityKey(directory)}) {
    if (fs::exists(path, ignored)) {
      return absl::AlreadyExistsError(
          absl::StrCat(path, ": is there; `galen certs renew ", directory,
                       "` reissues its certificates, or choose a new directory"));
    }
  }
  GALEN_ASSIGN_OR_RETURN(
      const security::Issued authority,
      security::MakeAuthority(absl::StrCat("Galen ", wanted.domain), For(kAuthorityLife, now)));
  GALEN_RETURN_IF_ERROR(security::ReplaceFile(AuthorityKey(directory), authority.key, kSecret));
  for (const security::Role role : security::AllRoles()) {
    GALEN_ASSIGN_OR_RETURN(const security::Issued issued,
                           security::Issue(authority, security::IdentityUri(wanted.domain, role),
                                           For(wanted.valid, now)));
    GALEN_RETURN_IF_ERROR(Put(absl::StrCat(directory, "/", security::NameOf(role)), issued));
  }
  for (const std::string& node : wanted.nodes) {
    const std::string own = absl::StrCat(directory, "/node-", node);
    GALEN_RETURN_IF_ERROR(MakeDirectory(own));
    GALEN_ASSIGN_OR_RETURN(
        const security::Issued issued,
        security::Issue(authority,
                        security::IdentityUri(wanted.domain, security::Role::kNode, node),
                        For(wanted.valid, now)));
    GALEN_RETURN_IF_ERROR(Put(own + "/node", issued));
    GALEN_RETURN_IF_ERROR(
        security::ReplaceFile(AuthorityFile(own), authority.certificate, kPublic));
  }
  // Last: a directory that has it is complete.
  return security::ReplaceFile(AuthorityFile(directory), authority.certificate, kPublic);
}

absl::StatusOr<int> RenewCertificates(const std::string& directory, absl::Duration valid,
                                      absl::Time now) {
  GALEN_ASSIGN_OR_RETURN(const security::Issued authority, ReadAuthority(directory));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> leaves, LeavesOf(directory));
  for (const std::string& leaf : leaves) {
    GALEN_ASSIGN_OR_RETURN(const std::string old, ReadSmallFile(leaf + ".pem"));
    GALEN_ASSIGN_OR_RETURN(const auto certificates, security::ParseCertificates(old));
    const auto uri = security::UriOf(certificates.front().get());
    if (!uri.ok() || !security::ParseIdentity(*uri).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(leaf, ".pem: is not for an identity of Galen; take it out of ", directory));
    }
    GALEN_ASSIGN_OR_RETURN(const security::Issued issued,
                           security::Issue(authority, *uri, For(valid, now)));
    GALEN_RETURN_IF_ERROR(Put(leaf, issued));
  }
  return static_cast<int>(leaves.size());
}

absl::Status AddAuthority(const std::string& directory, absl::Time now) {
  GALEN_ASSIGN_OR_RETURN(const security::Issued old, ReadAuthority(directory));
  GALEN_ASSIGN_OR_RETURN(const auto certificates, security::ParseCertificates(old.certificate));
  GALEN_ASSIGN_OR_RETURN(
      const security::Issued fresh,
      security::MakeAuthority(NameText(X509_get_subject_name(certificates.front().get())),
                              For(kAuthorityLife, now)));
  GALEN_RETURN_IF_ERROR(SpreadAuthorities(directory, fresh.certificate + old.certificate));
  return security::ReplaceFile(AuthorityKey(directory), fresh.key, kSecret);
}

absl::Status RetireAuthorities(const std::string& directory, absl::Time now) {
  GALEN_ASSIGN_OR_RETURN(const security::Issued authority, ReadAuthority(directory));
  GALEN_ASSIGN_OR_RETURN(std::vector<security::X509Ptr> authorities,
                         security::ParseCertificates(authority.certificate));
  authorities.resize(1);
  GALEN_ASSIGN_OR_RETURN(const security::StorePtr store, security::StoreOf(authorities));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> leaves, LeavesOf(directory));
  for (const std::string& leaf : leaves) {
    GALEN_ASSIGN_OR_RETURN(const std::string pem, ReadSmallFile(leaf + ".pem"));
    GALEN_ASSIGN_OR_RETURN(const auto chain, security::ParseCertificates(pem));
    if (!security::VerifyChain(store.get(), chain.front().get(), chain, now).ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(leaf, ".pem: is not good by the newest authority; `galen certs renew ",
                       directory, "` first, and wait until programs have taken that up"));
    }
  }
  const security::BioPtr text(BIO_new(BIO_s_mem()));
  if (text == nullptr || PEM_write_bio_X509(text.get(), authorities.front().get()) != 1) {
    return absl::InternalError(security::OpensslError());
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return SpreadAuthorities(directory, std::string(data, static_cast<std::size_t>(size)));
}

absl::StatusOr<std::vector<CertificateFacts>> DescribeCertificates(const std::string& directory,
                                                                   absl::Time now) {
  GALEN_ASSIGN_OR_RETURN(const std::string trusted, ReadSmallFile(AuthorityFile(directory)));
  GALEN_ASSIGN_OR_RETURN(const auto authorities, security::ParseCertificates(trusted));
  GALEN_ASSIGN_OR_RETURN(const security::StorePtr store, security::StoreOf(authorities));
  std::vector<CertificateFacts> all;
  for (const security::X509Ptr& authority : authorities) {
    all.push_back(FactsOf("ca.pem", authority.get()));
    if (all.back().not_after <= now) all.back().problem = "expired";
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> leaves, LeavesOf(directory));
  for (const std::string& leaf : leaves) {
    const std::string file = fs::path(leaf + ".pem").lexically_relative(directory).string();
    GALEN_ASSIGN_OR_RETURN(const std::string pem, ReadSmallFile(leaf + ".pem"));
    const auto chain = security::ParseCertificates(pem);
    if (!chain.ok()) {
      all.push_back({.file = file, .problem = std::string(chain.status().message())});
      continue;
    }
    X509* const own = chain->front().get();
    CertificateFacts facts = FactsOf(file, own);
    const auto uri = security::UriOf(own);
    facts.identity = uri.ok() ? *uri : "";
    const absl::Status sound = security::VerifyChain(store.get(), own, *chain, now);
    if (!sound.ok()) facts.problem = std::string(sound.message());
    if (!uri.ok()) facts.problem = std::string(uri.status().message());
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace galen::cli
