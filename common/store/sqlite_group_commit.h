#ifndef COMMON_STORE_SQLITE_GROUP_COMMIT_H_
#define COMMON_STORE_SQLITE_GROUP_COMMIT_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/store/sqlite_statement.h"

struct sqlite3;

namespace galen::store {

// Puts the simultaneous writes of several threads into one transaction: they wait for the disk
// once, together. One of the threads carries it out while later ones gather for the next. If the
// last transaction was of many, it first waits a little for them to come back, as otherwise the
// first one would go alone and the others would wait for a whole disk write. Thread-safe. The
// destructor waits for pending writes.
class GroupCommit {
 public:
  GroupCommit() = default;
  ~GroupCommit();

  enum class Durability {
    kSynchronous,  // on the disk when Write() returns
    kLater,        // with the next synchronous one: a crash of the machine may take it back
  };
  // Hooks around the works of each transaction, with the connection held. An error of the first two
  // is the transaction's.
  struct Frame {
    std::function<absl::Status()> begun = [] { return absl::OkStatus(); };
    std::function<absl::Status()> before_commit = [] { return absl::OkStatus(); };
    std::function<void(bool kept)> ended = [](bool) {};
  };

  // `connection` is held for each transaction. Both must outlive the object.
  absl::Status Open(sqlite3* db, Mutex* connection, const std::string& file, Frame frame);

  // Runs `work` with the connection held, maybe on another thread and in one transaction with the
  // works of others, none of which it sees half done. Its writes are kept when it returns OK, and
  // rolled back otherwise: if a work fails after it has written, all are rolled back and run again,
  // each alone. Returns its error, or that of the transaction: then nothing was kept.
  absl::Status Write(Durability durability, absl::FunctionRef<absl::Status()> work);

  // The same without waiting: a thread of this object carries it out, and calls `done`, which must
  // not hold it up.
  void WriteLater(Durability durability, absl::AnyInvocable<absl::Status() const> work,
                  absl::AnyInvocable<void(absl::Status) &&> done);

  // How many gather for the next transaction.
  std::size_t waiting() {
    const std::lock_guard<std::mutex> lock(mu_);
    return waiting_.size();
  }

 private:
  // The work of one writer.
  class Job {
   public:
    Job(Durability durability_in, absl::FunctionRef<absl::Status()> work_in)
        : durability(durability_in), work(work_in) {}
    virtual ~Job() = default;
    // The last that is done to it: it may be gone afterwards.
    virtual void Finish() = 0;

    const Durability durability;
    const absl::FunctionRef<absl::Status()> work;
    absl::Status status = absl::OkStatus();
  };
  class WaitingJob;
  class LaterJob;

  // Carries out one transaction of all that wait.
  void CarryOne(std::unique_lock<std::mutex>& lock);
  void CarryLater();
  void Carry(const std::vector<Job*>& group);
  absl::Status Transact(const std::vector<Job*>& group, bool& torn);
  absl::Status RunAll(const std::vector<Job*>& group, bool& torn);
  absl::Status Synchronise(bool full);

  sqlite3* db_ = nullptr;
  Mutex* connection_ = nullptr;
  std::string file_;
  Frame frame_{};
  Statement begin_, commit_, rollback_;
  bool is_full_ = true;

  // Guards the members below. Not galen::Mutex, which has no wait with a time limit.
  std::mutex mu_;
  std::condition_variable came_;
  bool carrying_ = false;  // some thread carries out a transaction, or was woken to do so
  std::vector<Job*> waiting_;
  std::size_t later_ = 0;  // of them, those that no thread waits for
  // Carries out transactions while there are such; begun when there is the first.
  std::thread thread_;
  std::condition_variable thread_is_due_;
  bool is_due_ = false;
  bool stopping_ = false;
  // How many a transaction was of lately, and how long it took.
  std::size_t usual_ = 1;
  std::chrono::nanoseconds took_{0};
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_GROUP_COMMIT_H_
