#include "services/node/checks/rdma/active.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/rdma/gid_table.h"
#include "services/node/checks/rdma/nic_model.h"
#include "services/node/checks/rdma/perftest.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/retries.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr std::size_t kLeastToken = 16;
constexpr std::size_t kMostToken = 128;
// Time reserved for reporting the result.
constexpr absl::Duration kReserve = absl::Milliseconds(500);

MeasureOptions OptionsOf(const Parameters& parameters) {
  return {.qps = static_cast<int>(parameters.Integer("qps")),
          .message_bytes = static_cast<std::size_t>(parameters.Integer("message_bytes")),
          .duration = absl::Seconds(parameters.Number("seconds"))};
}

WaitLimits LimitsOf(const CheckContext& context) {
  return {context.deadline - kReserve, context.cancelled};
}

// The ports to measure: those of the requested device, else of the compute fabric.
absl::StatusOr<std::vector<MeasuredPort>> ChosenPorts(const CheckContext& context,
                                                      const std::vector<RdmaPort>& ports) {
  const std::string& device = context.parameters.Text("device");
  const std::set<std::string> fabric = FabricPorts(ports);
  std::vector<MeasuredPort> chosen;
  for (const RdmaPort& port : ports) {
    if (device.empty() ? !fabric.contains(DeviceOf(port)) : port.hca != device) continue;
    const std::int64_t index = context.parameters.Integer("gid_index");
    int gid = static_cast<int>(index);
    if (index < 0) {
      gid = port.link_layer == "Ethernet" ? UsableGidIndex(ReadGidTable(context.host, port)) : 0;
    }
    chosen.push_back({port.hca, port.number, gid});
  }
  if (!chosen.empty()) return chosen;
  return absl::NotFoundError(device.empty() ? "no adapter of a compute fabric"
                                            : absl::StrCat(device, ": no such RDMA device"));
}

const RdmaPort* Find(const std::vector<RdmaPort>& ports, const std::string& hca, int number) {
  for (const RdmaPort& port : ports) {
    if (port.hca == hca && (number == 0 || port.number == number)) return &port;
  }
  return nullptr;
}

// The floor of the model at the rate that the port runs at, which may be the site's choice:
// "write_floor_gbps" at full speed, "write_floor_200_gbps" at 200 Gb/s. Nothing where there is
// none.
std::optional<double> FloorOf(const knowledge::Knowledge& knowledge, const RdmaPort* port,
                              absl::string_view floor) {
  if (port == nullptr || !port->rate_gbps.has_value()) return std::nullopt;
  if (NicFact(knowledge, *port, "rate_gbps") == port->rate_gbps) {
    return NicFact(knowledge, *port, floor);
  }
  return NicFact(knowledge, *port,
                 absl::StrCat(absl::StripSuffix(floor, "gbps"), *port->rate_gbps, "_gbps"));
}

// The bandwidth of messages below this size is not compared with a floor.
absl::StatusOr<double> LeastBytes(const CheckContext& context, absl::string_view check) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, check));
  return data.Number("least_bytes");
}

// `floor`: its name in the knowledge, "" where none holds.
void AddGbps(const CheckContext& context, const RdmaPort* port, absl::string_view name,
             absl::string_view floor, const std::string& device, double gbps, CheckOutput* output) {
  v1::Finding finding = FloatFinding(name, context.host.name(), device, gbps);
  const auto least = floor.empty() ? std::nullopt : FloorOf(context.knowledge, port, floor);
  if (least.has_value()) finding.set_expected(absl::StrCat(*least));
  output->findings.push_back(std::move(finding));
  const std::string floor_name = absl::StrCat(name, "_floor");
  output->findings.push_back(least.has_value()
                                 ? FloatFinding(floor_name, context.host.name(), device, *least)
                                 : UnknownFinding(floor_name, context.host.name(), device));
}

// True when the last word is the server to measure with, rather than an option or its value.
bool NamesPeer(const std::vector<std::string>& argv) {
  static constexpr absl::string_view kWithValue[] = {"-d", "-p", "-s", "-n", "-q", "-x", "-D",
                                                     "-i", "-m", "-t", "-l", "-Q", "-S", "-u",
                                                     "-I", "-c", "-r", "-o", "-w", "-f"};
  if (argv.size() < 2 || absl::StartsWith(argv.back(), "-")) return false;
  const std::string& before = argv[argv.size() - 2];
  return std::find(std::begin(kWithValue), std::end(kWithValue), before) == std::end(kWithValue);
}

// The captured runs of perftest, with or without a peer.
absl::StatusOr<CheckOutput> FromPerftest(const CheckContext& context, bool with_peer,
                                         absl::string_view name, absl::string_view gpu_name,
                                         double least_bytes) {
  const host::Host& host = context.host;
  const auto read = ReadPorts(host);
  const std::vector<RdmaPort> ports = read.ok() ? *read : std::vector<RdmaPort>();
  CheckOutput output;
  std::vector<std::string> said;
  for (const char* tool : {"ib_write_bw", "ib_send_bw"}) {
    for (const std::vector<std::string>& argv : host.Captured(std::vector<std::string>{tool})) {
      const bool peer = NamesPeer(argv);
      if (peer != with_peer) continue;
      const auto run = host.Run(argv);
      if (!run.ok()) continue;
      const auto report = ParsePerftest(run->out);
      std::string hca = report.ok() ? report->device : "";
      for (std::size_t i = 1; i + 1 < argv.size() && hca.empty(); ++i) {
        if (argv[i] == "-d") hca = argv[i + 1];
      }
      const RdmaPort* const port = Find(ports, hca, 0);
      const std::string device = port != nullptr ? DeviceOf(*port) : absl::StrCat("nic:", hca);
      const std::string line = absl::StrJoin(argv, " ");
      if (!report.ok()) {
        // With no result the run itself failed; the complaint says why.
        output.findings.push_back(BoolFinding("failed", host.name(), device, true));
        said.push_back(absl::StrCat(line, " gave no result"));
        absl::StrAppend(&output.excerpt, line, "\n", run->err, run->out, "\n");
        continue;
      }
      const PerftestReport::Row best = report->best(least_bytes);
      const bool gpu = report->gpu_memory || absl::StrContains(line, "--use_cuda") ||
                       absl::StrContains(line, "--use_rocm");
      const absl::string_view finding = gpu && !gpu_name.empty() ? gpu_name : name;
      if (report->both_ways || std::find(argv.begin(), argv.end(), "-b") != argv.end() ||
          std::find(argv.begin(), argv.end(), "--bidirectional") != argv.end()) {
        // The sum of two directions describes neither of them.
        output.findings.push_back(UnknownFinding(finding, host.name(), device));
      } else {
        const absl::string_view floor = static_cast<double>(best.bytes) < least_bytes ? ""
                                        : gpu ? "gdr_floor_gbps"
                                              : "write_floor_gbps";
        AddGbps(context, port, finding, floor, device, best.average_gbps, &output);
      }
      output.findings.push_back(BoolFinding("failed", host.name(), device, false));
      said.push_back(absl::StrFormat("%s: %.1f Gb/s", line, best.average_gbps));
    }
  }
  if (said.empty()) {
    return absl::UnavailableError(
        "measured on a live node only, and no run of perftest was captured");
  }
  output.message = absl::StrJoin(said, "; ");
  return output;
}

std::string Sentence(const Measured& measured) {
  const std::string who =
      absl::StrCat(measured.own.device, " to ", measured.peer.empty() ? "?" : measured.peer);
  if (!measured.failed.empty()) return absl::StrCat(who, " failed: ", measured.failed);
  const std::string& unmeasured = measured.unmeasured;
  if (!unmeasured.empty()) return absl::StrCat(who, " not measured: ", unmeasured);
  std::string text =
      absl::StrFormat("%s %.2f Gb/s, %.1f us", who, std::max(measured.gbps_one, measured.gbps_many),
                      measured.latency.median_us);
  if (measured.wrong_words > 0) {
    absl::StrAppend(&text, ", ", measured.wrong_words, " words arrived wrong");
  }
  return text;
}

void AddAll(const CheckContext& context, const std::vector<RdmaPort>& ports,
            const std::vector<Measured>& all, absl::string_view gbps_name, double least_bytes,
            CheckOutput* output) {
  std::vector<std::string> said;
  for (const Measured& measured : all) {
    AddMeasured(context, ports, measured, gbps_name, least_bytes, output);
    said.push_back(Sentence(measured));
  }
  output->message = absl::StrJoin(said, "; ");
}

absl::StatusOr<std::vector<Measured>> Serve(const CheckContext& context,
                                            const std::shared_ptr<const VerbsLibrary>& library,
                                            const std::vector<MeasuredPort>& chosen) {
  const Parameters& parameters = context.parameters;
  SocketAddress address = OwnAddress();
  if (const std::string& asked = parameters.Text("address"); !asked.empty()) {
    GALEN_ASSIGN_OR_RETURN(address, ParseSocketAddress(asked));
  }
  GALEN_ASSIGN_OR_RETURN(Listener listener, Listener::Open(address));
  if (context.progress) {
    context.progress(0, absl::StrCat("listening on ", listener.address().Text()));
  }
  return ServePair(library, chosen, parameters.Text("token"), listener, LimitsOf(context));
}

absl::StatusOr<std::vector<Measured>> Join(const CheckContext& context,
                                           const std::shared_ptr<const VerbsLibrary>& library,
                                           const std::vector<MeasuredPort>& chosen) {
  GALEN_ASSIGN_OR_RETURN(const SocketAddress peer,
                         ParseSocketAddress(context.parameters.Text("peer")));
  const auto on_port = [&](int port, int ports) {
    if (!context.progress) return;
    context.progress(static_cast<double>(port - 1) / ports,
                     absl::StrCat("measuring at port ", port, " of ", ports));
  };
  return MeasurePair(library, chosen, OptionsOf(context.parameters),
                     context.parameters.Text("token"), peer, on_port, LimitsOf(context));
}

}  // namespace

absl::Status Tried(const std::vector<Measured>& all) {
  std::vector<std::string> said;
  bool by_peer = true;
  for (const Measured& measured : all) {
    if (measured.unmeasured.empty()) return absl::OkStatus();
    by_peer = by_peer && measured.unmeasured_by_peer;
    said.push_back(Sentence(measured));
  }
  if (said.empty()) return absl::OkStatus();
  const std::string text = absl::StrJoin(said, "; ");
  return by_peer ? absl::AbortedError(text) : absl::UnavailableError(text);
}

void AddMeasured(const CheckContext& context, const std::vector<RdmaPort>& ports,
                 const Measured& measured, absl::string_view gbps_name, double least_bytes,
                 CheckOutput* output) {
  const std::string& node = context.host.name();
  const std::string device = absl::StrCat("nic:", measured.own.device, "/port:", measured.own.port);
  const bool failed = !measured.failed.empty();
  const bool tried = measured.unmeasured.empty();
  output->findings.push_back(tried ? BoolFinding("failed", node, device, failed)
                                   : UnknownFinding("failed", node, device));
  if (failed || !tried) {
    // The rate of a failed transfer is unknown, not 0.
    for (const absl::string_view name :
         {gbps_name, absl::string_view("latency_us"), absl::string_view("data_errors")}) {
      output->findings.push_back(UnknownFinding(name, node, device));
    }
    return;
  }
  AddGbps(context, Find(ports, measured.own.device, measured.own.port), gbps_name,
          static_cast<double>(measured.message_bytes) < least_bytes ? "" : "write_floor_gbps",
          device, std::max(measured.gbps_one, measured.gbps_many), output);
  output->findings.push_back(FloatFinding("latency_us", node, device, measured.latency.median_us));
  output->findings.push_back(
      IntFinding("data_errors", node, device, static_cast<std::int64_t>(measured.wrong_words)));
  output->findings.push_back(
      measured.gbps_one > 0
          ? FloatFinding("multi_qp_gain", node, device, measured.gbps_many / measured.gbps_one)
          : UnknownFinding("multi_qp_gain", node, device));
}

absl::StatusOr<CheckOutput> CheckLoopback(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const double least_bytes, LeastBytes(context, "rdma.loopback"));
  if (!context.host.live()) return FromPerftest(context, false, "gbps", "", least_bytes);
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(context.host));
  GALEN_ASSIGN_OR_RETURN(const std::vector<MeasuredPort> chosen, ChosenPorts(context, ports));
  GALEN_ASSIGN_OR_RETURN(const auto library, VerbsLibrary::Load());
  std::vector<Measured> all;
  for (const MeasuredPort& port : chosen) {
    if (context.progress) {
      context.progress(static_cast<double>(all.size()) / static_cast<double>(chosen.size()),
                       absl::StrCat(port.device, " to itself"));
    }
    GALEN_ASSIGN_OR_RETURN(
        Measured measured,
        MeasureLoopback(library, port, OptionsOf(context.parameters), LimitsOf(context)));
    all.push_back(std::move(measured));
  }
  GALEN_RETURN_IF_ERROR(Tried(all));
  CheckOutput output;
  AddAll(context, ports, all, "gbps", least_bytes, &output);
  return output;
}

absl::StatusOr<CheckOutput> CheckPair(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const double least_bytes, LeastBytes(context, "rdma.pair"));
  if (!context.host.live()) {
    return FromPerftest(context, true, "gbps_host", "gbps_gpu", least_bytes);
  }
  const Parameters& parameters = context.parameters;
  const std::string& token = parameters.Text("token");
  if (token.empty()) {
    return absl::FailedPreconditionError(
        "needs a second node: ask for it over several nodes, or set role, peer and token");
  }
  if (token.size() < kLeastToken || token.size() > kMostToken || absl::StrContains(token, ' ') ||
      absl::StrContains(token, '\n')) {
    return absl::InvalidArgumentError("token: not 16 to 128 characters without a blank");
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(context.host));
  GALEN_ASSIGN_OR_RETURN(const std::vector<MeasuredPort> chosen, ChosenPorts(context, ports));
  GALEN_ASSIGN_OR_RETURN(const auto library, VerbsLibrary::Load());
  const Retries retries(context, ports, chosen);
  GALEN_ASSIGN_OR_RETURN(const std::vector<Measured> all, parameters.Text("role") == "client"
                                                              ? Join(context, library, chosen)
                                                              : Serve(context, library, chosen));
  GALEN_RETURN_IF_ERROR(Tried(all));
  CheckOutput output;
  AddAll(context, ports, all, "gbps_host", least_bytes, &output);
  retries.Add(&output);
  // Writing from a GPU's memory needs CUDA and nvidia_peermem or DMA-BUF, so verbs alone cannot
  // test it.
  output.findings.push_back(UnknownFinding("gbps_gpu", context.host.name(), ""));
  return output;
}

}  // namespace galen::node
