#ifndef COMMON_RPC_ADDRESS_H_
#define COMMON_RPC_ADDRESS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen::rpc {

// HOST:PORT where others reach a server that was told to listen at `listen` ("127.0.0.1:0") and
// does at `port`. One that listens on all addresses is reached by the name of its machine.
std::string AddressOf(absl::string_view listen, int port);

}  // namespace galen::rpc

#endif  // COMMON_RPC_ADDRESS_H_
