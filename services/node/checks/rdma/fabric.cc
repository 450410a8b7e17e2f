#include "services/node/checks/rdma/fabric.h"

#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostLinks = 500000;
constexpr std::size_t kMostFields = 1000;
constexpr std::size_t kMostNamed = 16;

// 4 and "HDR" of "4xHDR".
std::optional<std::pair<int, std::string>> WidthAndSpeed(absl::string_view word) {
  const std::size_t x = word.find('x');
  int width = 0;
  if (x == absl::string_view::npos || x + 1 == word.size() ||
      !absl::SimpleAtoi(word.substr(0, x), &width) || width < 1 || width > 16) {
    return std::nullopt;
  }
  for (const char c : word.substr(x + 1)) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) return std::nullopt;
  }
  return std::make_pair(width, std::string(word.substr(x + 1)));
}

// "S-0ff0" of `"S-0ff0"[21](...)`, with the port behind it.
std::string NodeAndPort(absl::string_view word) {
  if (!absl::ConsumePrefix(&word, "\"")) return "";
  const std::size_t quote = word.find('"');
  const std::size_t close = word.find(']');
  if (quote == absl::string_view::npos || close == absl::string_view::npos || close < quote) {
    return "";
  }
  return absl::StrCat(word.substr(0, quote), word.substr(quote + 1, close - quote));
}

}  // namespace

absl::StatusOr<FabricReport> ParseIbnetdiscover(absl::string_view text) {
  FabricReport report;
  std::string node;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.size() < 2) continue;
    if ((words[0] == "Switch" || words[0] == "Ca" || words[0] == "Rt") && words.size() > 2) {
      (words[0] == "Switch" ? report.switches : report.adapters) += 1;
      absl::string_view name = words[2];
      absl::ConsumePrefix(&name, "\"");
      absl::ConsumeSuffix(&name, "\"");
      node = std::string(name);
      continue;
    }
    if (words[0][0] == '[' && !node.empty()) {
      FabricLink link;
      const std::size_t close = words[0].find(']');
      link.from = absl::StrCat(node, words[0].substr(0, close), "]");
      link.to = NodeAndPort(words[1]);
      // The name in between may hold anything, so the last word of that form counts.
      for (const absl::string_view word : words) {
        if (auto found = WidthAndSpeed(word); found.has_value()) {
          std::tie(link.width, link.speed) = *std::move(found);
        }
      }
      link.trunk = !absl::StartsWith(link.from, "H-") && !absl::StartsWith(link.to, "H-");
      if (link.to.empty() || link.width == 0 || report.links.size() >= kMostLinks) continue;
      report.links.push_back(std::move(link));
      continue;
    }
    // `ibnetdiscover -p`: "SW   479 22 0x0002c9020040f161 4x QDR - CA ..." for a port with a link.
    if ((words[0] != "SW" && words[0] != "CA") || words.size() < 6) continue;
    const auto found = WidthAndSpeed(absl::StrCat(words[4], words[5]));
    if (!found.has_value()) continue;
    (words[0] == "SW" ? report.switches : report.adapters) += node != words[3];
    node = std::string(words[3]);
    if (words.size() < 8 || words[6] != "-" || report.links.size() >= kMostLinks) continue;
    FabricLink link;
    link.from = absl::StrCat(words[3], "[", words[2], "]");
    std::tie(link.width, link.speed) = *found;
    link.trunk = words[0] == "SW" && words[7] == "SW";
    report.links.push_back(std::move(link));
  }
  if (report.switches + report.adapters == 0) {
    return absl::InvalidArgumentError("ibnetdiscover: the output has no node");
  }
  return report;
}

std::vector<std::string> NarrowLinks(const FabricReport& report) {
  const auto usual_of = [&](bool trunk) {
    std::map<int, std::size_t> widths;
    for (const FabricLink& link : report.links) {
      if (link.trunk == trunk) ++widths[link.width];
    }
    int usual = 0;
    std::size_t most = 0;
    for (const auto& [width, count] : widths) {
      if (count >= most) {
        most = count;
        usual = width;
      }
    }
    return usual;
  };
  const int of_trunks = usual_of(true);
  const int of_hosts = usual_of(false);
  std::vector<std::string> narrow;
  for (const FabricLink& link : report.links) {
    if (link.width < (link.trunk ? of_trunks : of_hosts)) {
      narrow.push_back(absl::StrCat(link.from, " ", link.width, "x", link.speed));
    }
  }
  return narrow;
}

absl::StatusOr<std::map<std::string, std::string>> ParseIbswinfo(absl::string_view text) {
  std::map<std::string, std::string> fields;
  std::string unit;
  bool status = false;
  for (const absl::string_view line : Lines(text)) {
    const std::size_t bar = line.find('|');
    if (bar == absl::string_view::npos) {
      unit.clear();
      continue;
    }
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, bar));
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(bar + 1));
    const bool indented = absl::ascii_isspace(static_cast<unsigned char>(line[0]));
    if (name.empty() || fields.size() >= kMostFields) continue;
    if (!indented) {
      unit = absl::StartsWith(name, "PSU") ? std::string(name.substr(0, name.find(' '))) : "";
    }
    status |= absl::EndsWith(name, "status");
    fields[indented && !unit.empty() ? absl::StrCat(unit, " ", name) : std::string(name)] =
        std::string(value);
  }
  if (!status) return absl::InvalidArgumentError("ibswinfo: the output has no status");
  return fields;
}

std::vector<std::string> SwitchFaults(const std::map<std::string, std::string>& fields) {
  std::vector<std::string> faults;
  for (const auto& [name, value] : fields) {
    const bool state = absl::EndsWith(name, "status") || absl::EndsWith(name, "DC power");
    if (state && !value.empty() && value != "OK") faults.push_back(absl::StrCat(name, " ", value));
  }
  return faults;
}

absl::StatusOr<CheckOutput> CheckFabricLinks(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(context.host, {"ibnetdiscover"}));
  GALEN_ASSIGN_OR_RETURN(const FabricReport report, ParseIbnetdiscover(text));
  const std::string& node = context.host.name();
  std::vector<std::string> narrow = NarrowLinks(report);
  CheckOutput output;
  output.findings.push_back(IntFinding("switches", node, "", report.switches));
  output.findings.push_back(IntFinding("adapters", node, "", report.adapters));
  output.findings.push_back(
      IntFinding("narrow_links", node, "", static_cast<std::int64_t>(narrow.size())));
  output.message = absl::StrCat(report.switches, " switches, ", report.adapters, " adapters, ",
                                narrow.size(), " links with fewer lanes than most of their kind");
  if (narrow.size() > kMostNamed) narrow.resize(kMostNamed);
  output.excerpt = absl::StrJoin(narrow, "\n");
  return output;
}

absl::StatusOr<CheckOutput> CheckSwitches(const CheckContext& context) {
  const host::Host& host = context.host;
  CheckOutput output;
  std::vector<std::string> said;
  for (const auto& argv : host.Captured(std::vector<std::string>{"ibswinfo"})) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, Output(host, argv));
    GALEN_ASSIGN_OR_RETURN(const auto fields, ParseIbswinfo(text));
    const auto guid = fields.find("GUID");
    const std::string device =
        absl::StrCat("switch:", guid == fields.end() ? "unknown" : guid->second);
    const std::vector<std::string> faults = SwitchFaults(fields);
    output.findings.push_back(TextFinding("switch_faults", host.name(), device,
                                          faults.empty() ? "none" : absl::StrJoin(faults, ", ")));
    const auto heat = fields.find("temperature (C)");
    double celsius = 0;
    output.findings.push_back(heat != fields.end() && absl::SimpleAtod(heat->second, &celsius)
                                  ? FloatFinding("switch_c", host.name(), device, celsius)
                                  : UnknownFinding("switch_c", host.name(), device));
    said.push_back(
        absl::StrCat(device, ": ", faults.empty() ? "no fault" : absl::StrJoin(faults, ", ")));
  }
  if (said.empty()) return absl::UnavailableError("no output of ibswinfo was captured");
  output.message = absl::StrJoin(said, "; ");
  return output;
}

}  // namespace galen::node
