#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/base/re2_piece.h"
#include "common/base/text.h"
#include "common/host/node_name.h"
#include "re2/re2.h"
#include "services/node/exec/parsers.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostFailures = 64;
constexpr std::size_t kMostRates = 1024;

// The most nodes of one run that are distinguished.
constexpr std::size_t kMostNodes = 4096;

// The distributed form puts "node | " before each line: takes it off, and gives the node; "" where
// there is none.
absl::string_view TakeNode(absl::string_view& line) {
  const std::size_t end = line.find(' ');
  if (end == absl::string_view::npos || !host::IsNodeName(line.substr(0, end)) ||
      !absl::StartsWith(line.substr(end), " | ")) {
    return "";
  }
  const absl::string_view node = line.substr(0, end);
  line.remove_prefix(end + 3);
  return node;
}

// "gpu-07.cluster.local" and "GPU-07" are the same machine.
bool IsSameNode(absl::string_view a, absl::string_view b) {
  return absl::EqualsIgnoreCase(a.substr(0, a.find('.')), b.substr(0, b.find('.')));
}

// Reads the lines of one node.
class NhcReader {
 public:
  explicit NhcReader(std::string node) : node_(std::move(node)) {}

  void Read(absl::string_view text) {
    static const LazyRE2 kFailed = {R"(Health check failed:\s+(\w+)\s*:\s*(.*))"};
    // A check that NHC could not find or run.
    static const LazyRE2 kOther = {R"(Health check failed:\s+(.*))"};
    static const LazyRE2 kRan = {
        R"(Running check \d+ of \d+:|completed successfully; [1-9]\d* passed)"};
    static const LazyRE2 kTotal = {R"(\b\d+ health checks failed)"};
    static const LazyRE2 kError = {R"(^ERROR:\s+nhc:\s+(.*))"};
    static const LazyRE2 kCopy = {
        R"(Device (\d+) (Device to Host|Host to Device) reported bandwidth is ([0-9.]+) GB/s)"};
    static const LazyRE2 kInfiniBand = {R"(IB devices=([\w, ]+): .*Measured IB BW ([0-9.]+) Gbps)"};
    static const LazyRE2 kAllReduce = {
        R"(NCCL allreduce bus BW ([0-9.]+) GB/s(?: \(expected >=\s*([0-9.]+) GB/s\))?)"};
    static const LazyRE2 kLoopback = {R"(NCCL allreduce IB loopback bandwidth ([0-9.]+) GB/s)"};
    const re2::StringPiece line = Piece(text);
    std::string a, b;
    std::string c;
    if (RE2::PartialMatch(line, *kFailed, &a, &b)) {
      Fail(CleanText(a, 64), CleanText(b, 240));
    } else if (RE2::PartialMatch(line, *kRan) || RE2::PartialMatch(line, *kTotal)) {
      ran_ = true;
    } else if (RE2::PartialMatch(line, *kOther, &a) || RE2::PartialMatch(line, *kError, &a)) {
      Fail("nhc", CleanText(a, 240));
    } else if (RE2::PartialMatch(line, *kCopy, &a, &b, &c)) {
      Rate(b == "Host to Device" ? "h2d_gb_s" : "d2h_gb_s", absl::StrCat("gpu:", a), c);
    } else if (RE2::PartialMatch(line, *kInfiniBand, &a, &b)) {
      for (const absl::string_view nic : absl::StrSplit(a, ", ", absl::SkipEmpty())) {
        Rate("ib_gbps", absl::StrCat("nic:", nic), b);
      }
    } else if (RE2::PartialMatch(line, *kAllReduce, &a, &b)) {
      Rate("allreduce_gb_s", "", a, b);
    } else if (RE2::PartialMatch(line, *kLoopback, &a)) {
      Rate("allreduce_ib_loopback_gb_s", "", a);
    }
  }

  CheckOutput Take() {
    CheckOutput output;
    output.findings = std::move(rates_);
    // With no configuration, or none for this machine, it runs nothing and ends with 0.
    output.findings.push_back(
        ran_ ? TextFinding("failed_checks", node_, "",
                           failed_.empty() ? "none" : CleanText(absl::StrJoin(failed_, ", "), 512))
             : UnknownFinding("failed_checks", node_, ""));
    output.message = !words_.empty() ? absl::StrJoin(words_, "; ")
                     : ran_          ? "no health check failed"
                                     : "it does not say that any health check ran";
    return output;
  }
  bool ran() const { return ran_; }

 private:
  void Fail(const std::string& check, const std::string& words) {
    ran_ = true;
    failed_.insert(check);
    // The log repeats a failure each time it runs.
    if (words_.size() < kMostFailures) words_.insert(absl::StrCat(check, ": ", words));
  }
  void Rate(absl::string_view name, const std::string& device, absl::string_view number,
            absl::string_view expected = "") {
    const std::optional<double> value = Number(number);
    if (!value.has_value() || rates_.size() >= kMostRates) return;
    ran_ = true;
    galen::v1::Finding finding = FloatFinding(name, node_, device, *value);
    finding.set_expected(std::string(absl::StripSuffix(expected, ".0")));
    rates_.push_back(std::move(finding));
  }

  const std::string node_;
  bool ran_ = false;
  std::set<std::string> failed_;
  std::set<std::string> words_;
  std::vector<galen::v1::Finding> rates_;
};

// The nodes that say something of their health.
std::set<absl::string_view> NodesOf(absl::Span<const absl::string_view> lines) {
  std::set<absl::string_view> nodes;
  for (absl::string_view line : lines) {
    const absl::string_view node = TakeNode(line);
    if (node.empty() || nodes.contains(node) || nodes.size() >= kMostNodes) continue;
    NhcReader reader("");
    reader.Read(line);
    if (reader.ran()) nodes.insert(node);
  }
  return nodes;
}

}  // namespace

absl::StatusOr<CheckOutput> ParseNhc(const ProgramOutput& output) {
  const std::string& own = output.context.host.name();
  std::vector<absl::string_view> lines = OutputLines(output.result.out);
  const std::vector<absl::string_view> errors = OutputLines(output.result.err);
  lines.insert(lines.end(), errors.begin(), errors.end());
  const std::set<absl::string_view> nodes = NodesOf(lines);
  // One node may call itself what we do not; of several, the others are not this one.
  const bool several = nodes.size() > 1;
  if (several && std::none_of(nodes.begin(), nodes.end(),
                              [&own](absl::string_view node) { return IsSameNode(node, own); })) {
    return absl::UnavailableError(absl::StrCat("nhc: reports only other nodes: ",
                                               CleanText(absl::StrJoin(nodes, ", "), 200)));
  }
  NhcReader reader(own);
  for (absl::string_view line : lines) {
    const absl::string_view node = TakeNode(line);
    if (!several || IsSameNode(node, own)) reader.Read(line);
  }
  if (!reader.ran() && output.result.exit_code != 0) {
    return NotOutputOf("nhc", absl::StrCat(output.result.err, output.result.out));
  }
  return reader.Take();
}

}  // namespace galen::node
