#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/re2_piece.h"
#include "re2/re2.h"
#include "services/node/exec/parsers.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

constexpr int kMostStressedGpus = 256;
constexpr std::size_t kMostFieldBytes = 16384;

// The values of the last status line that has one for each of `gpus`. They are separated by " - ";
// after a GPU with errors it is "(WARNING!)- ", after one whose process is gone "(DIED!)- ".
std::vector<std::string> PerGpu(absl::string_view text, absl::string_view label, std::size_t gpus) {
  // The line is rewritten by carriage returns, so the newest one is last.
  for (std::size_t at = text.rfind(label); at != absl::string_view::npos && gpus > 0;
       at = at == 0 ? absl::string_view::npos : text.rfind(label, at - 1)) {
    absl::string_view field = text.substr(at + label.size());
    field = field.substr(0, std::min<std::size_t>(field.find_first_of("\r\n"), kMostFieldBytes));
    // Each list ends where the next one begins.
    for (const absl::string_view next : {"errors:", "temps:", "power:"}) {
      field = field.substr(0, field.find(next));
    }
    const std::vector<std::string> parts =
        absl::StrSplit(absl::StrReplaceAll(field, {{")- ", ") - "}}), " - ");
    if (parts.size() == gpus) return parts;
    if (at + (1 << 20) < text.size()) break;  // enough looked through
  }
  return {};
}

}  // namespace

absl::StatusOr<CheckOutput> ParseGpuBurn(const ProgramOutput& output) {
  static const LazyRE2 kTested = {R"(^Tested (\d+) GPUs)"};
  static const LazyRE2 kVerdict = {R"(^\s+GPU (\d+): (OK|FAULTY))"};
  static const LazyRE2 kRate = {R"(\((\d+) Gflop/s\))"};
  const std::string node = output.context.host.name();
  std::map<int, bool> ok;
  int tested = 0;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    int gpu = 0;
    std::string verdict;
    if (RE2::PartialMatch(Piece(line), *kVerdict, &gpu, &verdict)) {
      if (gpu < kMostStressedGpus) ok[gpu] = verdict == "OK";
    } else {
      RE2::PartialMatch(Piece(line), *kTested, &tested);
    }
  }
  if (ok.empty()) return NotOutputOf("gpu_burn", output.result.out);
  const std::string all = absl::StrCat(output.result.out, "\n", output.result.err);
  const auto rates = PerGpu(all, "proc'd: ", ok.size());
  const auto errors = PerGpu(all, "errors: ", ok.size());
  const auto temperatures = PerGpu(all, "temps: ", ok.size());
  CheckOutput found;
  int faulty = 0;
  std::size_t position = 0;
  for (const auto& [gpu, good] : ok) {
    const std::string device = absl::StrCat("gpu:", gpu);
    faulty += good ? 0 : 1;
    found.findings.push_back(BoolFinding("ok", node, device, good));
    int number = 0;
    if (position < rates.size() && RE2::PartialMatch(Piece(rates[position]), *kRate, &number)) {
      found.findings.push_back(FloatFinding("gflop_s", node, device, number));
    }
    const auto leading = [&](const std::vector<std::string>& parts) -> std::optional<int> {
      if (position >= parts.size()) return std::nullopt;
      const std::vector<absl::string_view> words = OutputWords(parts[position]);
      int value = 0;
      if (words.empty() || !absl::SimpleAtoi(words[0], &value)) return std::nullopt;
      return value;
    };
    const auto wrong = leading(errors);
    found.findings.push_back(wrong.has_value() ? IntFinding("errors", node, device, *wrong)
                                               : UnknownFinding("errors", node, device));
    if (const auto celsius = leading(temperatures); celsius.has_value()) {
      found.findings.push_back(FloatFinding("temperature_c", node, device, *celsius));
    }
    ++position;
  }
  found.message = absl::StrCat(ok.size(), " GPUs burnt, ", faulty, " faulty");
  if (tested > 0 && static_cast<std::size_t>(tested) != ok.size()) {
    absl::StrAppend(&found.message, "; it says that it tested ", tested);
  }
  return found;
}

absl::StatusOr<CheckOutput> ParseSuperbenchGpuStream(const ProgramOutput& output) {
  static const LazyRE2 kDevice = {R"(^Device (\d+): .*ECC is (\w+))"};
  // Name, rate in GB/s, share of the theoretical peak in percent.
  static const LazyRE2 kRow = {
      R"(^STREAM_(COPY|SCALE|ADD|TRIAD)_\w+?_gpu_(\d+)_buffer_\d+_block_\d+\s+([0-9.]+)\s+([0-9.]+))"};
  struct Best {
    double rate = 0;
    double share = 0;
  };
  std::map<int, std::map<std::string, Best>> best;
  std::map<int, bool> ecc;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    std::string kernel, rate, share, mode;
    int gpu = 0;
    if (RE2::PartialMatch(Piece(line), *kRow, &kernel, &gpu, &rate, &share)) {
      const auto gb_s = Number(rate);
      const auto percent = Number(share);
      if (gpu >= kMostStressedGpus || !gb_s.has_value() || !percent.has_value()) continue;
      Best& entry = best[gpu][kernel];
      // The fastest of all block sizes, as STREAM takes the best of its runs.
      if (*gb_s > entry.rate) entry = {*gb_s, *percent};
    } else if (RE2::PartialMatch(Piece(line), *kDevice, &gpu, &mode) && gpu < kMostStressedGpus) {
      ecc[gpu] = mode == "ON";
    }
  }
  if (best.empty()) return NotOutputOf("gpu_stream", output.result.out);
  const std::string node = output.context.host.name();
  CheckOutput found;
  double lowest = 0;
  for (const auto& [gpu, kernels] : best) {
    const std::string device = absl::StrCat("gpu:", gpu);
    for (const auto& [kernel, entry] : kernels) {
      found.findings.push_back(FloatFinding(absl::StrCat(absl::AsciiStrToLower(kernel), "_gb_s"),
                                            node, device, entry.rate));
      if (kernel != "TRIAD") continue;
      found.findings.push_back(FloatFinding("triad_peak_pct", node, device, entry.share));
      lowest = lowest == 0 ? entry.rate : std::min(lowest, entry.rate);
    }
  }
  for (const auto& [gpu, on] : ecc) {
    found.findings.push_back(BoolFinding("ecc_on", node, absl::StrCat("gpu:", gpu), on));
  }
  found.message = absl::StrCat(best.size(), best.size() == 1 ? " GPU" : " GPUs", ", slowest triad ",
                               lowest, " GB/s");
  return found;
}

}  // namespace galen::node
