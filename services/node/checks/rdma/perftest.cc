#include "services/node/checks/rdma/perftest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostRows = 1000;
// perftest's MB is 2^20 bytes (its BW_MB); its Gb 10^9 bits.
constexpr double kGbPerMb = 8.0 * 1048576 / 1e9;

// The word after "name :" in a line of two columns: " Link type       : IB".
absl::string_view Field(absl::string_view line, absl::string_view name) {
  const std::size_t at = line.find(name);
  if (at == absl::string_view::npos) return "";
  line.remove_prefix(at + name.size());
  line = absl::StripLeadingAsciiWhitespace(line);
  if (line.empty() || line[0] != ':') return "";
  const std::vector<absl::string_view> words = Words(line.substr(1));
  return words.empty() ? absl::string_view() : words[0];
}

}  // namespace

PerftestReport::Row PerftestReport::best(double least_bytes) const {
  const auto rank = [&](const Row& row) {
    return std::make_pair(static_cast<double>(row.bytes) >= least_bytes, row.average_gbps);
  };
  const auto best = std::max_element(rows.begin(), rows.end(),
                                     [&](const Row& a, const Row& b) { return rank(a) < rank(b); });
  return best == rows.end() ? Row() : *best;
}

absl::StatusOr<PerftestReport> ParsePerftest(absl::string_view text) {
  PerftestReport report;
  double unit = 0;  // Gb/s for one of the column's
  for (const absl::string_view line : Lines(text)) {
    if (absl::StrContains(line, "#bytes")) {
      unit = absl::StrContains(line, "[Gb/sec]")   ? 1.0
             : absl::StrContains(line, "[MB/sec]") ? kGbPerMb
                                                   : 0;
      continue;
    }
    report.both_ways |= absl::StrContains(line, "Bidirectional");
    report.gpu_memory |= absl::StrContains(line, "CUDA_MEM_DEVICE") ||
                         absl::StrContains(line, "allocated GPU buffer");
    if (const absl::string_view device = Field(line, "Device"); !device.empty()) {
      report.device = std::string(device);
    }
    if (const absl::string_view mtu = Field(line, " Mtu"); !mtu.empty()) {
      report.mtu = LeadingInt(mtu).value_or(0);
    }
    if (const absl::string_view link = Field(line, "Link type"); !link.empty()) {
      report.ethernet = link == "Ethernet";
    }
    const std::vector<absl::string_view> words = Words(line);
    // The message rate is the fifth column, with --cpu_util the load of the CPU the sixth.
    if (unit == 0 || words.size() < 4 || words.size() > 6) continue;
    PerftestReport::Row row;
    if (!absl::SimpleAtoi(words[0], &row.bytes) || !absl::SimpleAtoi(words[1], &row.iterations) ||
        !absl::SimpleAtod(words[2], &row.peak_gbps) ||
        !absl::SimpleAtod(words[3], &row.average_gbps)) {
      continue;
    }
    row.peak_gbps *= unit;
    row.average_gbps *= unit;
    if (!std::isfinite(row.peak_gbps) || !std::isfinite(row.average_gbps) || row.average_gbps < 0) {
      continue;
    }
    if (report.rows.size() < kMostRows) report.rows.push_back(row);
  }
  if (report.rows.empty()) {
    return absl::InvalidArgumentError("perftest: the output holds no result");
  }
  return report;
}

}  // namespace galen::node
