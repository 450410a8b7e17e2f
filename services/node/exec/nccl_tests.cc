#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/re2_piece.h"
#include "re2/re2.h"
#include "services/node/exec/parsers.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

// A bandwidth is compared with a floor only for messages of at least this size, from which on it
// does not depend on the size any more (nccl-tests, doc/PERFORMANCE.md; facts: 1 GiB or more).
constexpr double kBigMessageBytes = 1024.0 * 1024 * 1024;
constexpr std::size_t kMaxRanks = 100'000;

// The report of a run of nccl-tests.
struct Report {
  std::size_t ranks = 0;
  std::set<std::string> nodes;
  // PCI addresses by node and local device.
  std::map<std::string, std::map<int, std::string>> slots;
  std::string product;
  bool one_product = true;
  bool all_reduces = false;  // by the columns of the table
  double size = -1;          // largest message
  double busbw = 0;          // at that size, the better of in place and out of place, as is usual
  double wrong = 0;
  bool checked = false;  // wrong values were counted
  std::optional<double> average;
  std::optional<double> out_of_bounds;
};

// "#  Rank  0 Group  0 Pid  28616 on host-0 device  0 [0000:8f:00] NVIDIA B200"
bool ReadRank(absl::string_view line, Report& report) {
  static const LazyRE2 kRank = {
      R"(^#\s+Rank\s+\d+ .*?Pid\s+\d+ on (\S+) device\s+(\d+) \[(\S+)\] (.+?)\s*$)"};
  std::string host, slot, product;
  int device = 0;
  if (!RE2::FullMatch(re2::StringPiece(line.data(), line.size()), *kRank, &host, &device, &slot,
                      &product) ||
      report.ranks >= kMaxRanks) {
    return false;
  }
  ++report.ranks;
  report.nodes.insert(host);
  report.slots[host][device] = slot;
  report.one_product = report.one_product && (report.ranks == 1 || report.product == product);
  report.product = product;
  return true;
}

// Bytes of an element; nothing for a type that is not known.
std::optional<double> BytesOf(absl::string_view type) {
  static constexpr struct {
    absl::string_view type;
    double bytes;
  } kTypes[] = {{"int8", 1},   {"uint8", 1},    {"int32", 4},  {"uint32", 4},
                {"int64", 8},  {"uint64", 8},   {"half", 2},   {"float", 4},
                {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};
  for (const auto& each : kTypes) {
    if (each.type == type) return each.bytes;
  }
  return std::nullopt;
}

// True when a line of the table is of an all-reduce. Its ranks have an operation and no root, and
// each has the whole message: reduce_perf has a root, reduce_scatter_perf counts what one rank
// gets.
bool IsAllReduce(const std::vector<absl::string_view>& words, double size, double count) {
  if (words.size() < 12) return false;
  for (std::size_t i = 3; i < words.size() - 8; ++i) {
    const auto root = Number(words[i]);
    if (i == 3 ? root.has_value() || words[i] == "none" : !root.has_value() || *root >= 0) {
      return false;
    }
  }
  return count * BytesOf(words[2]).value_or(0) == size;
}

// A line of the table: size, count, type, then for each of out of place and in place the time,
// algbw, busbw and errors. Redop and root are between them, each only for some operations.
bool ReadRow(absl::string_view line, Report& report) {
  const std::vector<absl::string_view> words = OutputWords(line);
  if (words.size() < 11 || words.size() > 13) return false;
  const auto size = Number(words[0]);
  const auto count = Number(words[1]);
  if (!size.has_value() || !count.has_value() || Number(words[2]).has_value()) return false;
  double best = 0;
  double wrong = 0;
  bool checked = false;
  for (const std::size_t begin : {words.size() - 8, words.size() - 4}) {
    const auto busbw = Number(words[begin + 2]);
    if (!Number(words[begin]).has_value() || !busbw.has_value()) return false;
    best = std::max(best, *busbw);
    // "N/A" where nothing was compared; older versions print a relative error such as 1e-07.
    const auto errors = Number(words[begin + 3]);
    if (errors.has_value() && !absl::StrContains(words[begin + 3], "e")) {
      checked = true;
      wrong += *errors;
    }
  }
  report.checked = report.checked || checked;
  report.wrong += wrong;
  if (*size >= report.size) {
    report.size = *size;
    report.busbw = best;
    report.all_reduces = IsAllReduce(words, *size, *count);
  }
  return true;
}

void ReadTotals(absl::string_view line, Report& report) {
  static const LazyRE2 kAverage = {R"(^#\s*Avg bus bandwidth\s*:\s*(\S+))"};
  static const LazyRE2 kBounds = {R"(^#\s*Out of bounds values\s*:\s*(\d+))"};
  const re2::StringPiece text = Piece(line);
  std::string number;
  if (RE2::PartialMatch(text, *kAverage, &number)) report.average = Number(number);
  if (RE2::PartialMatch(text, *kBounds, &number)) report.out_of_bounds = Number(number);
}

Report Read(absl::string_view text) {
  static const LazyRE2 kTag = {R"(^\[\d+,\d+\]<std(?:out|err)>:)"};
  Report report;
  for (const absl::string_view tagged : OutputLines(text)) {
    re2::StringPiece rest = Piece(tagged);
    RE2::Consume(&rest, *kTag);
    const absl::string_view line(rest.data(), rest.size());
    if (ReadRank(line, report) || ReadRow(line, report)) continue;
    ReadTotals(line, report);
  }
  return report;
}

std::int64_t WholeOf(double number) {
  return static_cast<std::int64_t>(std::clamp(number, 0.0, 1e18));
}

// The same slot has another local number on another node, so that traffic between ranks of one
// number crosses rails. Unknown with one rank a node, and for nodes without a common slot: another
// chassis or virtual machine numbers its slots differently.
std::optional<bool> RailsCross(const Report& report) {
  if (report.nodes.size() < 2 || report.ranks < 2 * report.nodes.size()) return std::nullopt;
  std::map<std::string, std::vector<int>> numbers;  // of each slot, one of each node that has it
  for (const auto& [node, slots] : report.slots) {
    std::map<std::string, std::vector<int>> here;
    for (const auto& [device, slot] : slots) here[slot].push_back(device);
    for (const auto& [slot, devices] : here) {
      if (devices.size() == 1) numbers[slot].push_back(devices.front());
    }
  }
  std::optional<bool> cross;
  for (const auto& [slot, devices] : numbers) {
    if (devices.size() < 2) continue;
    const auto [low, high] = std::minmax_element(devices.begin(), devices.end());
    cross = cross.value_or(false) || *low != *high;
  }
  return cross;
}

}  // namespace

absl::StatusOr<CheckOutput> ParseNcclTests(const ProgramOutput& output) {
  const Report report = Read(output.result.out);
  if (report.size < 0 && !report.average.has_value()) {
    return NotOutputOf("nccl-tests",
                       output.result.out.empty() ? output.result.err : output.result.out);
  }
  const double wrong = report.wrong + report.out_of_bounds.value_or(0);
  // EXIT_FAILURE means wrong values or an error midway, which the table does not show
  // (src/common.cu).
  if (output.result.exit_code != 0 && wrong == 0) {
    return absl::AbortedError(absl::StrCat("nccl-tests ended with exit code ",
                                           output.result.exit_code,
                                           " and no wrong value: ", LastWords(output.result)));
  }
  const std::string node = output.context.host.name();
  CheckOutput found;
  const auto add = [&](absl::string_view name, std::optional<double> value) {
    found.findings.push_back(value.has_value() ? FloatFinding(name, node, "", *value)
                                               : UnknownFinding(name, node, ""));
  };
  const bool table = report.size >= 0;
  std::optional<double> floor;
  // The floor is that of a whole node: 8 GPUs of one kind, over NVLink alone.
  if (report.all_reduces && report.nodes.size() == 1 && report.ranks == 8 && report.one_product &&
      report.size >= kBigMessageBytes) {
    floor = HardwareFact(output.context.knowledge, report.product, "allreduce_floor_gb_s");
  }
  galen::v1::Finding busbw = table ? FloatFinding("busbw_gb_s", node, "", report.busbw)
                                   : UnknownFinding("busbw_gb_s", node, "");
  if (floor.has_value()) busbw.set_expected(absl::StrCat(*floor));
  found.findings.push_back(std::move(busbw));
  add("avg_busbw_gb_s", report.average);
  found.findings.push_back(table ? IntFinding("message_bytes", node, "", WholeOf(report.size))
                                 : UnknownFinding("message_bytes", node, ""));
  if (floor.has_value()) add("floor_gb_s", floor);
  found.findings.push_back(report.checked || report.out_of_bounds.has_value()
                               ? IntFinding("wrong_values", node, "", WholeOf(wrong))
                               : UnknownFinding("wrong_values", node, ""));
  if (report.ranks > 0) {
    found.findings.push_back(
        IntFinding("ranks", node, "", static_cast<std::int64_t>(report.ranks)));
    found.findings.push_back(
        IntFinding("nodes", node, "", static_cast<std::int64_t>(report.nodes.size())));
  }
  if (const auto cross = RailsCross(report); cross.has_value()) {
    found.findings.push_back(BoolFinding("rails_cross", node, "", *cross));
  }
  found.message = absl::StrCat(
      table ? absl::StrCat("bus bandwidth ", report.busbw, " GB/s at ", report.size, " bytes")
            : absl::StrCat("average bus bandwidth ", report.average.value_or(0), " GB/s"),
      report.ranks == 0 ? ""
                        : absl::StrCat(", ", report.ranks, " ranks on ", report.nodes.size(),
                                       report.nodes.size() == 1 ? " node" : " nodes"));
  return found;
}

}  // namespace galen::node
