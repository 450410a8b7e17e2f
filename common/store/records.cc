#include "common/store/records.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/store/redis_keys.h"
#include "common/store/redis_parts.h"
#include "common/store/sqlite_parts.h"

namespace galen::store {

absl::Status CheckRecord(absl::string_view space, absl::string_view key, absl::string_view value) {
  if (key.empty() || key.size() > kMaxRecordKey) {
    return absl::InvalidArgumentError(
        absl::StrCat(space, ": a key has 1 to ", kMaxRecordKey, " bytes, not ", key.size()));
  }
  if (value.size() > kMaxRecordValue) {
    return absl::InvalidArgumentError(absl::StrCat(
        space, ": ", CleanText(key, 200), ": ", value.size(), " bytes; at most ", kMaxRecordValue));
  }
  return absl::OkStatus();
}

namespace {

using Access = SqliteTables::Access;

absl::Status OtherVersion(absl::string_view space, absl::string_view key, std::int64_t seen) {
  return absl::AbortedError(absl::StrCat(space, ": ", CleanText(key, 200),
                                         ": is no longer as it was seen (version ", seen,
                                         "); read it again"));
}

class SqliteRecords final : public Records {
 public:
  explicit SqliteRecords(SqliteTables& tables) : tables_(tables) {}

  absl::StatusOr<std::optional<Record>> Get(absl::string_view space,
                                            absl::string_view key) override {
    std::optional<Record> found;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement read;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(read, "SELECT value, version FROM records WHERE space = ?1 AND key = ?2"));
      Statement::Run run(read);
      run.Bind(1, space);
      run.Bind(2, key);
      GALEN_ASSIGN_OR_RETURN(const bool there, run.Next());
      if (there) found = Record{std::string(key), run.Text(0), run.Int(1)};
      return absl::OkStatus();
    });
    if (!done.ok()) return done;
    return found;
  }

  absl::StatusOr<std::int64_t> Put(absl::string_view space, absl::string_view key,
                                   absl::string_view value, std::int64_t seen) override {
    GALEN_RETURN_IF_ERROR(CheckRecord(space, key, value));
    const absl::Status done = tables_.Run(true, [&](Access& access) -> absl::Status {
      Statement put;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          put, seen == 0
                   ? "INSERT INTO records (space, key, value, version) VALUES (?1, ?2, ?3, ?4 + 1) "
                     "ON CONFLICT DO UPDATE SET value = value WHERE version = ?4 + 1 AND value = ?3"
                   : "UPDATE records SET value = ?3, version = ?4 + 1 WHERE space = ?1 AND key = "
                     "?2 AND (version = ?4 OR (version = ?4 + 1 AND value = ?3))"));
      Statement::Run run(put);
      run.Bind(1, space);
      run.Bind(2, key);
      run.BindBlob(3, value);
      run.Bind(4, seen);
      GALEN_RETURN_IF_ERROR(run.Done());
      return access.Changes() == 1 ? absl::OkStatus() : OtherVersion(space, key, seen);
    });
    if (!done.ok()) return done;
    return seen + 1;
  }

  absl::Status Remove(absl::string_view space, absl::string_view key, std::int64_t seen) override {
    return tables_.Run(true, [&](Access& access) -> absl::Status {
      Statement remove;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          remove, "DELETE FROM records WHERE space = ?1 AND key = ?2 AND version = ?3"));
      {
        Statement::Run run(remove);
        run.Bind(1, space);
        run.Bind(2, key);
        run.Bind(3, seen);
        GALEN_RETURN_IF_ERROR(run.Done());
      }
      Statement look;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(look, "SELECT 1 FROM records WHERE space = ?1 AND key = ?2"));
      Statement::Run run(look);
      run.Bind(1, space);
      run.Bind(2, key);
      GALEN_ASSIGN_OR_RETURN(const bool left, run.Next());
      return left ? OtherVersion(space, key, seen) : absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<Record>> List(absl::string_view space, absl::string_view after,
                                           int limit) override {
    std::vector<Record> records;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement read;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(read,
                         "SELECT key, value, version FROM records WHERE space = ?1 AND key > ?2 "
                         "ORDER BY key LIMIT ?3"));
      Statement::Run run(read);
      run.Bind(1, space);
      run.Bind(2, after);
      run.Bind(3, std::int64_t{limit});
      for (;;) {
        GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
        if (!more) return absl::OkStatus();
        records.push_back({run.Text(0), run.Text(1), run.Int(2)});
      }
    });
    if (!done.ok()) return done;
    return records;
  }

 private:
  SqliteTables& tables_;
};

// KEYS values order; ARGV key value seen -> ok or other. A value is stored after its version.
const redis::Script& PutScript() {
  static const auto* const script = new redis::Script(R"lua(
    local had = redis.call('HGET', KEYS[1], ARGV[1])
    local version = had and tonumber(string.match(had, '^%d+')) or 0
    local seen = tonumber(ARGV[3])
    local new = string.format('%.0f', seen + 1) .. ' ' .. ARGV[2]
    if had == new then return {'ok'} end
    if version ~= seen then return {'other'} end
    redis.call('HSET', KEYS[1], ARGV[1], new)
    redis.call('ZADD', KEYS[2], '0', ARGV[1])
    return {'ok'}
  )lua");
  return *script;
}

// KEYS values order; ARGV key seen -> ok or other
const redis::Script& RemoveScript() {
  static const auto* const script = new redis::Script(R"lua(
    local had = redis.call('HGET', KEYS[1], ARGV[1])
    if had and string.match(had, '^%d+') ~= ARGV[2] then return {'other'} end
    redis.call('HDEL', KEYS[1], ARGV[1])
    redis.call('ZREM', KEYS[2], ARGV[1])
    return {'ok'}
  )lua");
  return *script;
}

// KEYS values order; ARGV from limit -> ok, then key value each
const redis::Script& ListRecordsScript() {
  static const auto* const script = new redis::Script(R"lua(
    local answer = {'ok'}
    for _, key in ipairs(redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], '+', 'LIMIT', '0', ARGV[2])) do
      answer[#answer + 1] = key
      answer[#answer + 1] = redis.call('HGET', KEYS[1], key) or ''
    end
    return answer
  )lua");
  return *script;
}

class RedisRecords final : public Records {
 public:
  explicit RedisRecords(redis::Client& client) : client_(client), keys_(client.config().prefix) {}

  absl::StatusOr<std::optional<Record>> Get(absl::string_view space,
                                            absl::string_view key) override {
    const std::string name = keys_.RecordValues(space);
    GALEN_ASSIGN_OR_RETURN(const redis::Reply reply,
                           client_.Run(redis::Read(name, {"HGET", name, std::string(key)})));
    if (!reply.IsText()) return std::nullopt;
    GALEN_ASSIGN_OR_RETURN(Record record, Parse(space, key, reply.text));
    return record;
  }

  absl::StatusOr<std::int64_t> Put(absl::string_view space, absl::string_view key,
                                   absl::string_view value, std::int64_t seen) override {
    GALEN_RETURN_IF_ERROR(CheckRecord(space, key, value));
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> answer,
                           Ask(PutScript(), /*write=*/true, space,
                               {std::string(key), std::string(value), absl::StrCat(seen)}));
    if (answer[0] != "ok") return OtherVersion(space, key, seen);
    return seen + 1;
  }

  absl::Status Remove(absl::string_view space, absl::string_view key, std::int64_t seen) override {
    GALEN_ASSIGN_OR_RETURN(
        const std::vector<std::string> answer,
        Ask(RemoveScript(), /*write=*/true, space, {std::string(key), absl::StrCat(seen)}));
    return answer[0] == "ok" ? absl::OkStatus() : OtherVersion(space, key, seen);
  }

  absl::StatusOr<std::vector<Record>> List(absl::string_view space, absl::string_view after,
                                           int limit) override {
    GALEN_ASSIGN_OR_RETURN(
        std::vector<std::string> answer,
        Ask(ListRecordsScript(), /*write=*/false, space,
            {after.empty() ? std::string("-") : absl::StrCat("(", after), absl::StrCat(limit)}));
    std::vector<Record> records;
    for (std::size_t i = 1; i + 1 < answer.size(); i += 2) {
      GALEN_ASSIGN_OR_RETURN(Record record, Parse(space, answer[i], answer[i + 1]));
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  absl::StatusOr<std::vector<std::string>> Ask(const redis::Script& script, bool write,
                                               absl::string_view space,
                                               std::vector<std::string> arguments) {
    return AskScript(
        client_, redis::Eval(script, write, {keys_.RecordValues(space), keys_.RecordOrder(space)},
                             std::move(arguments)));
  }

  static absl::StatusOr<Record> Parse(absl::string_view space, absl::string_view key,
                                      absl::string_view text) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits(' ', 1));
    Record record{std::string(key), std::string(parts.second), 0};
    if (absl::SimpleAtoi(parts.first, &record.version) && record.version > 0) return record;
    return absl::DataLossError(
        absl::StrCat(space, ": ", CleanText(key, 200), ": Redis gives no record"));
  }

  redis::Client& client_;
  const RedisKeys keys_;
};

}  // namespace

std::unique_ptr<Records> MakeSqliteRecords(SqliteTables& tables) {
  return std::make_unique<SqliteRecords>(tables);
}
std::unique_ptr<Records> MakeRedisRecords(redis::Client& client) {
  return std::make_unique<RedisRecords>(client);
}

}  // namespace galen::store
