#include <vector>

#include "services/node/checks/rdma/ports.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Ibstat(absl::string_view text) {
  const std::vector<node::RdmaPort> ports = node::ParseIbstat(text);
  Use(node::Hcas(ports));
  Use(node::FabricHcas(ports));
  for (const node::RdmaPort& port : ports) {
    Use(node::DeviceOf(port));
    Use(node::ExpectedRate(port, ports));
  }
}

void State(absl::string_view text) { Use(node::NormalState(text)); }

void Natural(absl::string_view text) {
  const std::size_t half = text.size() / 2;
  const bool less = node::NaturalLess(text.substr(0, half), text.substr(half));
  const bool more = node::NaturalLess(text.substr(half), text.substr(0, half));
  if (less && more) __builtin_trap();  // no order
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"ibstat", Ibstat}, {"state", State}, {"natural", Natural}};
  return kParsers;
}

}  // namespace galen::fuzz
