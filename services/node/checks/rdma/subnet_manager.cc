#include "services/node/checks/rdma/subnet_manager.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/services.h"
#include "services/node/checks/system/version_order.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

bool Matches(const CheckData& data, absl::string_view pattern, absl::string_view text) {
  return !CheckData::FirstMatch(data.Patterns(pattern), text).empty();
}

// "Jun 13 08:15:25 481231 [7F3A6A7C0740] 0x03 -> OpenSM 3.3.24"
constexpr char kForm[] = R"(^\w{3} +\d+ \d\d:\d\d:\d\d \d+ \[[0-9A-Fa-f]+\] 0x[0-9a-f]+ -> (.*))";

// The subnet manager of this node.
struct Manager {
  std::string version;  // empty: none runs here, or it is not known which
  OpenSmLog log;
  bool ndr_in_log = false;  // it manages switches of that generation
};

Manager ManagerHere(const CheckContext& context, const CheckData& data) {
  const host::Host& host = context.host;
  Manager manager;
  const auto generation = data.Patterns("ndr_switch");
  ForEachWantedLine(context, LogsOf::kThisNode, kSubnetManagerWant, [&](const LogLine& line) {
    // A log without a node describes the fabric, but does not show which node manages it.
    if (line.log->node.empty() || !manager.log.Add(line.text)) return;
    manager.ndr_in_log |= !CheckData::FirstMatch(generation, line.text).empty();
  }).IgnoreError();
  bool runs = manager.log.lines() > 0;
  if (const auto units = ReadUnits(host); units.ok()) {
    for (const char* name : {"opensm", "opensmd"}) {
      const auto it = units->find(name);
      runs |= it != units->end() && it->second.active == "active";
    }
  }
  if (!runs) return manager;
  manager.version = manager.log.version();
  for (const std::vector<std::string>& tool :
       {std::vector<std::string>{"dpkg-query", "-W"}, std::vector<std::string>{"rpm", "-qa"}}) {
    if (!manager.version.empty()) break;
    manager.version = OpenSmPackage(Output(host, tool).value_or(""));
  }
  return manager;
}

// "ERR 3111 44 times, ERR 0F10 43 times"; "none".
std::string Frequent(const OpenSmLog& log) {
  std::vector<std::pair<std::int64_t, std::string>> codes;
  for (const auto& [code, times] : log.errors()) codes.emplace_back(-times, code);
  if (codes.empty()) return "none";
  std::sort(codes.begin(), codes.end());
  codes.resize(std::min<std::size_t>(codes.size(), 5));
  std::vector<std::string> shown;
  for (const auto& [times, code] : codes)
    shown.push_back(absl::StrCat(code, " ", -times, " times"));
  return absl::StrJoin(shown, ", ");
}

// A summary of the InfiniBand ports.
struct Fabric {
  bool infiniband = false;
  bool ndr = false;
  bool trained = false;      // a port has a link, so that a manager can be asked
  bool remembers = false;    // a port has a manager's address, which it keeps when that is gone
  std::string unconfigured;  // the first port with a link that no manager gave anything to
};

Fabric FabricOf(const std::vector<RdmaPort>& ports, double ndr_lane) {
  Fabric fabric;
  for (const RdmaPort& port : ports) {
    if (port.link_layer != "InfiniBand") continue;
    fabric.infiniband = true;
    fabric.ndr |= port.state == "ACTIVE" && port.width.value_or(0) > 0 &&
                  port.rate_gbps.has_value() && *port.rate_gbps / *port.width >= ndr_lane;
    fabric.trained |=
        port.state == "ACTIVE" || port.state == "ARMED" || port.state == "INITIALIZING";
    fabric.remembers |= port.sm_lid.value_or(0) != 0;
    if (fabric.unconfigured.empty() && port.state == "INITIALIZING" && port.sm_lid == 0) {
      fabric.unconfigured = port.hca;
    }
  }
  return fabric;
}

// Whether the subnet manager answered sminfo; nothing where it was not asked.
std::optional<bool> Asked(const host::Host& host, const CheckData& data) {
  const auto sminfo = host.Run(std::vector<std::string>{"sminfo"});
  if (!sminfo.ok()) return std::nullopt;
  if (sminfo->exit_code == 0 && absl::StrContains(sminfo->out, "sm lid")) return true;
  const std::string said = absl::StrCat(sminfo->err, "\n", sminfo->out);
  // A query that never left, as one may not open the device, says nothing of the manager.
  if (Matches(data, "not_asked", said) || !Matches(data, "unanswered", said)) return std::nullopt;
  return false;
}

}  // namespace

const LogWant kSubnetManagerWant = {
    .name = "subnet manager",
    .expressions = [](const knowledge::Knowledge&) -> std::vector<std::string> {
      return {R"(^\w{3} +\d+ \d\d:\d\d:\d\d \d+ \[[0-9A-Fa-f]+\] 0x[0-9a-f]+ -> )"};
    }};

bool OpenSmLog::Add(absl::string_view line) {
  static const RE2 form(kForm);
  static const RE2 version(R"(^OpenSM (\d[\w.]*))");
  static const RE2 error(R"(\b(ERR [0-9A-F]{4})\b)");
  re2::StringPiece text;
  if (!RE2::PartialMatch(Piece(line), form, &text)) return false;
  ++lines_;
  if (version_.empty()) RE2::PartialMatch(text, version, &version_);
  std::string code;
  if (RE2::PartialMatch(text, error, &code) &&
      (errors_.size() < kMaxCodes || errors_.contains(code))) {
    ++errors_[code];
  }
  return true;
}

std::string OpenSmPackage(absl::string_view packages) {
  static const RE2 package(R"(^opensm(?:-|(?::\w+)?\s+)(?:\d+:)?(\d+\.\d[\w.]*))");
  std::string version;
  for (const absl::string_view line : Lines(packages)) {
    if (RE2::PartialMatch(Piece(line), package, &version)) break;
  }
  return version;
}

absl::StatusOr<CheckOutput> CheckSubnetManager(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(context.host));
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "rdma.subnet_manager"));
  GALEN_ASSIGN_OR_RETURN(const double ndr_lane, data.Number("ndr_lane_gbps"));
  const Fabric fabric = FabricOf(ports, ndr_lane);
  if (!fabric.infiniband) return absl::NotFoundError("no port runs InfiniBand");
  // Queries the manager itself: a port that is active stays so, with its address, after the manager
  // is gone.
  std::optional<bool> reachable;
  if (fabric.trained) reachable = Asked(context.host, data);
  std::string by = "sminfo";
  if (!reachable.has_value() && !fabric.unconfigured.empty() && !fabric.remembers) {
    reachable = false;
    by = absl::StrCat(fabric.unconfigured, " is INITIALIZING with SM lid 0");
  }
  CheckOutput output;
  output.findings.push_back(reachable.has_value() ? BoolFinding("reachable", node, "", *reachable)
                                                  : UnknownFinding("reachable", node, ""));
  const Manager manager = ManagerHere(context, data);
  std::string vendor;
  if (!manager.version.empty()) {
    vendor = absl::StrCat(Matches(data, "vendor_build", manager.version) ? "vendor " : "upstream ",
                          manager.version);
    const std::vector<std::string> without = data.Texts("upstream_without_ndr");
    if (absl::StartsWith(vendor, "upstream") && !without.empty() &&
        InVersionRange(manager.version, without.front()) && (manager.ndr_in_log || fabric.ndr)) {
      vendor = "unsupported";
    }
  }
  output.findings.push_back(vendor.empty() ? UnknownFinding("vendor", node, "")
                                           : TextFinding("vendor", node, "", vendor));
  output.findings.push_back(manager.log.lines() == 0
                                ? UnknownFinding("log_errors", node, "")
                                : TextFinding("log_errors", node, "", Frequent(manager.log)));
  output.message = !reachable.has_value() ? "whether a subnet manager answers is not known"
                   : *reachable           ? absl::StrCat("a subnet manager answers (", by, ")")
                                          : absl::StrCat("no subnet manager answers (", by, ")");
  if (!vendor.empty()) {
    absl::StrAppend(&output.message, "; OpenSM ", manager.version, " runs here",
                    vendor == "unsupported" ? ", which does not know NDR" : "");
  }
  return output;
}

}  // namespace galen::node
