#include "common/store/redis/client.h"

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/text.h"

namespace galen::store::redis {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(5);
constexpr absl::Duration kLongestPause = absl::Milliseconds(200);
// Redirections that are followed without a pause in between; a cluster that is in order needs two.
constexpr int kQuickTurns = 5;

// One command on its way.
struct Task {
  Command command;
  std::optional<absl::StatusOr<Reply>> result;  // final
  absl::Status problem;                         // of the last attempt
  std::optional<Address> ask;                   // where the next attempt goes, after -ASK
  bool whole_script = false;                    // the server does not know its hash
  bool at_once = false;                         // the next attempt needs no pause
  std::shared_ptr<Link> link;                   // of the attempt that is under way
};

// Answers of one round, as they come.
class Round {
 public:
  explicit Round(std::size_t size) : replies_(size), missing_(size) {}
  void Set(std::size_t i, absl::StatusOr<Reply> reply) {
    MutexLock lock(mu_);
    replies_[i] = std::move(reply);
    if (--missing_ == 0) changed_.notify_all();
  }
  std::vector<absl::StatusOr<Reply>> Wait() {
    MutexLock lock(mu_);
    while (missing_ > 0) mu_.Wait(changed_);
    return std::move(replies_);
  }

 private:
  Mutex mu_;
  std::condition_variable changed_;
  std::vector<absl::StatusOr<Reply>> replies_ ABSL_GUARDED_BY(mu_);
  std::size_t missing_ ABSL_GUARDED_BY(mu_);
};

// Errors that another attempt, or another server, may not give.
bool IsPassing(absl::string_view error) {
  for (const absl::string_view code :
       {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "BUSY ", "NOREPLICAS",
        "UNBLOCKED", "UNKILLABLE", "MISCONF", "OOM "}) {
    if (absl::StartsWith(error, code)) return true;
  }
  return false;
}

// The passing errors that mean that another server must be asked.
bool IsOfTheServer(absl::string_view error) {
  return absl::StartsWith(error, "READONLY") || absl::StartsWith(error, "CLUSTERDOWN") ||
         absl::StartsWith(error, "MASTERDOWN") || absl::StartsWith(error, "LOADING");
}

absl::Status FinalError(const Address& address, absl::string_view error) {
  const std::string text =
      absl::StrCat(ToString(address), ": Redis: ", CleanText(std::string(error), 300));
  if (absl::StartsWith(error, "WRONGTYPE")) {
    return absl::DataLossError(absl::StrCat(
        text, ": another program uses the same keys: give --store another prefix or database"));
  }
  if (absl::StartsWith(error, "NOPERM") || absl::StartsWith(error, "NOAUTH") ||
      absl::StartsWith(error, "WRONGPASS")) {
    return absl::PermissionDeniedError(
        absl::StrCat(text, ": docs/store.md names the rights that the user needs"));
  }
  return absl::FailedPreconditionError(text);
}

// Reads one answer: sets the result, or what the next attempt is to do.
void Judge(Task& task, absl::StatusOr<Reply> reply, Topology& topology) {
  task.ask.reset();
  task.at_once = false;
  const std::shared_ptr<Link> link = std::move(task.link);
  if (!reply.ok()) {
    if (!absl::IsUnavailable(reply.status())) {
      task.result = std::move(reply);
      return;
    }
    if (link != nullptr) topology.Suspect(*link);
    task.problem = reply.status();
    return;
  }
  if (!reply->IsError()) {
    task.result = std::move(reply);
    return;
  }
  const std::string& error = reply->text;
  if (absl::StartsWith(error, "NOSCRIPT") && task.command.script != nullptr && !task.whole_script) {
    task.whole_script = task.at_once = true;
    return;
  }
  const bool moved = absl::StartsWith(error, "MOVED ");
  if (moved || absl::StartsWith(error, "ASK ")) {
    const std::vector<absl::string_view> words = absl::StrSplit(error, ' ');
    const absl::StatusOr<Address> to =
        words.size() < 3 ? absl::InvalidArgumentError("a redirection without an address")
                         : ParseRedirection(words[2], link->address());
    task.problem = to.ok() ? absl::UnavailableError(CleanText(error, 200)) : to.status();
    if (!to.ok()) return;
    if (const auto other = topology.LinkTo(*to); absl::IsFailedPrecondition(other.status())) {
      task.result = other.status();  // no cluster was named
      return;
    }
    task.at_once = true;
    if (moved) {
      topology.Moved(task.command.slot, *to);
    } else {
      task.ask = *to;
    }
    return;
  }
  if (!IsPassing(error)) {
    task.result = FinalError(link->address(), error);
    return;
  }
  if (IsOfTheServer(error)) topology.Suspect(*link);
  task.problem = absl::UnavailableError(
      absl::StrCat(ToString(link->address()), ": Redis: ", CleanText(error, 300)));
}

// Sends one attempt of every task that has no result, and evaluates the replies.
void Attempt(std::vector<Task>& tasks, Topology& topology) {
  std::vector<Task*> open;
  for (Task& task : tasks) {
    if (!task.result.has_value()) open.push_back(&task);
  }
  const auto round = std::make_shared<Round>(open.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    Task& task = *open[i];
    absl::StatusOr<std::shared_ptr<Link>> link =
        task.ask.has_value() ? topology.LinkTo(*task.ask) : topology.LinkOf(task.command.slot);
    if (!link.ok()) {
      round->Set(i, link.status());
      continue;
    }
    task.link = *std::move(link);
    Link::Request request{task.command.words, task.ask.has_value(), task.command.write};
    if (task.whole_script) {
      request.words[0] = "EVAL";
      request.words[1] = task.command.script->text();
    }
    task.link->Send(std::move(request),
                    [round, i](absl::StatusOr<Reply> reply) { round->Set(i, std::move(reply)); });
  }
  std::vector<absl::StatusOr<Reply>> replies = round->Wait();
  for (std::size_t i = 0; i < open.size(); ++i) Judge(*open[i], std::move(replies[i]), topology);
}

std::unique_ptr<Topology> MakeTopology(const Config& config) {
  switch (config.kind) {
    case Config::Kind::kSentinel:
      return MakeSentinel(config);
    case Config::Kind::kCluster:
      return MakeCluster(config);
    case Config::Kind::kSingle:
      break;
  }
  return MakeSingle(config);
}

}  // namespace

Client::Client(const Config& config) : config_(config), topology_(MakeTopology(config)) {}

absl::StatusOr<Reply> Client::Run(Command command) {
  std::vector<Command> one;
  one.push_back(std::move(command));
  return std::move(RunAll(std::move(one)).front());
}

std::vector<absl::StatusOr<Reply>> Client::RunAll(std::vector<Command> commands) {
  std::vector<Task> tasks(commands.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].command = std::move(commands[i]);
  const absl::Time deadline = absl::Now() + config_.timeout;
  absl::Duration pause = kFirstPause;
  for (int turn = 0;; ++turn) {
    Attempt(tasks, *topology_);
    bool open = false;
    bool at_once = turn < kQuickTurns;
    for (const Task& task : tasks) {
      if (task.result.has_value()) continue;
      open = true;
      at_once = at_once && task.at_once;
    }
    if (!open || absl::Now() + pause >= deadline) break;
    if (at_once) continue;
    absl::SleepFor(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  std::vector<absl::StatusOr<Reply>> replies;
  replies.reserve(tasks.size());
  for (Task& task : tasks) {
    replies.push_back(task.result.has_value()
                          ? *std::move(task.result)
                          : absl::StatusOr<Reply>(absl::UnavailableError(
                                absl::StrCat(task.problem.message(), " (tried for ",
                                             absl::FormatDuration(config_.timeout), ")"))));
  }
  return replies;
}

}  // namespace galen::store::redis
