#ifndef TESTS_INTEGRATION_SECURITY_CALLER_H_
#define TESTS_INTEGRATION_SECURITY_CALLER_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>

#include "common/security/certificates/authority.h"
#include "common/security/role.h"

// Calls of any method as any caller, for the tests of this folder.
namespace galen::testing {

// Every method of every proto of Galen: "/galen.v1.DiagnosisService/GetDiagnosis".
std::map<std::string, const google::protobuf::MethodDescriptor*> AllMethods();

// An empty request of the method, serialized, in which `field` (unless it is "") is set to `value`;
// what asks for nodes asks for one that is not there.
std::string RequestOf(const google::protobuf::MethodDescriptor& method, const std::string& field,
                      const std::string& value);

// Makes a call of any kind, and waits for its status. `claim` and `asker` are sent unless they are
// "".
grpc::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                        const std::string& request, const std::string& claim = "",
                        const std::string& asker = "");

// A caller that is put together by hand, as a stranger would: shows `own` (nothing when it is
// empty), trusts `authority`, and does not care whom it meets.
std::shared_ptr<grpc::Channel> StrangersChannel(const std::string& target,
                                                const std::string& authority,
                                                const security::Issued& own);

}  // namespace galen::testing

#endif  // TESTS_INTEGRATION_SECURITY_CALLER_H_
