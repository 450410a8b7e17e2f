#ifndef TESTS_INTEGRATION_SECURITY_MESH_H_
#define TESTS_INTEGRATION_SECURITY_MESH_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>

#include "common/rpc/security.h"
#include "tests/integration/security/caller.h"
#include "tests/testing/security/certificates.h"

namespace galen::testing {

// A server of every service, each with the certificate of its role, on loopback ports. Orchestrator
// and execution are the real ones, with agents and nodes that do not exist; the others answer
// UNIMPLEMENTED to every caller with access.
class SecureMesh {
 public:
  // `audit_log`: a file for all of them; "": none.
  explicit SecureMesh(const std::string& audit_log = "");
  ~SecureMesh();

  const security::Issued& authority() const { return authority_; }
  const CertificateDirectory& directory() const { return directory_; }
  // Address of the server of that method's service; "" if there is none.
  std::string ServerOf(const std::string& method) const;
  security::Role RoleOf(const std::string& method) const;
  // A channel to it of a program of this role, as programs make theirs.
  std::shared_ptr<grpc::Channel> ChannelOf(security::Role caller, const std::string& method);
  // The security of a program of this role.
  const rpc::Security& Of(security::Role role);

 private:
  struct Parts;
  const security::Issued authority_ = NewAuthority();
  const CertificateDirectory directory_{authority_};
  std::map<security::Role, std::unique_ptr<rpc::Security>> securities_;
  std::unique_ptr<Parts> parts_;
  std::map<std::pair<security::Role, std::string>, std::shared_ptr<grpc::Channel>> channels_;
};

}  // namespace galen::testing

#endif  // TESTS_INTEGRATION_SECURITY_MESH_H_
