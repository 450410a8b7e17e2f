#include "common/store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "common/base/status_macros.h"
#include "common/store/redis/client.h"
#include "common/store/redis_event_log.h"
#include "common/store/redis_parts.h"
#include "common/store/redis_setup.h"
#include "common/store/sqlite_event_log.h"
#include "common/store/sqlite_parts.h"

namespace galen::store {
namespace {

// Only the owner of the file may read tenants' data. An existing file keeps its mode.
std::vector<std::string> KeepPrivate(const std::string& file) {
  if (file.empty() || file[0] == ':') return {};  // in memory
  // (Only of a new file: to close a descriptor of one that is in use gives up SQLite's locks.)
  const int made = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (made >= 0) close(made);
  struct stat there {};
  if (made >= 0 || stat(file.c_str(), &there) != 0 || !S_ISREG(there.st_mode) ||
      (there.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
    return {};
  }
  return {
      "other users of this machine can read tenants' data: chmod 600 it, and the files beside it "
      "whose names begin with its name"};
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string file, std::unique_ptr<EventLog> events,
              std::unique_ptr<SqliteTables> tables, std::vector<std::string> warnings)
      : file_(std::move(file)),
        events_(std::move(events)),
        tables_(std::move(tables)),
        warnings_(std::move(warnings)) {}

  EventLog& events() override { return *events_; }
  WorkQueue& work() override { return *work_; }
  KeyValue& values() override { return *values_; }
  RateLimits& rates() override { return *rates_; }
  NodeTable& nodes() override { return *nodes_; }
  Journal& journal() override { return *journal_; }
  Records& records() override { return *records_; }
  std::string Describe() const override { return file_; }
  bool IsShared() const override { return false; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  const std::string file_;
  const std::unique_ptr<EventLog> events_;
  const std::unique_ptr<SqliteTables> tables_;
  const std::unique_ptr<WorkQueue> work_ = MakeSqliteWorkQueue(*tables_);
  const std::unique_ptr<KeyValue> values_ = MakeSqliteKeyValue(*tables_);
  const std::unique_ptr<RateLimits> rates_ = MakeSqliteRateLimits(*tables_);
  const std::unique_ptr<NodeTable> nodes_ = MakeSqliteNodeTable(*tables_);
  const std::unique_ptr<Journal> journal_ = MakeSqliteJournal(*tables_);
  const std::unique_ptr<Records> records_ = MakeSqliteRecords(*tables_);
  const std::vector<std::string> warnings_;
};

class RedisStore final : public Store {
 public:
  explicit RedisStore(const redis::Config& config) : client_(config) {}

  absl::Status Check() {
    GALEN_ASSIGN_OR_RETURN(warnings_, CheckRedis(client_));
    return absl::OkStatus();
  }

  EventLog& events() override { return events_; }
  WorkQueue& work() override { return *work_; }
  KeyValue& values() override { return *values_; }
  RateLimits& rates() override { return *rates_; }
  NodeTable& nodes() override { return *nodes_; }
  Journal& journal() override { return *journal_; }
  Records& records() override { return *records_; }
  std::string Describe() const override { return redis::Describe(client_.config()); }
  bool IsShared() const override { return true; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  redis::Client client_;
  RedisEventLog events_{client_};
  const std::unique_ptr<WorkQueue> work_ = MakeRedisWorkQueue(client_);
  const std::unique_ptr<KeyValue> values_ = MakeRedisKeyValue(client_);
  const std::unique_ptr<RateLimits> rates_ = MakeRedisRateLimits(client_);
  const std::unique_ptr<NodeTable> nodes_ = MakeRedisNodeTable(client_);
  const std::unique_ptr<Journal> journal_ = MakeRedisJournal(client_);
  const std::unique_ptr<Records> records_ = MakeRedisRecords(client_);
  std::vector<std::string> warnings_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenStore(absl::string_view where) {
  if (redis::IsRedisUrl(where)) {
    GALEN_ASSIGN_OR_RETURN(const redis::Config config, redis::ParseUrl(where));
    auto store = std::make_unique<RedisStore>(config);
    GALEN_RETURN_IF_ERROR(store->Check());
    return store;
  }
  const std::string file(where);
  std::vector<std::string> warnings = KeepPrivate(file);
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<EventLog> events, SqliteEventLog::Open(file));
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<SqliteTables> tables, SqliteTables::Open(file));
  return std::make_unique<SqliteStore>(file, std::move(events), std::move(tables),
                                       std::move(warnings));
}

std::string DescribeStore(absl::string_view where) {
  if (!redis::IsRedisUrl(where)) return std::string(where);
  const absl::StatusOr<redis::Config> config = redis::ParseUrl(where);
  return config.ok() ? redis::Describe(*config) : "a Redis URL that cannot be read";
}

bool IsSharedStore(absl::string_view where) { return redis::IsRedisUrl(where); }

}  // namespace galen::store
