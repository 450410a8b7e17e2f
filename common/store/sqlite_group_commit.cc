#include "common/store/sqlite_group_commit.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::store {
namespace {

// The share of a transaction's time that it may wait for more to come: a quarter.
constexpr int kPatience = 4;

absl::Status Execute(Statement& statement) {
  Statement::Run run(statement);
  return run.Done();
}

}  // namespace

absl::Status GroupCommit::Open(sqlite3* db, Mutex* connection, const std::string& file,
                               Frame frame) {
  db_ = db;
  connection_ = connection;
  file_ = file;
  frame_ = std::move(frame);
  const std::pair<Statement*, const char*> all[] = {
      // IMMEDIATE: takes the write lock before the conditions are read, so that they still hold.
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
  };
  for (const auto& [statement, sql] : all) {
    GALEN_RETURN_IF_ERROR(statement->Prepare(db, file, sql));
  }
  is_full_ = false;
  return Synchronise(true);
}

absl::Status GroupCommit::Synchronise(bool full) {
  if (full == is_full_) return absl::OkStatus();
  // Not prepared: this one takes effect as it is compiled.
  const char* sql = full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return SqliteError(db_, code, file_);
  is_full_ = full;
  return absl::OkStatus();
}

void GroupCommit::Job::Wait() {
  std::unique_lock<std::mutex> lock(mu);
  changed.wait(lock, [this] { return woken; });
}

// Under the lock: who was woken takes it before the job goes away.
void GroupCommit::Job::Wake() {
  const std::lock_guard<std::mutex> lock(mu);
  woken = true;
  changed.notify_one();
}

absl::Status GroupCommit::Write(Durability durability, absl::FunctionRef<absl::Status()> work) {
  using Steady = std::chrono::steady_clock;
  Job job{durability, work};
  std::unique_lock<std::mutex> lock(mu_);
  waiting_.push_back(&job);
  if (std::exchange(carrying_, true)) {
    if (waiting_.size() == usual_) came_.notify_one();
    lock.unlock();
    job.Wait();
    if (job.done) return job.status;
    lock.lock();
  }
  came_.wait_for(lock, took_ / kPatience, [&] { return waiting_.size() >= usual_; });
  std::vector<Job*> group;
  group.swap(waiting_);  // this one among them
  lock.unlock();
  const Steady::time_point begun = Steady::now();
  Carry(group);
  lock.lock();
  took_ = Steady::now() - begun;
  usual_ = std::max(group.size(), usual_ / 2);
  Job* const next = waiting_.empty() ? nullptr : waiting_.front();
  carrying_ = next != nullptr;
  lock.unlock();
  // First who goes on with the disk. A job is its writer's, and gone once that one is woken.
  if (next != nullptr) next->Wake();
  for (Job* each : group) {
    if (each == &job) continue;
    each->done = true;
    each->Wake();
  }
  return job.status;
}

void GroupCommit::Carry(const std::vector<Job*>& group) {
  MutexLock lock(*connection_);
  bool torn = false;
  absl::Status status = Transact(group, torn);
  if (torn && group.size() > 1) {
    for (Job* job : group) {
      const absl::Status alone = Transact({job}, torn);
      if (job->status.ok()) job->status = alone;
    }
    return;
  }
  for (Job* job : group) {
    if (job->status.ok()) job->status = status;
  }
}

// The transaction's error; `torn` when one of its jobs wrote a part.
absl::Status GroupCommit::Transact(const std::vector<Job*>& group, bool& torn) {
  absl::Status status = RunAll(group, torn);
  if (!status.ok() && sqlite3_get_autocommit(db_) == 0) Execute(rollback_).IgnoreError();
  frame_.ended(status.ok());
  return status;
}

absl::Status GroupCommit::RunAll(const std::vector<Job*>& group, bool& torn) {
  torn = false;
  GALEN_RETURN_IF_ERROR(Synchronise(std::any_of(group.begin(), group.end(), [](const Job* job) {
    return job->durability == Durability::kSynchronous;
  })));
  GALEN_RETURN_IF_ERROR(Execute(begin_));
  GALEN_RETURN_IF_ERROR(frame_.begun());
  for (Job* job : group) {
    const int before = sqlite3_total_changes(db_);
    job->status = job->work();
    // Some errors, as of a full disk, take all of the transaction back at once.
    if (sqlite3_get_autocommit(db_) != 0) {
      return absl::UnavailableError(
          absl::StrCat(file_, ": SQLite took the transaction back: try again"));
    }
    torn = !job->status.ok() && sqlite3_total_changes(db_) != before;
    if (torn) return job->status;
  }
  GALEN_RETURN_IF_ERROR(frame_.before_commit());
  return Execute(commit_);
}

}  // namespace galen::store
