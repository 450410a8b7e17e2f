#ifndef COMMON_INCIDENT_HISTORY_STORE_H_
#define COMMON_INCIDENT_HISTORY_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/incident_history/index.h"
#include "common/store/sqlite_event_file.h"
#include "common/store/sqlite_statement.h"

namespace galen::incident_history {

// Persistent past incidents: the SQLite file history.db in a directory, with FTS5 for the words.
// Added documents are found at once, and survive kill -9 and a loss of power. Vectors are read into
// memory by the first search. Thread-safe. Errors beside those named: UNAVAILABLE the file cannot
// be read or written now; DATA_LOSS it is damaged.
class Store final : public Index {
 public:
  // Opens the directory or makes it. `embedder` must outlive the store. Errors: ALREADY_EXISTS
  // another process has it open; FAILED_PRECONDITION it is of another version of Galen; DATA_LOSS
  // the file is not one of past incidents.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& directory,
                                                     const Embedder& embedder);
  ~Store() override;

  // Adds all or none. They are on the disk when it returns OK. A document whose vector cannot be
  // made is found by words until MakeVectors(). Errors: ALREADY_EXISTS an id is taken;
  // INVALID_ARGUMENT something is too long.
  absl::Status Add(absl::Span<const Document> documents);
  absl::Status Add(const Document& document) { return Add(absl::MakeConstSpan(&document, 1)); }

  // Makes the vectors that this embedder has not made yet: it is another one than before, or could
  // not answer when the documents were added. Errors of the embedder; vectors that were made before
  // the error stay.
  absl::Status MakeVectors();

  absl::StatusOr<bool> Contains(absl::string_view id) const;

  std::uint64_t documents() const override;
  absl::StatusOr<std::vector<std::uint64_t>> Frequencies(
      absl::Span<const std::uint64_t> features) const override;
  absl::StatusOr<std::vector<Scored>> SearchWords(const std::vector<std::string>& words,
                                                  size_t most,
                                                  absl::string_view without) const override;
  absl::StatusOr<std::vector<Scored>> SearchVectors(const Vector& query,
                                                    const std::string& embedder, size_t most,
                                                    absl::string_view without) const override;
  absl::StatusOr<Document> Read(std::int64_t document) const override;

 private:
  Store(std::string file, const Embedder& embedder);

  absl::Status Execute(const std::string& sql) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::int64_t> Ask(absl::string_view sql) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Connect();
  absl::Status MakeTables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `work` in one transaction, which is on the disk when this returns OK.
  absl::Status Transact(absl::FunctionRef<absl::Status()> work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<bool> HasId(absl::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Insert(std::int64_t number, const Document& document, const Vector& vector,
                      absl::string_view embedder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadVectors() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string file_;
  const Embedder& embedder_;

  // One connection, used by one thread at a time.
  mutable Mutex mu_;
  store::SqliteConnection db_ ABSL_GUARDED_BY(mu_);
  // They belong to db_, so they are destroyed before it.
  struct Statements;
  std::unique_ptr<Statements> statements_ ABSL_GUARDED_BY(mu_);
  std::int64_t count_ ABSL_GUARDED_BY(mu_) = 0;  // documents; they are numbered from 1
  // The vectors of this embedder of the first documents.
  mutable VectorRows rows_ ABSL_GUARDED_BY(mu_);
  mutable std::int64_t rows_read_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_STORE_H_
