#include "common/rpc/address.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace galen::rpc {

std::string AddressOf(absl::string_view listen, int port) {
  const absl::string_view host = listen.substr(0, listen.rfind(':'));
  if (!host.empty() && host != "0.0.0.0" && host != "[::]" && host != "*") {
    return absl::StrCat(host, ":", port);
  }
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0) name[0] = '\0';
  return absl::StrCat(name, ":", port);
}

}  // namespace galen::rpc
