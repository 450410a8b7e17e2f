#include "services/node/checks/rdma/retries.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace galen::node {

Retries::Retries(const CheckContext& context, const std::vector<RdmaPort>& ports,
                 const std::vector<MeasuredPort>& chosen)
    : context_(context) {
  for (const RdmaPort& port : ports) {
    for (const MeasuredPort& measured : chosen) {
      if (port.hca == measured.device && port.number == measured.port) ports_.push_back(port);
    }
  }
  auto growths = GrowthsOf(context.knowledge);
  if (!growths.ok()) return;
  for (Growth& growth : *growths) {
    if (growth.finding == "resent_per_s") growths_.push_back(std::move(growth));
  }
  before_ = Read();
}

void Retries::Add(CheckOutput* output) const {
  const std::vector<PortCounters> after = Read();
  for (std::size_t i = 0; i < before_.size(); ++i) {
    std::optional<std::int64_t> sum;
    for (const Growth& growth : growths_) {
      const auto grown = Grown(growth, before_[i], after[i]);
      if (grown.has_value()) sum = sum.value_or(0) + *grown;
    }
    const std::string& node = context_.host.name();
    output->findings.push_back(sum.has_value()
                                   ? IntFinding("retries", node, DeviceOf(ports_[i]), *sum)
                                   : UnknownFinding("retries", node, DeviceOf(ports_[i])));
  }
}

std::vector<PortCounters> Retries::Read() const {
  std::vector<PortCounters> all;
  all.reserve(ports_.size());
  for (const RdmaPort& port : ports_) {
    all.push_back(ReadCounters(context_.host, port, growths_));
  }
  return all;
}

}  // namespace galen::node
