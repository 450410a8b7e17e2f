#include "common/store/sqlite_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace galen::store {
namespace {

using Access = SqliteTables::Access;

class SqliteWorkQueue final : public WorkQueue {
 public:
  explicit SqliteWorkQueue(SqliteTables& tables) : tables_(tables) {}

  absl::Status Push(absl::string_view queue, absl::string_view key,
                    absl::string_view payload) override {
    return tables_.Run(true, [&](Access& access) -> absl::Status {
      Statement insert;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          insert, "INSERT OR IGNORE INTO work (queue, key, payload) VALUES (?1, ?2, ?3)"));
      Statement::Run run(insert);
      run.Bind(1, queue);
      run.Bind(2, key);
      run.BindBlob(3, payload);
      return run.Done();
    });
  }

  absl::StatusOr<std::vector<WorkItem>> Take(absl::string_view queue, absl::string_view worker,
                                             int most, absl::Duration abandoned_after) override {
    std::vector<WorkItem> items;
    const std::int64_t now = absl::ToUnixMicros(absl::Now());
    const absl::Status done = tables_.Run(true, [&](Access& access) -> absl::Status {
      Statement find;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(find,
                         "SELECT id, key, payload, deliveries FROM work WHERE queue = ?1 AND "
                         "(worker = '' OR taken <= ?2) ORDER BY worker = '', id LIMIT ?3"));
      Statement take;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          take,
          "UPDATE work SET worker = ?2, taken = ?3, deliveries = deliveries + 1 WHERE id = ?1"));
      std::vector<std::int64_t> ids;
      {
        Statement::Run run(find);
        run.Bind(1, queue);
        run.Bind(2, now - absl::ToInt64Microseconds(abandoned_after));
        run.Bind(3, std::int64_t{std::max(most, 0)});
        for (;;) {
          GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
          if (!more) break;
          ids.push_back(run.Int(0));
          items.push_back({run.Text(1), run.Text(2), absl::StrCat(run.Int(0)), run.Int(3) + 1});
        }
      }
      for (const std::int64_t id : ids) {
        Statement::Run run(take);
        run.Bind(1, id);
        run.Bind(2, worker);
        run.Bind(3, now);
        GALEN_RETURN_IF_ERROR(run.Done());
      }
      return absl::OkStatus();
    });
    if (!done.ok()) return done;
    return items;
  }

  absl::Status Keep(absl::string_view queue, absl::string_view worker,
                    const WorkItem& item) override {
    return Mine("UPDATE work SET taken = ?4 WHERE id = ?1 AND queue = ?2 AND worker = ?3", queue,
                worker, item);
  }

  absl::Status Finish(absl::string_view queue, absl::string_view worker,
                      const WorkItem& item) override {
    return Mine("DELETE FROM work WHERE id = ?1 AND queue = ?2 AND worker = ?3 AND ?4 > 0", queue,
                worker, item);
  }

  absl::StatusOr<std::int64_t> Size(absl::string_view queue) override {
    std::int64_t size = 0;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement count;
      GALEN_RETURN_IF_ERROR(access.Prepare(count, "SELECT count(*) FROM work WHERE queue = ?1"));
      Statement::Run run(count);
      run.Bind(1, queue);
      GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
      if (row) size = run.Int(0);
      return absl::OkStatus();
    });
    if (!done.ok()) return done;
    return size;
  }

 private:
  absl::Status Mine(const char* sql, absl::string_view queue, absl::string_view worker,
                    const WorkItem& item) {
    std::int64_t id = 0;
    if (!absl::SimpleAtoi(item.ticket, &id)) id = 0;
    return tables_.Run(true, [&](Access& access) -> absl::Status {
      Statement change;
      GALEN_RETURN_IF_ERROR(access.Prepare(change, sql));
      Statement::Run run(change);
      run.Bind(1, id);
      run.Bind(2, queue);
      run.Bind(3, worker);
      run.Bind(4, absl::ToUnixMicros(absl::Now()));
      GALEN_RETURN_IF_ERROR(run.Done());
      if (access.Changes() == 1) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat(queue, ": ", item.key, " is not ", worker, "'s any more"));
    });
  }

  SqliteTables& tables_;
};

class SqliteKeyValue final : public KeyValue {
 public:
  explicit SqliteKeyValue(SqliteTables& tables) : tables_(tables) {}

  absl::Status Put(absl::string_view space, absl::string_view key, absl::string_view value,
                   absl::Time now, absl::Duration ttl) override {
    if (ttl <= absl::ZeroDuration() || value.size() > kMaxValueBytes) {
      return absl::InvalidArgumentError(absl::StrCat(space, ": ", key, ": a value has at most ",
                                                     kMaxValueBytes,
                                                     " bytes and is kept for more than no time"));
    }
    return tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement sweep;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(sweep, "DELETE FROM kept_values WHERE space = ?1 AND expires <= ?2"));
      Statement::Run sweeping(sweep);
      sweeping.Bind(1, space);
      sweeping.Bind(2, absl::ToUnixMicros(now));
      GALEN_RETURN_IF_ERROR(sweeping.Done());
      Statement put;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(put,
                         "INSERT OR REPLACE INTO kept_values (space, key, value, expires) "
                         "VALUES (?1, ?2, ?3, ?4)"));
      Statement::Run run(put);
      run.Bind(1, space);
      run.Bind(2, key);
      run.BindBlob(3, value);
      run.Bind(4, absl::ToUnixMicros(now + ttl));
      return run.Done();
    });
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view space, absl::string_view key,
                                                 absl::Time now) override {
    std::optional<std::string> value;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement get;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          get, "SELECT value FROM kept_values WHERE space = ?1 AND key = ?2 AND expires > ?3"));
      Statement::Run run(get);
      run.Bind(1, space);
      run.Bind(2, key);
      run.Bind(3, absl::ToUnixMicros(now));
      GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
      if (row) value = run.Text(0);
      return absl::OkStatus();
    });
    if (!done.ok()) return done;
    return value;
  }

  absl::Status Remove(absl::string_view space, absl::string_view key) override {
    return tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement remove;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(remove, "DELETE FROM kept_values WHERE space = ?1 AND key = ?2"));
      Statement::Run run(remove);
      run.Bind(1, space);
      run.Bind(2, key);
      return run.Done();
    });
  }

 private:
  SqliteTables& tables_;
};

class SqliteRateLimits final : public RateLimits {
 public:
  explicit SqliteRateLimits(SqliteTables& tables) : tables_(tables) {}

  absl::StatusOr<RateGrant> Take(absl::string_view key, const RateLimit& limit, double cost,
                                 absl::Time now) override {
    GALEN_RETURN_IF_ERROR(CheckRateLimit(key, limit, cost));
    RateGrant grant;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      double tokens = limit.burst;
      std::int64_t at = absl::ToUnixMicros(now);
      Statement find;
      GALEN_RETURN_IF_ERROR(access.Prepare(find, "SELECT tokens, at FROM rates WHERE key = ?1"));
      {
        Statement::Run run(find);
        run.Bind(1, key);
        GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
        double had = 0;
        if (row && absl::SimpleAtod(run.Text(0), &had)) {
          const std::int64_t then = run.Int(1);
          at = std::max(at, then);
          tokens =
              std::min(limit.burst, had + static_cast<double>(at - then) / 1e6 * limit.per_second);
        }
      }
      if (tokens + 1e-9 < cost) {
        const double micros = std::ceil((cost - tokens) / limit.per_second * 1e6 - 1e-3);
        grant.wait = std::max(micros, 1.0) * absl::Microseconds(1);
        grant.left = tokens;
        return absl::OkStatus();
      }
      Statement put;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          put, "INSERT OR REPLACE INTO rates (key, tokens, at) VALUES (?1, ?2, ?3)"));
      grant.left = std::max(0.0, tokens - cost);
      const std::string left = absl::StrFormat("%.17g", grant.left);
      Statement::Run run(put);
      run.Bind(1, key);
      run.Bind(2, left);
      run.Bind(3, at);
      return run.Done();
    });
    if (!done.ok()) return done;
    return grant;
  }

 private:
  SqliteTables& tables_;
};

class SqliteNodeTable final : public NodeTable {
 public:
  explicit SqliteNodeTable(SqliteTables& tables) : tables_(tables) {}

  absl::Status Announce(const std::vector<NodeEntry>& entries) override {
    return tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement put;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          put, "INSERT OR REPLACE INTO nodes (name, record, expires) VALUES (?1, ?2, ?3)"));
      for (const NodeEntry& entry : entries) {
        Statement::Run run(put);
        run.Bind(1, entry.name);
        run.BindBlob(2, entry.record);
        run.Bind(3, absl::ToUnixMicros(entry.expires));
        GALEN_RETURN_IF_ERROR(run.Done());
      }
      return absl::OkStatus();
    });
  }

  absl::Status Withdraw(absl::string_view name) override {
    return tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement remove;
      GALEN_RETURN_IF_ERROR(access.Prepare(remove, "DELETE FROM nodes WHERE name = ?1"));
      Statement::Run run(remove);
      run.Bind(1, name);
      return run.Done();
    });
  }

  absl::StatusOr<std::vector<NodeEntry>> List(absl::Time now) override {
    std::vector<NodeEntry> entries;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement find;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          find, "SELECT name, record, expires FROM nodes WHERE expires > ?1 ORDER BY name"));
      Statement::Run run(find);
      run.Bind(1, absl::ToUnixMicros(now));
      for (;;) {
        GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
        if (!more) return absl::OkStatus();
        entries.push_back({run.Text(0), run.Text(1), absl::FromUnixMicros(run.Int(2))});
      }
    });
    if (!done.ok()) return done;
    return entries;
  }

  absl::StatusOr<std::int64_t> Sweep(absl::Time now) override {
    std::int64_t count = 0;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement remove;
      GALEN_RETURN_IF_ERROR(access.Prepare(remove, "DELETE FROM nodes WHERE expires <= ?1"));
      Statement::Run run(remove);
      run.Bind(1, absl::ToUnixMicros(now));
      GALEN_RETURN_IF_ERROR(run.Done());
      count = access.Changes();
      return absl::OkStatus();
    });
    if (!done.ok()) return done;
    return count;
  }

 private:
  SqliteTables& tables_;
};

}  // namespace

std::unique_ptr<WorkQueue> MakeSqliteWorkQueue(SqliteTables& tables) {
  return std::make_unique<SqliteWorkQueue>(tables);
}
std::unique_ptr<KeyValue> MakeSqliteKeyValue(SqliteTables& tables) {
  return std::make_unique<SqliteKeyValue>(tables);
}
std::unique_ptr<RateLimits> MakeSqliteRateLimits(SqliteTables& tables) {
  return std::make_unique<SqliteRateLimits>(tables);
}
std::unique_ptr<NodeTable> MakeSqliteNodeTable(SqliteTables& tables) {
  return std::make_unique<SqliteNodeTable>(tables);
}

}  // namespace galen::store
