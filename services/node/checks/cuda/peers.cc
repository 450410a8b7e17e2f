#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/cuda/checks.h"
#include "services/node/checks/cuda/gpus.h"
#include "services/node/checks/cuda/outcome.h"

namespace galen::node {
namespace {

using End = GpuTestRun::End;
using Pair = std::pair<std::int64_t, std::int64_t>;

struct PairResult {
  std::optional<bool> access;
  std::optional<double> rate;
  std::optional<bool> wrong;
  std::optional<bool> hung;
  std::optional<std::int64_t> error;
};

std::optional<Pair> PairOf(const GpuTestLine& line, std::size_t gpus) {
  const auto from = line.Integer("from");
  const auto to = line.Integer("to");
  const auto known = [gpus](const std::optional<std::int64_t>& number) {
    return number.has_value() && *number >= 0 && *number < static_cast<std::int64_t>(gpus);
  };
  if (!known(from) || !known(to) || *from == *to) return std::nullopt;
  return Pair(*from, *to);
}

// Takes what a run found; gives the pair that it ended in, where it did not go through.
std::optional<Pair> Take(const GpuTestRun& run, std::size_t gpus,
                         std::map<Pair, PairResult>& results) {
  std::optional<Pair> at;
  for (const GpuTestLine& line : run.lines) {
    const std::optional<Pair> pair = PairOf(line, gpus);
    if (!pair.has_value()) continue;
    if (line.kind == "begin") at = pair;
    if (line.kind != "pair") continue;
    at.reset();
    PairResult& result = results[*pair];
    result.access = line.Text("access") == "1";
    result.rate = line.Number("gb_s");
    if (const auto wrong = line.Integer("wrong"); wrong.has_value()) result.wrong = *wrong > 0;
    result.hung = false;
    result.error = 0;
  }
  return run.end == End::kDone ? std::nullopt : at;
}

void TellPair(Outcome& outcome, const TestGpu& from, const TestGpu& to, const PairResult& result) {
  const std::string device = absl::StrCat(from.device, "-", to.device);
  const std::optional<double> floor = from.Fact("p2p_floor_gb_s");
  v1::Finding& rate = outcome.Float("gb_s", device, result.rate);
  if (floor.has_value()) rate.set_expected(absl::StrCat(*floor));
  outcome.Float("floor_gb_s", device, floor);
  outcome.Bool("access", device, result.access);
  outcome.Bool("hung", device, result.hung);
  outcome.Bool("data_wrong", device, result.wrong);
  outcome.Int("cuda_error", device, result.error);
  outcome.Show(absl::StrCat(
      device, ": ", result.rate.has_value() ? absl::StrCat(Rounded(*result.rate), " GB/s") : "?",
      result.access.has_value() ? (*result.access ? ", peer access" : ", through the host") : "",
      result.wrong.value_or(false) ? ", data wrong" : "",
      result.hung.value_or(false) ? ", hung" : "",
      result.error.value_or(0) != 0 ? absl::StrCat(", error ", *result.error) : ""));
  if (result.hung.value_or(false)) outcome.Say(device, "the copy hangs");
  if (result.wrong.value_or(false)) outcome.Say(device, "what arrives is not what was sent");
  if (result.error.value_or(0) != 0) outcome.Say(device, absl::StrCat("error ", *result.error));
  if (floor.has_value() && result.rate.has_value() && *result.rate < *floor) {
    outcome.Say(device,
                absl::StrCat(Rounded(*result.rate), " GB/s, below ", Rounded(*floor), " GB/s"));
  }
}

}  // namespace

absl::StatusOr<CheckOutput> CheckPeerBandwidth(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const TestGpus gpus, SelectTestGpus(context));
  const std::vector<const TestGpu*> tested = gpus.tested();
  if (tested.size() < 2) {
    return absl::FailedPreconditionError(
        absl::StrCat("needs two GPUs that nobody uses; there is ", tested.size(),
                     gpus.Refusals().empty() ? "" : absl::StrCat(" (", gpus.Refusals(), ")")));
  }
  std::vector<std::string> addresses;
  for (const TestGpu* gpu : tested) addresses.push_back(gpu->address);
  std::map<Pair, PairResult> results;
  std::set<std::string> skip;
  Outcome outcome(context);
  // A pair that hangs or fails takes its process with it; the others get a new one. One bad GPU
  // spoils that many pairs:
  for (std::size_t tries = 0; tries < 2 * tested.size(); ++tries) {
    std::vector<std::string> arguments = CommonArguments(context, "peers");
    arguments.push_back(absl::StrCat("gpus=", absl::StrJoin(addresses, ",")));
    arguments.push_back(absl::StrCat("mib=", context.parameters.Integer("mib")));
    arguments.push_back(absl::StrCat("repeats=", context.parameters.Integer("repeats")));
    arguments.push_back(absl::StrCat("skip=", absl::StrJoin(skip, ",")));
    GALEN_ASSIGN_OR_RETURN(const GpuTestRun run,
                           RunGpuTest(gpus.program, arguments, RunDeadline(context),
                                      context.cancelled, context.progress));
    if (run.end == End::kCancelled) return absl::CancelledError("cancelled");
    const std::optional<Pair> ended_in = Take(run, tested.size(), results);
    if (run.end == End::kDone) break;
    for (const auto& [pair, result] : results)
      skip.insert(absl::StrCat(pair.first, "-", pair.second));
    if (!ended_in.has_value() || (run.end != End::kHung && run.end != End::kFailed)) {
      outcome.Say("node", run.end == End::kFailed
                              ? absl::StrCat(run.call, " gave ", run.text, " (", run.code, ")")
                              : run.text);
      break;
    }
    PairResult& bad = results[*ended_in];
    bad.hung = run.end == End::kHung;
    if (run.end == End::kFailed && TellsOfGpu(run.code)) {
      bad.error = run.code;
    } else if (run.end == End::kFailed) {
      outcome.Say(
          absl::StrCat(tested[ended_in->first]->device, "-", tested[ended_in->second]->device),
          absl::StrCat(run.call, " gave ", run.text, " (", run.code, ")"));
    }
    skip.insert(absl::StrCat(ended_in->first, "-", ended_in->second));
  }
  std::size_t good = 0;
  std::optional<double> slowest;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    for (std::size_t j = 0; j < tested.size(); ++j) {
      if (i == j) continue;
      const PairResult& result = results[Pair(i, j)];
      TellPair(outcome, *tested[i], *tested[j], result);
      if (!result.rate.has_value()) continue;
      ++good;
      slowest = std::min(slowest.value_or(*result.rate), *result.rate);
    }
  }
  if (slowest.has_value()) {
    outcome.Say(absl::StrCat(good, " of ", tested.size() * (tested.size() - 1), " pairs"),
                absl::StrCat("at least ", Rounded(*slowest), " GB/s"));
  }
  return std::move(outcome).Finish(gpus);
}

}  // namespace galen::node
