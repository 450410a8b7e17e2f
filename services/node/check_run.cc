#include "services/node/check_run.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/knowledge/make_result.h"
#include "services/node/check_threads.h"
#include "services/node/checks/gpu/gpu_use.h"
#include "services/node/excerpt_watch.h"
#include "services/node/exec/exec_check.h"
#include "services/node/extract_check.h"

namespace galen::node {
namespace {

using galen::v1::CheckResult;
using knowledge::v1::Check;

// A check that says nothing of itself is said to run every so often.
constexpr absl::Duration kHeartbeat = absl::Seconds(1);
constexpr std::size_t kMaxProgressBytes = 256;

// A program of others does not look whether a job computes on the GPUs that it is about to load;
// Galen's own tests do, GPU by GPU.
absl::Status RequireWhatItNeeds(const Check& spec, const CheckContext& context) {
  if (spec.kind() != Check::EXEC || !context.host.live() || context.allow_busy ||
      std::find(spec.needs().begin(), spec.needs().end(), "idle_gpu") == spec.needs().end()) {
    return absl::OkStatus();
  }
  static constexpr absl::string_view kLimit = "idle_memory_mib";
  const bool limited =
      std::any_of(spec.parameters().begin(), spec.parameters().end(),
                  [](const auto& parameter) { return parameter.name() == kLimit; });
  return RequireIdleGpus(context.host,
                         limited ? std::optional(context.parameters.Number(kLimit)) : std::nullopt);
}

absl::StatusOr<CheckOutput> RunGuarded(const Check& spec, NativeCheck native,
                                       const CheckContext& context) {
  try {
    if (native != nullptr) return native(context);
    GALEN_RETURN_IF_ERROR(RequireWhatItNeeds(spec, context));
    return spec.kind() == Check::EXEC ? RunExecCheck(spec, context)
                                      : RunExtractCheck(spec, context);
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat(spec.name(), ": ", exception.what()));
  }
}

}  // namespace

CheckRun::CheckRun(Call call, std::shared_ptr<StuckChecks> stuck)
    : call_(std::move(call)), stuck_(std::move(stuck)) {}

void CheckRun::Start(const std::shared_ptr<CheckRun>& run, const Check& spec, NativeCheck native,
                     Parameters parameters, absl::Duration allowed,
                     std::shared_ptr<const void> keep) {
  const absl::Time begun = SteadyNow();
  const absl::Time limit = std::min(begun + allowed, run->call_.deadline);
  auto cancelled = std::make_shared<Cancellation>();
  {
    const std::lock_guard<std::mutex> lock(run->mu_);
    Running& running = run->running_[spec.name()];
    running = {begun, allowed, limit, cancelled, {}};
    running.progress.told = begun;
  }
  try {
    // Without a word of the executor: a check may outlive it.
    RunDetached([run, &spec, native, parameters = std::move(parameters), begun, limit,
                 cancelled = std::move(cancelled), keep = std::move(keep)]() mutable {
      const Call& call = run->call_;
      const ExcerptWatch host(*call.host);
      CheckContext context{.host = host,
                           .knowledge = *call.knowledge,
                           .window_start = call.window_start,
                           .window_end = call.window_end,
                           .deadline = limit,
                           .parameters = std::move(parameters),
                           .allow_busy = call.allow_busy,
                           .cancelled = *cancelled,
                           .log_wants = call.log_wants};
      if (call.progress) {
        context.progress = [&run, &spec](double done, absl::string_view what) {
          run->Note(spec.name(), done, what);
        };
      }
      absl::StatusOr<CheckOutput> output = RunGuarded(spec, native, context);
      if (output.ok() && (host.saw_excerpt() || host.told_nothing())) {
        DropWhatNoExcerptTells(*output);
      }
      CheckResult result = knowledge::MakeResult(spec, call.node, std::move(output));
      if (host.saw_excerpt()) NeverPassByExcerpt(result);
      if (host.told_nothing()) NeverPassByNothing(result);
      // Reading a bundle takes no time on the node.
      if (call.host->live()) *result.mutable_duration() = ToProtoDuration(SteadyNow() - begun);
      // The next one has the device before anybody hears of this result.
      keep.reset();
      run->Finish(spec.name(), std::move(result));
    });
  } catch (const std::system_error& error) {
    run->Finish(spec.name(), knowledge::ResultWithoutFindings(
                                 spec.name(), run->call_.node, CheckResult::ERROR,
                                 absl::StrCat(spec.name(), ": no thread for it: ", error.what())));
  }
}

std::vector<CheckResult> CheckRun::Next(absl::Duration longest) {
  std::vector<CheckResult> results;
  std::unique_lock<std::mutex> lock(mu_);
  const absl::Time end = SteadyNow() + longest;
  while (finished_.empty()) {
    const absl::Time now = SteadyNow();
    absl::Time first = end;
    for (const auto& [check, running] : running_) {
      first = std::min(first, running.limit);
      if (!call_.progress) continue;
      first = std::min(
          first, running.progress.told + (running.progress.news
                                              ? call_.progress_interval
                                              : std::max(kHeartbeat, call_.progress_interval)));
    }
    if (first <= now) break;
    changed_.wait_for(lock, absl::ToChronoNanoseconds(std::min(first - now, absl::Hours(1))));
  }
  for (CheckResult& result : finished_) results.push_back(std::move(result));
  finished_.clear();
  const absl::Time now = SteadyNow();
  GiveUpLate(now, results);
  if (call_.progress) TellProgress(now, results);
  return results;
}

void CheckRun::GiveUpLate(absl::Time now, std::vector<CheckResult>& results) {
  for (auto it = running_.begin(); it != running_.end();) {
    const Running& running = it->second;
    if (running.limit > now) {
      ++it;
      continue;
    }
    const bool own_limit = call_.deadline > now;
    results.push_back(knowledge::ResultWithoutFindings(
        it->first, call_.node, CheckResult::ERROR,
        own_limit ? absl::StrCat(it->first, " did not finish within ",
                                 absl::FormatDuration(running.allowed))
                  : absl::StrCat(it->first, " did not finish before the call's deadline")));
    running.cancelled->Cancel();
    stuck_->Add(it->first, call_.host->live(), own_limit);
    if (own_limit) late_.insert(it->first);
    CountTime(it->first, running, now);
    it = running_.erase(it);
  }
}

void CheckRun::CountTime(const std::string& check, const Running& running, absl::Time now) const {
  if (call_.numbers != nullptr) call_.numbers->CountTime(check, now - running.begun);
}

void CheckRun::TellProgress(absl::Time now, std::vector<CheckResult>& messages) {
  for (auto& [check, running] : running_) {
    Progress& progress = running.progress;
    const absl::Duration silent = now - progress.told;
    const bool beat = silent >= std::max(kHeartbeat, call_.progress_interval);
    if (!beat && !(progress.news && silent >= call_.progress_interval)) continue;
    CheckResult message = knowledge::ResultWithoutFindings(
        check, call_.node, CheckResult::RUNNING,
        progress.what.empty()
            ? absl::StrCat("runs for ", absl::ToInt64Seconds(now - running.begun), " s, ",
                           absl::FormatDuration(running.allowed), " at most")
            : progress.what);
    message.set_progress(progress.done);
    *message.mutable_duration() = ToProtoDuration(now - running.begun);
    messages.push_back(std::move(message));
    progress.told = now;
    progress.news = false;
  }
}

void CheckRun::Cancel() {
  const std::lock_guard<std::mutex> lock(mu_);
  for (auto& [check, running] : running_) {
    running.cancelled->Cancel();
    stuck_->Add(check, call_.host->live(), /*late=*/false);
  }
  running_.clear();
}

void CheckRun::Note(const std::string& check, double done, absl::string_view what) {
  const std::lock_guard<std::mutex> lock(mu_);
  const auto found = running_.find(check);
  if (found == running_.end()) return;
  Progress& progress = found->second.progress;
  progress.done = std::isfinite(done) ? std::clamp(done, 0.0, 1.0) : 0;
  progress.what = CleanText(what, kMaxProgressBytes);
  // The first news of an interval only: who waits has reckoned with the rest.
  if (!std::exchange(progress.news, true)) changed_.notify_all();
}

void CheckRun::Finish(const std::string& check, CheckResult result) {
  const std::lock_guard<std::mutex> lock(mu_);
  const auto found = running_.find(check);
  if (found == running_.end()) {
    stuck_->Remove(check, call_.host->live(), late_.contains(check));  // given up before
    return;
  }
  CountTime(check, found->second, SteadyNow());
  running_.erase(found);
  finished_.push_back(std::move(result));
  changed_.notify_all();
}

}  // namespace galen::node
