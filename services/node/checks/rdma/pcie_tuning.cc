#include "services/node/checks/rdma/pcie_tuning.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/kernel_events.h"

namespace galen::node {
namespace {

// Finding outstanding_reads of each adapter that mlxconfig tells of.
absl::Status AddOutstandingReads(const CheckContext& context, std::vector<v1::Finding>& findings,
                                 std::vector<std::string>& wrong) {
  const host::Host& host = context.host;
  const auto ports = ReadPorts(host);
  if (!ports.ok()) return absl::OkStatus();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "rdma.pcie"));
  std::map<std::string, std::int64_t> recommended;
  for (const std::vector<std::string>& entry : data.Lists("outstanding_reads")) {
    std::int64_t value = 0;
    if (entry.size() == 2 && absl::SimpleAtoi(entry[1], &value)) recommended[entry[0]] = value;
  }
  for (const std::string& hca : Hcas(*ports)) {
    if (!absl::StartsWith(hca, "mlx5")) continue;
    const auto text = Output(host, {"mlxconfig", "-d", hca, "q"});
    if (!text.ok()) {
      // The tool is not there for any of them.
      if (IsAbsent(text.status())) break;
      continue;
    }
    const AdapterSettings settings = ParseMlxconfig(*text);
    if (!settings.outstanding_reads.has_value()) continue;
    const std::int64_t reads = *settings.outstanding_reads;
    v1::Finding finding =
        IntFinding("outstanding_reads", host.name(), absl::StrCat("nic:", hca), reads);
    const auto wanted = recommended.find(settings.type);
    if (reads > 0 && wanted != recommended.end()) {
      finding.set_expected(absl::StrCat(wanted->second));
      if (reads < wanted->second) {
        wrong.push_back(absl::StrCat(hca, " may have ", reads, " reads over PCIe under way, ",
                                     wanted->second, " are recommended for ", settings.type));
      }
    }
    findings.push_back(std::move(finding));
  }
  return absl::OkStatus();
}

}  // namespace

AdapterSettings ParseMlxconfig(absl::string_view text) {
  // "Device type:    ConnectX6"; "MAX_ACC_OUT_READ    16", a name before its number in parentheses,
  // and default, current and next value where all three were asked for.
  static const RE2 type(R"(^\s*Device type:\s+(\S+))");
  static const RE2 reads(R"(^\*?\s*MAX_ACC_OUT_READ\s.*?(\d+)\)?\s*$)");
  AdapterSettings settings;
  for (const absl::string_view line : Lines(text)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::int64_t value = 0;
    if (settings.type.empty() && RE2::PartialMatch(piece, type, &settings.type)) continue;
    if (!settings.outstanding_reads.has_value() && RE2::PartialMatch(piece, reads, &value)) {
      settings.outstanding_reads = value;
    }
  }
  return settings;
}

absl::StatusOr<CheckOutput> CheckRdmaPcie(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  CheckOutput output;
  std::vector<std::string> wrong;
  GALEN_RETURN_IF_ERROR(AddOutstandingReads(context, output.findings, wrong));
  const auto lspci = Output(host, {"lspci", "-vvv", "-nn"});
  if (!lspci.ok() && output.findings.empty()) return lspci.status();
  const std::string text = lspci.value_or("");
  static const RE2 adapter(R"(^([0-9a-f:.]+) (?:Infiniband|Ethernet) controller.*\[15b3:)");
  static const RE2 link(R"(Lnk(Cap|Sta):.*Speed ([0-9.]+)GT/s[^,]*, Width x(\d+))");
  static const RE2 request(R"(MaxReadReq (\d+) bytes)");
  const std::map<std::string, std::string> names = DeviceNames(host);
  std::string device;
  double cap_speed = 0;
  int cap_width = 0;
  for (const absl::string_view line : Lines(text)) {
    const re2::StringPiece piece(line.data(), line.size());
    if (!line.empty() && line[0] != '\t' && line[0] != ' ') {
      std::string address;
      device = RE2::PartialMatch(piece, adapter, &address) ? DeviceAt(names, NormalPci(address))
                                                           : std::string();
      cap_speed = 0;
      cap_width = 0;
      continue;
    }
    if (device.empty()) continue;
    std::string kind;
    double speed = 0;
    int width = 0;
    std::int64_t bytes = 0;
    if (RE2::PartialMatch(piece, request, &bytes)) {
      output.findings.push_back(IntFinding("max_read_request", node, device, bytes));
    }
    if (!RE2::PartialMatch(piece, link, &kind, &speed, &width)) continue;
    if (kind == "Cap") {
      cap_speed = speed;
      cap_width = width;
      continue;
    }
    const std::map<double, int> generations = {{2.5, 1}, {5, 2}, {8, 3}, {16, 4}, {32, 5}, {64, 6}};
    const auto generation = generations.find(speed);
    output.findings.push_back(generation != generations.end()
                                  ? IntFinding("gen_current", node, device, generation->second)
                                  : UnknownFinding("gen_current", node, device));
    output.findings.push_back(IntFinding("width_current", node, device, width));
    if (cap_width == 0) {
      output.findings.push_back(UnknownFinding("downgraded", node, device));
      continue;
    }
    const bool down = speed < cap_speed || width < cap_width;
    v1::Finding finding = BoolFinding("downgraded", node, device, down);
    finding.set_expected("false");
    output.findings.push_back(std::move(finding));
    if (down) {
      wrong.push_back(absl::StrCat(device, " runs at ", speed, " GT/s x", width, " of ", cap_speed,
                                   " GT/s x", cap_width));
    }
  }
  if (output.findings.empty()) {
    return absl::NotFoundError("lspci shows no adapter with the state of its link");
  }
  output.message = !wrong.empty() ? absl::StrJoin(wrong, "; ")
                   : lspci.ok()   ? "the PCIe links of all adapters run at full speed"
                                  : "the adapters' reads over PCIe are not limited";
  return output;
}

}  // namespace galen::node
