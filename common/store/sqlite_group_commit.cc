#include "common/store/sqlite_group_commit.h"

#include <sqlite3.h>

#include <algorithm>

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

absl::Status GroupCommit::Open(sqlite3* db, Mutex* connection, const std::string& file) {
  db_ = db;
  connection_ = connection;
  file_ = file;
  const std::pair<Statement*, const char*> all[] = {
      // IMMEDIATE: takes the write lock before the conditions are read, so that they still hold.
      {&begin_, "BEGIN IMMEDIATE"}, {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},     {&savepoint_, "SAVEPOINT job"},
      {&release_, "RELEASE job"},   {&rollback_to_, "ROLLBACK TO job"},
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

absl::Status GroupCommit::Write(Durability durability, absl::FunctionRef<absl::Status()> work) {
  using Steady = std::chrono::steady_clock;
  Job job{durability, work};
  std::unique_lock<std::mutex> lock(mu_);
  waiting_.push_back(&job);
  came_.notify_one();
  done_.wait(lock, [&] { return job.done || !carrying_; });
  if (job.done) return job.status;
  carrying_ = true;
  came_.wait_for(lock, took_ / kPatience, [&] { return waiting_.size() >= usual_; });
  std::vector<Job*> group;
  group.swap(waiting_);  // this one among them
  lock.unlock();
  const Steady::time_point begun = Steady::now();
  Carry(group);
  lock.lock();
  took_ = Steady::now() - begun;
  usual_ = std::max(group.size(), usual_ / 2);
  for (Job* each : group) each->done = true;
  carrying_ = false;
  done_.notify_all();
  return job.status;
}

void GroupCommit::Carry(const std::vector<Job*>& group) {
  MutexLock lock(*connection_);
  const absl::Status status = RunAll(group);
  if (status.ok()) return;
  if (sqlite3_get_autocommit(db_) == 0) Execute(rollback_).IgnoreError();
  for (Job* job : group) {
    if (job->status.ok()) job->status = status;
  }
}

absl::Status GroupCommit::RunAll(const std::vector<Job*>& group) {
  GALEN_RETURN_IF_ERROR(Synchronise(std::any_of(group.begin(), group.end(), [](const Job* job) {
    return job->durability == Durability::kSynchronous;
  })));
  GALEN_RETURN_IF_ERROR(Execute(begin_));
  for (Job* job : group) GALEN_RETURN_IF_ERROR(RunOne(*job, group.size() == 1));
  return Execute(commit_);
}

// An error is the transaction's: the job's own stands in the job.
absl::Status GroupCommit::RunOne(Job& job, bool alone) {
  if (!alone) GALEN_RETURN_IF_ERROR(Execute(savepoint_));
  job.status = job.work();
  // Some errors, as of a full disk, take all of the transaction back at once.
  if (sqlite3_get_autocommit(db_) != 0) {
    return job.status.ok() ? absl::UnavailableError("SQLite took the transaction back")
                           : job.status;
  }
  if (alone) return job.status;
  if (!job.status.ok()) GALEN_RETURN_IF_ERROR(Execute(rollback_to_));
  return Execute(release_);
}

}  // namespace galen::store
