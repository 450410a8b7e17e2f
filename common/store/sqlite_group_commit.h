#ifndef COMMON_STORE_SQLITE_GROUP_COMMIT_H_
#define COMMON_STORE_SQLITE_GROUP_COMMIT_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/store/sqlite_statement.h"

struct sqlite3;

namespace galen::store {

// Puts what several threads write at the same time into one transaction: they wait for the disk
// once, together. One thread of them carries it out while those that come meanwhile gather for the
// next; where the last transaction was of many, it first waits a little for them to come back, as
// otherwise the first one would go alone and keep all others for a whole turn of the disk.
// Thread-safe.
class GroupCommit {
 public:
  enum class Durability {
    kSynchronous,  // on the disk when Write() returns
    kLater,        // with the next synchronous one: a crash of the machine may take it back
  };
  // What is done around the works of each transaction, with the connection held. An error of the
  // first two is the transaction's.
  struct Frame {
    std::function<absl::Status()> begun = [] { return absl::OkStatus(); };
    std::function<absl::Status()> before_commit = [] { return absl::OkStatus(); };
    std::function<void(bool kept)> ended = [](bool) {};
  };

  // `connection` is held for each transaction. Both must outlive the object.
  absl::Status Open(sqlite3* db, Mutex* connection, const std::string& file, Frame frame);

  // Runs `work` with the connection held, maybe on another thread and beside the works of others,
  // none of which it sees half done. What it wrote is kept when it gives OK, and gone otherwise;
  // where one refuses after it has written, all are taken back and run again, each alone. Its
  // error, or that of the transaction: then nothing was kept.
  absl::Status Write(Durability durability, absl::FunctionRef<absl::Status()> work);

  // How many gather for the next transaction.
  std::size_t waiting() {
    const std::lock_guard<std::mutex> lock(mu_);
    return waiting_.size();
  }

 private:
  struct Job {
    Durability durability;
    absl::FunctionRef<absl::Status()> work;
    absl::Status status = absl::OkStatus();
    bool done = false;

    // Each waits for itself alone: of many that are woken together, none waits for another's lock.
    std::mutex mu;
    std::condition_variable changed;
    bool woken = false;  // it is done, or is to carry out the next transaction
    void Wait();
    void Wake();
  };

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

  // Guards what follows. Not galen::Mutex, which knows no wait with a limit.
  std::mutex mu_;
  std::condition_variable came_;
  bool carrying_ = false;
  std::vector<Job*> waiting_;
  // How many a transaction was of lately, and how long it took.
  std::size_t usual_ = 1;
  std::chrono::nanoseconds took_{0};
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_GROUP_COMMIT_H_
