#include "services/node/checks/log/job_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/line_facts.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

double Gib(double number, char unit) {
  switch (unit) {
    case 'K':
      return number / (1 << 20);
    case 'M':
      return number / 1024;
    case 'T':
      return number * 1024;
    default:
      return number;
  }
}

// The amount before `words`, or after them, in GiB.
std::optional<double> Amount(absl::string_view line, const RE2& form) {
  double number = 0;
  char unit = 'G';
  if (!RE2::PartialMatch(Piece(line), form, &number, &unit)) return std::nullopt;
  return Gib(number, unit);
}

// GiB that other processes hold of the GPU, each named by its number. PyTorch also finds its own
// process by its number: in a container, where the driver's numbers differ, it is among those
// named, and none is "this process" (CUDACachingAllocator.cpp, reportProcessMemoryInfo).
std::optional<double> OfOtherProcesses(absl::string_view line) {
  if (!absl::StrContains(line, "this process has")) return std::nullopt;
  static const RE2 process(R"(Process \d+ has (\d+(?:\.\d+)?) ?([KMGT])iB memory in use)");
  re2::StringPiece rest = Piece(line);
  std::optional<double> sum;
  double number = 0;
  char unit = 'G';
  while (RE2::FindAndConsume(&rest, process, &number, &unit)) {
    sum = sum.value_or(0) + Gib(number, unit);
  }
  return sum;
}

// Messages until PyTorch 2.0 name no other process, but the memory that is neither free nor
// reserved by PyTorch. A CUDA context and the libraries of one process take less than 2 GiB and a
// quarter of the device; beyond that another process holds memory. The context's 1 GiB is
// subtracted.
// https://github.com/pytorch/pytorch/blob/v1.13.1/c10/cuda/CUDACachingAllocator.cpp
std::optional<double> NotOfPyTorch(absl::string_view line, const CudaOom& oom) {
  constexpr double kContextGib = 1;
  static const RE2 held(R"((\d+(?:\.\d+)?) ?([KMGT])iB (?:reserved in total by PyTorch|cached))");
  const std::optional<double> own = Amount(line, held);
  if (!own.has_value() || !oom.capacity.has_value() || !oom.free.has_value()) return std::nullopt;
  const double rest = *oom.capacity - *oom.free - *own;
  if (rest <= std::max(2.0, *oom.capacity / 4)) return std::nullopt;
  return rest - kContextGib;
}

// GiB of each GPU's memory, in the order of the driver.
std::vector<double> Capacities(const host::Host& host) {
  std::vector<double> capacities;
  const auto xml = Output(host, {"nvidia-smi", "-q", "-x"});
  if (!xml.ok()) return capacities;
  static const RE2 total(R"((?s)<fb_memory_usage>\s*<total>(\d+) MiB</total>)");
  re2::StringPiece rest = Piece(*xml);
  double mib = 0;
  while (capacities.size() < 1024 && RE2::FindAndConsume(&rest, total, &mib)) {
    capacities.push_back(mib / 1024);
  }
  return capacities;
}

// How many batches a rank has.
constexpr char kBatches[] =
    R"((?i)(?:number of|num|total) batches(?: per (?:rank|epoch))?\s*[:=]\s*(\d{1,12}))";

}  // namespace

std::optional<CudaOom> FindCudaOom(absl::string_view line) {
  if (!absl::StrContains(line, "out of memory") || !absl::StrContains(line, "ried to allocate")) {
    return std::nullopt;
  }
  static const RE2 gpu(R"(GPU (\d{1,4}))");
  static const RE2 wanted(R"([Tt]ried to allocate (\d+(?:\.\d+)?) ?([KMGT])iB)");
  static const RE2 capacity(R"((?:total capacity of |GPU \d+; )(\d+(?:\.\d+)?) ?([KMGT])iB)");
  static const RE2 free(R"((\d+(?:\.\d+)?) ?([KMGT])iB (?:is )?free)");
  static const RE2 allocated(
      R"((\d+(?:\.\d+)?) ?([KMGT])iB (?:is allocated by PyTorch|already allocated))");
  static const RE2 reserved(
      R"((\d+(?:\.\d+)?) ?([KMGT])iB is reserved by PyTorch but unallocated)");
  CudaOom oom;
  int index = 0;
  if (RE2::PartialMatch(Piece(line), gpu, &index)) oom.gpu = index;
  oom.wanted = Amount(line, wanted);
  oom.capacity = Amount(line, capacity);
  oom.free = Amount(line, free);
  oom.allocated = Amount(line, allocated);
  oom.reserved = Amount(line, reserved);
  oom.others = OfOtherProcesses(line);
  if (!oom.others.has_value()) oom.others = NotOfPyTorch(line, oom);
  return oom;
}

const LogWant kGpuMemoryWant = {
    .name = "gpu memory",
    .expressions = [](const knowledge::Knowledge&) -> std::vector<std::string> {
      return {"out of memory"};
    }};

const LogWant kJobDataWant = {
    .name = "job data", .expressions = [](const knowledge::Knowledge& knowledge) {
      std::vector<std::string> wanted = TextsOf(PatternsOf(knowledge, "job.data"));
      wanted.emplace_back(kBatches);
      return wanted;
    }};

absl::StatusOr<CheckOutput> CheckJobGpuMemory(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  struct Failure {
    CudaOom oom;
    std::string text;
  };
  std::map<int, Failure> failures;  // by rank, or by GPU below 0
  const auto lines =
      ForEachWantedLine(context, LogsOf::kThisNode, kGpuMemoryWant, [&](const LogLine& line) {
        auto oom = FindCudaOom(line.text);
        if (!oom.has_value()) return;
        std::optional<int> rank = log_scan::FindRank(line.text);
        if (!rank.has_value()) rank = line.log->rank;
        const int key = rank.has_value() ? *rank : -1 - oom->gpu.value_or(0);
        if (failures.size() < 4096) failures.emplace(key, Failure{*oom, CleanText(line.text, 400)});
      });
  const std::vector<double> capacities = Capacities(host);
  if (failures.empty()) {
    if (!lines.ok()) return lines.status();
    return absl::FailedPreconditionError(
        "the job's logs name no failed allocation, and nothing else tells its peak");
  }
  CheckOutput output;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  std::vector<double> peaks;
  std::vector<std::string> robbed;  // of memory, by others
  std::map<int, int> ranks_on;      // by GPU
  for (const auto& [key, failure] : failures) ++ranks_on[failure.oom.gpu.value_or(-1)];
  for (const auto& [key, failure] : failures) {
    const CudaOom& oom = failure.oom;
    std::optional<double> capacity = oom.capacity;
    const auto index = static_cast<std::size_t>(oom.gpu.value_or(-1));
    if (!capacity.has_value() && index < capacities.size()) capacity = capacities[index];
    // The memory that the process would have needed: all that is in use, except by others, plus the
    // failed request.
    std::optional<double> peak;
    if (capacity.has_value() && oom.free.has_value() && oom.wanted.has_value()) {
      peak = *capacity - *oom.free - oom.others.value_or(0) + *oom.wanted;
    } else if (oom.allocated.has_value() && oom.wanted.has_value()) {
      peak = *oom.allocated + *oom.wanted;
    }
    const std::string device =
        key >= 0 ? absl::StrCat("rank:", key) : absl::StrCat("gpu:", -1 - key);
    add(peak.has_value() ? FloatFinding("peak_gib", node, device, *peak)
                         : UnknownFinding("peak_gib", node, device));
    // On the same subject, because the limit compares findings of one device.
    add(capacity.has_value() ? FloatFinding("capacity_gib", node, device, *capacity)
                             : UnknownFinding("capacity_gib", node, device));
    add(oom.reserved.has_value()
            ? FloatFinding("reserved_unallocated_gib", node, device, *oom.reserved)
            : UnknownFinding("reserved_unallocated_gib", node, device));
    std::optional<bool> fits_alone;
    // If several ranks name the GPU, the other processes may be of the job.
    const bool shared = ranks_on[oom.gpu.value_or(-1)] > 1;
    if (peak.has_value() && capacity.has_value() && (!shared || !oom.others.has_value())) {
      fits_alone = oom.others.value_or(0) > 0 && *peak < *capacity;
    }
    add(fits_alone.has_value() ? BoolFinding("fits_without_others", node, device, *fits_alone)
                               : UnknownFinding("fits_without_others", node, device));
    if (fits_alone.value_or(false)) {
      robbed.push_back(absl::StrCat(device, " would have fit but for ",
                                    absl::StrFormat("%.1f", *oom.others),
                                    " GiB that other processes held"));
    }
    if (peak.has_value()) peaks.push_back(*peak);
    absl::StrAppend(&output.excerpt, failure.text, "\n");
  }
  output.message = absl::StrCat(
      failures.size(), failures.size() == 1 ? " rank" : " ranks", " ran out of GPU memory",
      peaks.empty()
          ? ""
          : absl::StrCat("; needed up to ",
                         absl::StrFormat("%.1f", *std::max_element(peaks.begin(), peaks.end())),
                         " GiB"),
      robbed.empty() ? "" : absl::StrCat("; ", robbed.front()));
  return output;
}

absl::StatusOr<CheckOutput> CheckJobData(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "job.data"));
  const auto patterns = data.Patterns();
  static const RE2 batches(kBatches);
  std::map<std::string, std::int64_t> seen;
  std::map<int, std::int64_t> batches_of;
  CheckOutput output;
  GALEN_RETURN_IF_ERROR(
      ForEachWantedLine(context, LogsOf::kAllNodes, kJobDataWant, [&](const LogLine& line) {
        std::int64_t count = 0;
        if (RE2::PartialMatch(Piece(line.text), batches, &count)) {
          std::optional<int> rank = log_scan::FindRank(line.text);
          if (!rank.has_value()) rank = line.log->rank;
          if (rank.has_value() && batches_of.size() < 262'144) {
            batches_of.emplace(*rank, count);
          }
        }
        const std::string match = CheckData::FirstMatch(patterns, line.text);
        if (match.empty()) return;
        if (seen[match]++ == 0) {
          absl::StrAppend(&output.excerpt, CleanText(line.text, 300), "\n");
        }
      }).status());
  if (seen.empty() && batches_of.size() < 2) {
    return absl::FailedPreconditionError(
        "the job's logs say nothing of its data, and no reader of the data set is configured");
  }
  std::vector<std::string> remarks;
  for (const char* name : {"labels_out_of_range", "too_long", "unreadable"}) {
    const auto found = seen.find(name);
    // That no record was complained of does not make all of them good.
    output.findings.push_back(found == seen.end() ? UnknownFinding(name, node, "")
                                                  : IntFinding(name, node, "", found->second));
    if (found != seen.end()) remarks.push_back(absl::StrCat(name, " ", found->second, " times"));
  }
  std::optional<bool> differ;
  if (batches_of.size() > 1) {
    differ = false;
    for (const auto& [rank, count] : batches_of) {
      differ = *differ || count != batches_of.begin()->second;
    }
    remarks.push_back(absl::StrCat("batches per rank ", *differ ? "differ" : "are equal"));
  }
  output.findings.push_back(differ.has_value()
                                ? BoolFinding("batches_per_rank_differ", node, "", *differ)
                                : UnknownFinding("batches_per_rank_differ", node, ""));
  output.message = absl::StrCat("in the job's logs: ", absl::StrJoin(remarks, ", "));
  return output;
}

}  // namespace galen::node
