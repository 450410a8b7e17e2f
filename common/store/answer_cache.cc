#include "common/store/answer_cache.h"

#include <sqlite3.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/store/sqlite_statement.h"
#include "common/store/store.h"

namespace galen::store {
namespace {

constexpr int kCacheApplicationId = 0x47414c41;  // "GALA" in the file's header
constexpr int kBusyMs = 2000;
constexpr char kSpace[] = "answers";
constexpr absl::Duration kPause = absl::Seconds(10);
constexpr absl::Duration kKeptInRedis = absl::Hours(24 * 30);

constexpr char kCacheSchema[] = R"sql(
  CREATE TABLE IF NOT EXISTS answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL UNIQUE,
    answer BLOB NOT NULL);
)sql";

}  // namespace

std::optional<std::string> MemoryAnswerCache::Get(absl::string_view digest) {
  MutexLock lock(mu_);
  const auto it = by_digest_.find(std::string(digest));
  if (it == by_digest_.end()) return std::nullopt;
  return it->second->second;
}

void MemoryAnswerCache::Put(absl::string_view digest, absl::string_view answer) {
  MutexLock lock(mu_);
  if (most_ == 0) return;
  std::string key(digest);
  if (const auto it = by_digest_.find(key); it != by_digest_.end()) {
    it->second->second = std::string(answer);
    return;
  }
  if (entries_.size() >= most_) {
    by_digest_.erase(entries_.front().first);
    entries_.pop_front();
  }
  entries_.emplace_back(key, std::string(answer));
  by_digest_.emplace(std::move(key), std::prev(entries_.end()));
}

SqliteAnswerCache::SqliteAnswerCache(std::string file, std::size_t most)
    : file_(std::move(file)),
      most_(most),
      get_(std::make_unique<Statement>()),
      put_(std::make_unique<Statement>()),
      drop_(std::make_unique<Statement>()) {}

SqliteAnswerCache::~SqliteAnswerCache() {
  get_.reset();
  put_.reset();
  drop_.reset();
  sqlite3_close_v2(db_);
}

absl::StatusOr<std::unique_ptr<SqliteAnswerCache>> SqliteAnswerCache::Open(const std::string& file,
                                                                           std::size_t most) {
  std::unique_ptr<SqliteAnswerCache> cache(new SqliteAnswerCache(file, most));
  GALEN_RETURN_IF_ERROR(cache->Prepare());
  return cache;
}

absl::Status SqliteAnswerCache::Prepare() {
  int code =
      sqlite3_open_v2(file_.c_str(), &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return SqliteError(db_, code, file_);
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, kBusyMs);
  std::int64_t application = 0;
  std::int64_t tables = 0;
  for (const auto& [sql, into] : {std::pair{"PRAGMA application_id", &application},
                                  std::pair{"SELECT count(*) FROM sqlite_schema", &tables}}) {
    Statement statement;
    GALEN_RETURN_IF_ERROR(statement.Prepare(db_, file_, sql));
    Statement::Run run(statement);
    GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
    if (row) *into = run.Int(0);
  }
  if (tables > 0 && application != kCacheApplicationId) {
    return absl::DataLossError(absl::StrCat(
        file_, ": an SQLite file that holds no answers: name another file; nothing was changed"));
  }
  // Cached answers may be lost, so writes do not wait for the disk.
  for (const std::string& sql :
       {absl::StrCat("PRAGMA application_id = ", kCacheApplicationId),
        std::string("PRAGMA journal_mode = WAL"), std::string("PRAGMA synchronous = OFF"),
        std::string(kCacheSchema)}) {
    code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return SqliteError(db_, code, file_);
  }
  GALEN_RETURN_IF_ERROR(get_->Prepare(db_, file_, "SELECT answer FROM answers WHERE digest = ?1"));
  GALEN_RETURN_IF_ERROR(
      put_->Prepare(db_, file_, "INSERT OR REPLACE INTO answers (digest, answer) VALUES (?1, ?2)"));
  return drop_->Prepare(db_, file_,
                        "DELETE FROM answers WHERE id <= (SELECT max(id) FROM answers) - ?1");
}

std::optional<std::string> SqliteAnswerCache::Get(absl::string_view digest) {
  MutexLock lock(mu_);
  Statement::Run run(*get_);
  run.Bind(1, digest);
  const absl::StatusOr<bool> row = run.Next();
  if (!row.ok() || !*row) return std::nullopt;
  return run.Text(0);
}

void SqliteAnswerCache::Put(absl::string_view digest, absl::string_view answer) {
  MutexLock lock(mu_);
  {
    Statement::Run run(*put_);
    run.Bind(1, digest);
    run.BindBlob(2, answer);
    if (!run.Done().ok()) return;
  }
  Statement::Run run(*drop_);
  run.Bind(1, static_cast<std::int64_t>(most_));
  run.Done().IgnoreError();
}

SharedAnswerCache::SharedAnswerCache(std::unique_ptr<Store> store, absl::Duration ttl,
                                     absl::Duration pause)
    : store_(std::move(store)), ttl_(ttl), pause_(pause) {}

SharedAnswerCache::~SharedAnswerCache() = default;

bool SharedAnswerCache::IsAway() const { return absl::ToUnixMicros(absl::Now()) < away_until_; }

void SharedAnswerCache::Note(const absl::Status& status) {
  if (absl::IsUnavailable(status)) away_until_ = absl::ToUnixMicros(absl::Now() + pause_);
}

std::optional<std::string> SharedAnswerCache::Get(absl::string_view digest) {
  if (IsAway()) return std::nullopt;
  const auto answer = store_->values().Get(kSpace, digest, absl::Now());
  Note(answer.status());
  return answer.ok() ? *answer : std::nullopt;
}

void SharedAnswerCache::Put(absl::string_view digest, absl::string_view answer) {
  if (!IsAway()) Note(store_->values().Put(kSpace, digest, answer, absl::Now(), ttl_));
}

absl::StatusOr<std::unique_ptr<AnswerCache>> OpenAnswerCache(const std::string& where,
                                                             std::size_t most) {
  if (!IsSharedStore(where)) return SqliteAnswerCache::Open(where, most);
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, OpenStore(where));
  return std::make_unique<SharedAnswerCache>(std::move(store), kKeptInRedis, kPause);
}

}  // namespace galen::store
