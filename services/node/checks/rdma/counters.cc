#include "services/node/checks/rdma/counters.h"

#include <array>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr absl::Duration kApart = absl::Seconds(1);

struct Growth {
  const char* finding;
  std::array<const char*, 2> counters;  // their sum; the second may be absent
};
constexpr std::array<Growth, 6> kGrowths = {{
    {"link_downed_delta", {"link_downed", nullptr}},
    {"out_of_sequence_delta", {"out_of_sequence", "packet_seq_err"}},
    {"local_ack_timeout_delta", {"local_ack_timeout_err", nullptr}},
    {"discards_delta", {"port_xmit_discards", "out_of_buffer"}},
    {"cnp_delta", {"rp_cnp_handled", "np_cnp_sent"}},
    {"rnr_delta", {"rnr_nak_retry_err", nullptr}},
}};

constexpr std::array<const char*, 10> kCounters = {
    "link_downed",           "symbol_error",       "out_of_sequence", "packet_seq_err",
    "local_ack_timeout_err", "port_xmit_discards", "out_of_buffer",   "rp_cnp_handled",
    "np_cnp_sent",           "rnr_nak_retry_err"};

std::optional<std::int64_t> Delta(const PortCounters& before, const PortCounters& after,
                                  const char* name) {
  if (name == nullptr) return std::nullopt;
  const auto a = before.find(name);
  const auto b = after.find(name);
  // A counter that went back was reset in between: how far it went is not known.
  if (a == before.end() || b == after.end() || b->second < a->second) return std::nullopt;
  return b->second - a->second;
}

PortCounters ReadCounters(const host::Host& host, const RdmaPort& port) {
  PortCounters counters;
  for (const char* folder : {"counters", "hw_counters"}) {
    for (const char* name : kCounters) {
      const auto line = FirstLine(host, absl::StrCat("/sys/class/infiniband/", port.hca, "/ports/",
                                                     port.number, "/", folder, "/", name));
      const auto value = line.ok() ? LeadingInt(*line) : std::nullopt;
      if (value.has_value()) counters[name] = *value;
    }
  }
  return counters;
}

}  // namespace

void AddDeltas(const std::string& node, const std::string& device, const PortCounters& before,
               const PortCounters& after, absl::Duration apart, CheckOutput* output) {
  for (const Growth& growth : kGrowths) {
    std::optional<std::int64_t> sum;
    for (const char* name : growth.counters) {
      const auto delta = Delta(before, after, name);
      if (delta.has_value()) sum = sum.value_or(0) + *delta;
    }
    output->findings.push_back(sum.has_value() ? IntFinding(growth.finding, node, device, *sum)
                                               : UnknownFinding(growth.finding, node, device));
  }
  const auto symbols = Delta(before, after, "symbol_error");
  const double hours = absl::ToDoubleHours(apart);
  output->findings.push_back(
      symbols.has_value() && hours > 0
          ? FloatFinding("symbol_errors_per_h", node, device, static_cast<double>(*symbols) / hours)
          : UnknownFinding("symbol_errors_per_h", node, device));
  output->findings.push_back(UnknownFinding("rx_pause_delta", node, device));
}

absl::StatusOr<CheckOutput> CheckRdmaCounters(const CheckContext& context) {
  const host::Host& host = context.host;
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  std::vector<PortCounters> before;
  for (const RdmaPort& port : ports) before.push_back(ReadCounters(host, port));
  absl::Duration apart;
  const absl::Time start = absl::Now();
  if (host.live() && start + kApart < context.deadline) {
    absl::SleepFor(kApart);
    apart = absl::Now() - start;
  }
  CheckOutput output;
  std::int64_t grown = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortCounters after =
        apart > absl::ZeroDuration() ? ReadCounters(host, ports[i]) : PortCounters();
    const std::size_t first = output.findings.size();
    AddDeltas(host.name(), DeviceOf(ports[i]), before[i], after, apart, &output);
    for (std::size_t f = first; f < output.findings.size(); ++f) {
      grown += output.findings[f].int_value() > 0;
    }
    for (const char* name : {"link_downed", "symbol_error", "port_xmit_discards"}) {
      const auto it = before[i].find(name);
      if (it == before[i].end() || it->second == 0) continue;
      absl::StrAppend(&output.excerpt, DeviceOf(ports[i]), " ", name, " ", it->second,
                      " since boot\n");
    }
  }
  output.message =
      apart > absl::ZeroDuration()
          ? absl::StrCat(grown, " error counters grew within ", absl::FormatDuration(apart))
          : "one read only: totals since boot are known, their growth is not";
  return output;
}

}  // namespace galen::node
