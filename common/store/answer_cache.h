#ifndef COMMON_STORE_ANSWER_CACHE_H_
#define COMMON_STORE_ANSWER_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

struct sqlite3;

namespace galen::store {

class Statement;
class Store;

// Answers by the digest of all that they depend on. A lost answer costs one repeated question, so
// the cache reports no errors. Thread-safe.
class AnswerCache {
 public:
  virtual ~AnswerCache() = default;
  virtual std::optional<std::string> Get(absl::string_view digest) = 0;
  // Keeps the answer for as long as there is room; the oldest one goes first.
  virtual void Put(absl::string_view digest, absl::string_view answer) = 0;
};

// In memory, at most `most` answers.
class MemoryAnswerCache final : public AnswerCache {
 public:
  explicit MemoryAnswerCache(std::size_t most) : most_(most) {}
  std::optional<std::string> Get(absl::string_view digest) override;
  void Put(absl::string_view digest, absl::string_view answer) override;

 private:
  using Entry = std::pair<std::string, std::string>;
  const std::size_t most_;
  Mutex mu_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mu_);  // oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_digest_ ABSL_GUARDED_BY(mu_);
};

// In an SQLite file of its own, which outlives the process; other processes may use the same file.
// A file that is damaged is as good as an empty one for as long as it cannot be read.
class SqliteAnswerCache final : public AnswerCache {
 public:
  // Makes the file. UNAVAILABLE or DATA_LOSS, naming it, when it cannot be used at all.
  static absl::StatusOr<std::unique_ptr<SqliteAnswerCache>> Open(const std::string& file,
                                                                 std::size_t most);
  ~SqliteAnswerCache() override;

  std::optional<std::string> Get(absl::string_view digest) override;
  void Put(absl::string_view digest, absl::string_view answer) override;

 private:
  SqliteAnswerCache(std::string file, std::size_t most);
  absl::Status Prepare();

  const std::string file_;
  const std::size_t most_;
  Mutex mu_;
  sqlite3* db_ = nullptr;
  std::unique_ptr<Statement> get_;
  std::unique_ptr<Statement> put_;
  std::unique_ptr<Statement> drop_;
};

// In a store that many processes share. An unreachable Redis is asked again only after a pause, and
// until then there are no answers, so that it delays nothing for long.
class SharedAnswerCache final : public AnswerCache {
 public:
  // Answers are kept for `ttl`; an unreachable store is not asked for `pause`.
  SharedAnswerCache(std::unique_ptr<Store> store, absl::Duration ttl, absl::Duration pause);
  ~SharedAnswerCache() override;

  std::optional<std::string> Get(absl::string_view digest) override;
  void Put(absl::string_view digest, absl::string_view answer) override;

 private:
  bool IsAway() const;
  void Note(const absl::Status& status);

  const std::unique_ptr<Store> store_;
  const absl::Duration ttl_;
  const absl::Duration pause_;
  std::atomic<std::int64_t> away_until_{0};  // microseconds since 1970
};

// `where` is a Redis URL (docs/store.md), which keeps answers for a month, or a file, which keeps
// the newest `most`.
absl::StatusOr<std::unique_ptr<AnswerCache>> OpenAnswerCache(const std::string& where,
                                                             std::size_t most);

}  // namespace galen::store

#endif  // COMMON_STORE_ANSWER_CACHE_H_
