#include <vector>

#include "services/node/checks/rdma/fabric.h"
#include "services/node/checks/rdma/pcie_tuning.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/subnet_manager.h"
#include "services/node/checks/system/capture.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Ibstat(absl::string_view text) {
  const std::vector<node::RdmaPort> ports = node::ParseIbstat(text);
  Use(node::Hcas(ports));
  Use(node::FabricPorts(ports));
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

void Mlxconfig(absl::string_view text) { Use(node::ParseMlxconfig(text).type); }

void OpenSm(absl::string_view text) {
  Use(node::OpenSmPackage(text));
  node::OpenSmLog log;
  for (const absl::string_view line : node::Lines(text)) log.Add(line);
  Use(log.version());
}

void Ibnetdiscover(absl::string_view text) {
  const auto report = node::ParseIbnetdiscover(text);
  if (report.ok()) Use(node::NarrowLinks(*report));
}

void Ibswinfo(absl::string_view text) {
  const auto fields = node::ParseIbswinfo(text);
  if (fields.ok()) Use(node::SwitchFaults(*fields));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"ibstat", Ibstat},       {"state", State},   {"natural", Natural},
      {"mlxconfig", Mlxconfig}, {"opensm", OpenSm}, {"ibnetdiscover", Ibnetdiscover},
      {"ibswinfo", Ibswinfo}};
  return kParsers;
}

}  // namespace galen::fuzz
