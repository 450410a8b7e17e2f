#include "services/node/executor.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "services/node/check_result.h"
#include "services/node/extract_check.h"

namespace galen::node {
namespace {

using galen::v1::CheckResult;
using knowledge::v1::Check;

constexpr int kMaxChecks = 1000;

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

absl::StatusOr<CheckOutput> RunGuarded(const Check& spec, NativeCheck native,
                                       const CheckContext& context) {
  try {
    return native == nullptr ? RunExtractCheck(spec, context) : native(context);
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat(spec.name(), ": ", exception.what()));
  }
}

}  // namespace

// One call. Shared by its threads: one that is stuck keeps what it uses.
struct NodeExecutor::Run {
  std::shared_ptr<const host::Host> host;
  std::shared_ptr<const knowledge::Knowledge> knowledge;
  std::string node;
  absl::Time window_start = absl::InfinitePast();
  absl::Time window_end = absl::InfiniteFuture();
  absl::Time deadline;

  // Not a galen::Mutex, which knows no wait with a limit.
  std::mutex mu;
  std::condition_variable changed;
  // Checks that are running, and by when each has to be done.
  std::map<std::string, absl::Time> running;
  std::deque<CheckResult> finished;

  // Waits until a check is done or one's time is up; gives their results. A check whose time is up
  // is forgotten, and counted in `stuck` until it returns.
  std::vector<CheckResult> Next(absl::Duration timeout, std::atomic<int>& stuck);
  // From the thread of `check`.
  void Finish(const std::string& check, CheckResult result, std::atomic<int>& stuck);
};

std::vector<CheckResult> NodeExecutor::Run::Next(absl::Duration timeout, std::atomic<int>& stuck) {
  std::vector<CheckResult> results;
  std::unique_lock<std::mutex> lock(mu);
  while (finished.empty()) {
    absl::Time first = absl::InfiniteFuture();
    for (const auto& [check, limit] : running) first = std::min(first, limit);
    const absl::Duration left = first - absl::Now();
    if (left <= absl::ZeroDuration()) break;
    changed.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))));
  }
  for (CheckResult& result : finished) results.push_back(std::move(result));
  finished.clear();
  const absl::Time now = absl::Now();
  for (auto it = running.begin(); it != running.end();) {
    if (it->second > now) {
      ++it;
      continue;
    }
    const bool own_limit = deadline > now;
    results.push_back(ResultWithoutFindings(
        it->first, node, CheckResult::ERROR,
        own_limit
            ? absl::StrCat(it->first, " did not finish within ", absl::FormatDuration(timeout))
            : absl::StrCat(it->first, " did not finish before the call's deadline")));
    ++stuck;
    it = running.erase(it);
  }
  return results;
}

void NodeExecutor::Run::Finish(const std::string& check, CheckResult result,
                               std::atomic<int>& stuck) {
  const std::lock_guard<std::mutex> lock(mu);
  if (running.erase(check) == 0) {
    --stuck;  // given up before
    return;
  }
  finished.push_back(std::move(result));
  changed.notify_all();
}

NodeExecutor::NodeExecutor(const HostSource& hosts,
                           std::shared_ptr<const knowledge::Knowledge> knowledge,
                           std::vector<NamedCheck> checks, Options options)
    : hosts_(hosts), knowledge_(std::move(knowledge)), options_(options) {
  for (const NamedCheck& check : checks) checks_[std::string(check.name)] = check.run;
  for (const Check& check : knowledge_->base().checks()) {
    if (check.kind() == Check::EXTRACT) checks_.try_emplace(check.name(), nullptr);
  }
}

bool NodeExecutor::Runnable(const std::string& check, const v1::RunChecksRequest& request,
                            CheckResult& refused) const {
  const Check* spec = knowledge_->FindCheck(check);
  if (!checks_.contains(check) || spec == nullptr) {
    refused = ResultWithoutFindings(check, request.node(), CheckResult::SKIPPED,
                                    "this version of the node executor does not have this check");
    return false;
  }
  if (spec->intrusive() && !request.allow_intrusive()) {
    refused = ResultWithoutFindings(
        check, request.node(), CheckResult::SKIPPED,
        absl::StrCat(check, " loads the device, and this call does not allow that"));
    return false;
  }
  return true;
}

void NodeExecutor::Start(const std::shared_ptr<Run>& run, const std::string& check) const {
  const absl::Time limit = std::min(absl::Now() + options_.check_timeout, run->deadline);
  {
    const std::lock_guard<std::mutex> lock(run->mu);
    run->running[check] = limit;
  }
  const NativeCheck native = checks_.find(check)->second;
  try {
    // Detached, and without a word of this object: a check may outlive it.
    std::thread([run, check, native, limit, stuck = stuck_] {
      const Check& spec = *run->knowledge->FindCheck(check);
      const absl::Time start = absl::Now();
      CheckResult result = MakeResult(spec, run->node,
                                      RunGuarded(spec, native,
                                                 {.host = *run->host,
                                                  .knowledge = *run->knowledge,
                                                  .window_start = run->window_start,
                                                  .window_end = run->window_end,
                                                  .deadline = limit}));
      // Reading a bundle takes no time on the node.
      if (run->host->live()) {
        const absl::Duration taken = absl::Now() - start;
        result.mutable_duration()->set_seconds(absl::ToInt64Seconds(taken));
        result.mutable_duration()->set_nanos(
            static_cast<int>(absl::ToInt64Nanoseconds(taken % absl::Seconds(1))));
      }
      run->Finish(check, std::move(result), *stuck);
    }).detach();
  } catch (const std::system_error& error) {
    run->Finish(check,
                ResultWithoutFindings(check, run->node, CheckResult::ERROR,
                                      absl::StrCat(check, ": no thread for it: ", error.what())),
                *stuck_);
  }
}

absl::Status NodeExecutor::RunChecks(
    const v1::RunChecksRequest& request, absl::Time deadline,
    absl::FunctionRef<void(galen::v1::CheckResult)> on_result) const {
  if (request.checks().empty()) return absl::InvalidArgumentError("checks: names no check");
  if (request.checks_size() > kMaxChecks) {
    return absl::InvalidArgumentError(
        absl::StrCat("checks: ", request.checks_size(), " are more than ", kMaxChecks));
  }
  if (stuck_->load() >= options_.max_stuck) {
    return absl::ResourceExhaustedError(absl::StrCat(hosts_.name(), ": ", stuck_->load(),
                                                     " checks hang; restart the node executor"));
  }
  const auto run = std::make_shared<Run>();
  GALEN_ASSIGN_OR_RETURN(run->host, hosts_.Open(request.bundle(), request.node()));
  run->knowledge = knowledge_;
  run->node = request.node().empty() ? run->host->name() : request.node();
  run->deadline = deadline;
  if (request.has_start_time()) run->window_start = TimeOf(request.start_time());
  if (request.has_end_time()) run->window_end = TimeOf(request.end_time());

  std::set<std::string> seen;
  std::deque<std::string> waiting;
  for (const std::string& check : request.checks()) {
    if (!seen.insert(check).second) continue;
    CheckResult refused;
    if (Runnable(check, request, refused)) {
      waiting.push_back(check);
    } else {
      refused.set_node(run->node);
      refused.set_id(absl::StrCat(check, "@", run->node));
      on_result(std::move(refused));
    }
  }
  std::size_t running = 0;
  while (!waiting.empty() || running > 0) {
    while (!waiting.empty() &&
           running < static_cast<std::size_t>(std::max(1, options_.max_parallel))) {
      const std::string check = std::move(waiting.front());
      waiting.pop_front();
      if (absl::Now() >= deadline) {
        on_result(ResultWithoutFindings(
            check, run->node, CheckResult::ERROR,
            absl::StrCat(check, " was not begun before the call's deadline")));
        continue;
      }
      Start(run, check);
      ++running;
    }
    if (running == 0) break;
    for (CheckResult& result : run->Next(options_.check_timeout, *stuck_)) {
      --running;
      on_result(std::move(result));
    }
  }
  return absl::OkStatus();
}

v1::DescribeResponse NodeExecutor::Describe() const {
  v1::DescribeResponse response;
  response.set_host(hosts_.name());
  for (const auto& [name, check] : checks_) {
    if (knowledge_->FindCheck(name) != nullptr) response.add_checks(name);
  }
  response.set_knowledge_digest(knowledge_->digest());
  return response;
}

}  // namespace galen::node
