#ifndef COMMON_RPC_ADDRESS_H_
#define COMMON_RPC_ADDRESS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen::rpc {

// The address HOST:PORT of a server that was configured to listen at `listen` ("127.0.0.1:0") and
// listens at `port`. For a server on all addresses, HOST is the name of its machine.
std::string AddressOf(absl::string_view listen, int port);

}  // namespace galen::rpc

#endif  // COMMON_RPC_ADDRESS_H_
