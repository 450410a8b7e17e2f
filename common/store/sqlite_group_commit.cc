#include "common/store/sqlite_group_commit.h"

#include <sqlite3.h>

#include <algorithm>
#include <memory>
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

// The job of a waiting thread. Each has a lock of its own, so that of many threads woken together
// none waits for another's lock.
class GroupCommit::WaitingJob final : public Job {
 public:
  using Job::Job;
  void Finish() override { Wake(/*is_done=*/true); }
  // It is this job's thread that carries out the next transaction.
  void Lead() { Wake(/*is_done=*/false); }
  // False when it is to lead.
  bool Wait() {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [this] { return woken_; });
    return is_done_;
  }

 private:
  void Wake(bool is_done) {
    // Under the lock: the woken thread takes it before it destroys the job.
    const std::lock_guard<std::mutex> lock(mu_);
    woken_ = true;
    is_done_ = is_done;
    changed_.notify_one();
  }

  std::mutex mu_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool is_done_ = false;
};

// Deletes itself.
class GroupCommit::LaterJob final : public Job {
 public:
  LaterJob(Durability durability_in, absl::AnyInvocable<absl::Status() const> work_in,
           absl::AnyInvocable<void(absl::Status) &&> done)
      : Job(durability_in, own_), own_(std::move(work_in)), done_(std::move(done)) {}
  void Finish() override {
    std::move(done_)(std::move(status));
    delete this;
  }

 private:
  absl::AnyInvocable<absl::Status() const> own_;
  absl::AnyInvocable<void(absl::Status) &&> done_;
};

GroupCommit::~GroupCommit() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
  }
  thread_is_due_.notify_one();
  if (thread_.joinable()) thread_.join();
}

absl::Status GroupCommit::Write(Durability durability, absl::FunctionRef<absl::Status()> work) {
  WaitingJob job(durability, work);
  std::unique_lock<std::mutex> lock(mu_);
  waiting_.push_back(&job);
  if (std::exchange(carrying_, true)) {
    if (waiting_.size() == usual_) came_.notify_one();
    lock.unlock();
    if (job.Wait()) return std::move(job.status);
    lock.lock();
  }
  CarryOne(lock);
  // Its own job, too, was finished.
  return std::move(job.status);
}

void GroupCommit::WriteLater(Durability durability, absl::AnyInvocable<absl::Status() const> work,
                             absl::AnyInvocable<void(absl::Status) &&> done) {
  auto job = std::make_unique<LaterJob>(durability, std::move(work), std::move(done));
  const std::lock_guard<std::mutex> lock(mu_);
  waiting_.push_back(job.release());
  ++later_;
  if (std::exchange(carrying_, true)) {
    if (waiting_.size() == usual_) came_.notify_one();
    return;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { CarryLater(); });
  is_due_ = true;
  thread_is_due_.notify_one();
}

void GroupCommit::CarryLater() {
  std::unique_lock<std::mutex> lock(mu_);
  for (;;) {
    thread_is_due_.wait(lock, [this] { return is_due_ || (stopping_ && later_ == 0); });
    if (!std::exchange(is_due_, false)) return;
    CarryOne(lock);
  }
}

void GroupCommit::CarryOne(std::unique_lock<std::mutex>& lock) {
  using Steady = std::chrono::steady_clock;
  came_.wait_for(lock, took_ / kPatience, [&] { return waiting_.size() >= usual_; });
  std::vector<Job*> group;
  group.swap(waiting_);
  later_ = 0;
  lock.unlock();
  const Steady::time_point begun = Steady::now();
  Carry(group);
  const Steady::duration took = Steady::now() - begun;
  lock.lock();
  took_ = took;
  usual_ = std::max(group.size(), usual_ / 2);
  // First the thread that carries out the next transaction.
  WaitingJob* next = nullptr;
  carrying_ = !waiting_.empty();
  if (later_ > 0) {
    if (!thread_.joinable()) thread_ = std::thread([this] { CarryLater(); });
    is_due_ = true;
    thread_is_due_.notify_one();
  } else if (carrying_) {
    next = static_cast<WaitingJob*>(waiting_.front());
  }
  lock.unlock();
  if (next != nullptr) next->Lead();
  for (Job* job : group) job->Finish();
  lock.lock();
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
