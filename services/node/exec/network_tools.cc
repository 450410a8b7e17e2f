#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/re2_piece.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/exec/parsers.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostRows = 256;

}  // namespace

absl::StatusOr<CheckOutput> ParsePerftest(const ProgramOutput& output) {
  static const LazyRE2 kHeader = {R"(#bytes\s+#iterations\s+BW peak\[(\S+)\])"};
  static const LazyRE2 kDevice = {R"(\bDevice\s+: (\S+))"};
  static const LazyRE2 kGidIndex = {R"(^\s*GID index\s+: (\d+))"};
  static const LazyRE2 kMtu = {R"(^\s*Mtu\s+: (\d+))"};
  std::string unit, device;
  std::optional<int> mtu;
  double size = -1;
  double rate = 0;
  double message_rate = 0;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    int number = 0;
    if (RE2::PartialMatch(Piece(line), *kHeader, &unit) ||
        RE2::PartialMatch(Piece(line), *kDevice, &device) ||
        RE2::PartialMatch(Piece(line), *kGidIndex)) {
      continue;
    }
    if (RE2::PartialMatch(Piece(line), *kMtu, &number)) mtu = number;
    const std::vector<absl::string_view> words = OutputWords(line);
    if (unit.empty() || words.size() != 5) continue;
    const auto bytes = Number(words[0]);
    const auto average = Number(words[3]);
    const auto messages = Number(words[4]);
    if (!bytes.has_value() || !average.has_value() || !messages.has_value()) continue;
    if (*bytes < size) continue;
    size = *bytes;
    rate = *average;
    message_rate = *messages;
  }
  if (size < 0) {
    return NotOutputOf("perftest",
                       output.result.out.empty() ? output.result.err : output.result.out);
  }
  // perftest's MB is 2^20 bytes, its Gb 10^9 bits (src/perftest_resources.h: format factor
  // 0x100000 for MBS, 125000000 for GBS).
  const double gbps = unit == "Gb/sec" ? rate : rate * 8 * 1048576 / 1e9;
  const std::string node = output.context.host.name();
  const std::string subject = device.empty() ? "" : absl::StrCat("nic:", device);
  CheckOutput found;
  found.findings.push_back(FloatFinding("bandwidth_gbps", node, subject, gbps));
  found.findings.push_back(
      IntFinding("message_bytes", node, subject, static_cast<std::int64_t>(std::min(size, 1e18))));
  found.findings.push_back(FloatFinding("message_rate_mpps", node, subject, message_rate));
  if (mtu.has_value()) found.findings.push_back(IntFinding("mtu", node, subject, *mtu));
  found.message =
      absl::StrCat(gbps, " Gb/s at ", size, " bytes", device.empty() ? "" : " on ", device);
  return found;
}

absl::StatusOr<CheckOutput> ParseGpcnet(const ProgramOutput& output) {
  const std::string node = output.context.host.name();
  CheckOutput found;
  std::string error;
  std::size_t rows = 0;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    if (error.empty() && absl::StartsWith(line, "ERROR:")) {
      error = CleanText(absl::StripAsciiWhitespace(line.substr(6)), 240);
    }
    if (error.empty() && absl::StrContains(line, "mpirun detected")) {
      error = CleanText(line, 240);
    }
    // "|   RR Two-sided Lat (8 B) |   10000.0 |   10000.0 |   usec |"
    const std::vector<absl::string_view> cells = absl::StrSplit(line.substr(0, 512), '|');
    if (cells.size() != 6) continue;
    const auto average = Number(absl::StripAsciiWhitespace(cells[2]));
    const auto tail = Number(absl::StripAsciiWhitespace(cells[3]));
    const absl::string_view unit = absl::StripAsciiWhitespace(cells[4]);
    if (!average.has_value() || !tail.has_value() || ++rows > kMostRows) continue;
    const std::string test =
        absl::StrCat("test:", CleanText(absl::StripAsciiWhitespace(cells[1]), 64));
    const bool latency = absl::StrContains(unit, "sec") && !absl::StrContains(unit, "/s");
    found.findings.push_back(
        FloatFinding(latency ? "latency_us" : "bandwidth_mib_s", node, test, *average));
    found.findings.push_back(
        FloatFinding(latency ? "latency_p99_us" : "bandwidth_p99_mib_s", node, test, *tail));
  }
  if (rows == 0 && error.empty()) return NotOutputOf("GPCNeT", output.result.out);
  found.findings.push_back(TextFinding("error", node, "", error.empty() ? "none" : error));
  found.message = error.empty() ? absl::StrCat(rows, " network tests") : error;
  return found;
}

}  // namespace galen::node
