#include "services/node/checks/gpu/clock_offsets.h"

#include <cstddef>
#include <cstdlib>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"

namespace galen::node {
namespace {

constexpr int kMaxClockGpus = 1024;

void Keep(ClockOffsets& offsets, int gpu, std::int64_t mhz) {
  if (gpu < 0 || gpu >= kMaxClockGpus || mhz < -100'000 || mhz > 100'000) return;
  std::int64_t& kept = offsets[gpu];
  if (std::abs(mhz) > std::abs(kept)) kept = mhz;
}

const std::vector<std::string>& StandardQuery() {
  static const std::vector<std::string> argv = {"nvidia-settings",
                                                "-q",
                                                "GPUGraphicsClockOffsetAllPerformanceLevels",
                                                "-q",
                                                "GPUMemoryTransferRateOffsetAllPerformanceLevels",
                                                "-t"};
  return argv;
}

}  // namespace

ClockOffsets ParseNvidiaSettings(const std::vector<std::string>& argv, absl::string_view text) {
  // Attribute 'GPUGraphicsClockOffsetAllPerformanceLevels' (host:0[gpu:0]): 260.
  static const RE2 told(R"(Attribute '\w*Offset\w*' \([^)]*\[gpu:(\d{1,4})\]\): (-?\d{1,6}))");
  ClockOffsets offsets;
  std::size_t queries = 0;
  bool only_offsets = true;
  for (std::size_t i = 0; i + 1 < argv.size(); ++i) {
    if (argv[i] != "-q" && argv[i] != "--query") continue;
    ++queries;
    only_offsets &= absl::StrContains(argv[i + 1], "Offset");
  }
  std::vector<std::int64_t> numbers;
  bool terse = true;
  for (absl::string_view line : absl::StrSplit(text.substr(0, 1 << 16), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    int gpu = 0;
    std::int64_t mhz = 0;
    if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), told, &gpu, &mhz)) {
      Keep(offsets, gpu, mhz);
      terse = false;
    } else if (absl::SimpleAtoi(line, &mhz)) {
      numbers.push_back(mhz);
    } else {
      terse = false;
    }
  }
  // Terse: a number for each GPU, query by query.
  if (terse && only_offsets && queries > 0 && numbers.size() % queries == 0) {
    const std::size_t gpus = numbers.size() / queries;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      Keep(offsets, static_cast<int>(i % gpus), numbers[i]);
    }
  }
  return offsets;
}

ClockOffsets OffsetsOfTools(absl::string_view ps, const std::vector<CheckData::Pattern>& tools) {
  ClockOffsets offsets;
  for (absl::string_view line : absl::StrSplit(ps, '\n')) {
    line = line.substr(0, 4096);
    for (const CheckData::Pattern& tool : tools) {
      std::string mhz;
      std::string gpu;
      const re2::StringPiece piece(line.data(), line.size());
      const int groups = tool.compiled->NumberOfCapturingGroups();
      const bool found = groups == 1   ? RE2::PartialMatch(piece, *tool.compiled, &mhz)
                         : groups == 2 ? RE2::PartialMatch(piece, *tool.compiled, &gpu, &mhz)
                                       : false;
      std::int64_t offset = 0;
      int index = 0;
      if (!found || !absl::SimpleAtoi(mhz, &offset)) continue;
      if (!gpu.empty() && !absl::SimpleAtoi(gpu, &index)) continue;
      Keep(offsets, index, offset);
    }
  }
  return offsets;
}

ClockOffsets ReadClockOffsets(const host::Host& host, const CheckData& data) {
  ClockOffsets offsets;
  std::vector<std::vector<std::string>> queries =
      host.Captured(std::vector<std::string>{"nvidia-settings"});
  if (queries.empty()) queries.push_back(StandardQuery());
  for (const std::vector<std::string>& argv : queries) {
    const auto result = host.Run(argv);
    if (!result.ok() || result->exit_code != 0) continue;
    for (const auto& [gpu, mhz] : ParseNvidiaSettings(argv, result->out)) Keep(offsets, gpu, mhz);
  }
  const auto ps = host.Run(std::vector<std::string>{
      "ps", "-eo", "pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args"});
  if (ps.ok() && ps->exit_code == 0) {
    for (const auto& [gpu, mhz] : OffsetsOfTools(ps->out, data.Patterns("tuning_tool"))) {
      Keep(offsets, gpu, mhz);
    }
  }
  return offsets;
}

}  // namespace galen::node
