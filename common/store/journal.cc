#include "common/store/journal.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/store/redis_keys.h"
#include "common/store/redis_parts.h"
#include "common/store/sqlite_parts.h"

namespace galen::store {

absl::Status CheckRecords(absl::string_view journal, absl::Span<const std::string> records) {
  if (records.empty()) return absl::InvalidArgumentError(absl::StrCat(journal, ": no record"));
  for (const std::string& record : records) {
    if (record.size() <= kMaxRecordBytes) continue;
    return absl::InvalidArgumentError(absl::StrCat(journal, ": a record of ", record.size(),
                                                   " bytes; at most ", kMaxRecordBytes));
  }
  return absl::OkStatus();
}

namespace {

using Access = SqliteTables::Access;

class SqliteJournal final : public Journal {
 public:
  explicit SqliteJournal(SqliteTables& tables) : tables_(tables) {}

  absl::StatusOr<std::int64_t> Append(absl::string_view journal,
                                      absl::Span<const std::string> records) override {
    GALEN_RETURN_IF_ERROR(CheckRecords(journal, records));
    std::int64_t last = 0;
    const absl::Status done = tables_.Run(true, [&](Access& access) -> absl::Status {
      Statement count;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(count,
                         "INSERT INTO journal_heads (journal, last) VALUES (?1, ?2) ON CONFLICT "
                         "DO UPDATE SET last = last + excluded.last RETURNING last"));
      {
        Statement::Run run(count);
        run.Bind(1, journal);
        run.Bind(2, static_cast<std::int64_t>(records.size()));
        GALEN_RETURN_IF_ERROR(run.Next().status());
        last = run.Int(0);
        GALEN_RETURN_IF_ERROR(run.Done());
      }
      Statement insert;
      GALEN_RETURN_IF_ERROR(access.Prepare(
          insert, "INSERT INTO journals (journal, position, record) VALUES (?1, ?2, ?3)"));
      std::int64_t position = last - static_cast<std::int64_t>(records.size());
      for (const std::string& record : records) {
        Statement::Run run(insert);
        run.Bind(1, journal);
        run.Bind(2, ++position);
        run.BindBlob(3, record);
        GALEN_RETURN_IF_ERROR(run.Done());
      }
      return absl::OkStatus();
    });
    if (!done.ok()) return done;
    return last;
  }

  absl::StatusOr<std::vector<JournalEntry>> Read(absl::string_view journal, std::int64_t after,
                                                 int limit) override {
    std::vector<JournalEntry> entries;
    const absl::Status done = tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement read;
      GALEN_RETURN_IF_ERROR(access.Prepare(read,
                                           "SELECT position, record FROM journals WHERE journal = "
                                           "?1 AND position > ?2 ORDER BY position LIMIT ?3"));
      Statement::Run run(read);
      run.Bind(1, journal);
      run.Bind(2, after);
      run.Bind(3, std::int64_t{limit});
      for (;;) {
        GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
        if (!more) return absl::OkStatus();
        entries.push_back({run.Int(0), run.Text(1)});
      }
    });
    if (!done.ok()) return done;
    return entries;
  }

  absl::Status Trim(absl::string_view journal, std::int64_t position) override {
    return tables_.Run(false, [&](Access& access) -> absl::Status {
      Statement remove;
      GALEN_RETURN_IF_ERROR(
          access.Prepare(remove, "DELETE FROM journals WHERE journal = ?1 AND position <= ?2"));
      Statement::Run run(remove);
      run.Bind(1, journal);
      run.Bind(2, position);
      return run.Done();
    });
  }

 private:
  SqliteTables& tables_;
};

// KEYS stream; ARGV record ... -> the position of the last. A stream keeps the id of its last entry
// when it is trimmed.
const redis::Script& AppendJournalScript() {
  static const auto* const script = new redis::Script(R"lua(
    local last = 0
    if redis.call('EXISTS', KEYS[1]) == 1 then
      local info = redis.call('XINFO', 'STREAM', KEYS[1])
      for i = 1, #info, 2 do
        if info[i] == 'last-generated-id' then last = tonumber(string.match(info[i + 1], '^%d+')) end
      end
    end
    for i = 1, #ARGV do
      last = last + 1
      redis.call('XADD', KEYS[1], string.format('%.0f-0', last), 'r', ARGV[i])
    end
    return {string.format('%.0f', last)}
  )lua");
  return *script;
}

// KEYS stream; ARGV after limit -> ok, then position record each
const redis::Script& ReadJournalScript() {
  static const auto* const script = new redis::Script(R"lua(
    local answer = {'ok'}
    for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1] .. '-0', '+',
                                      'COUNT', ARGV[2])) do
      answer[#answer + 1] = string.match(entry[1], '^%d+')
      answer[#answer + 1] = entry[2][2]
    end
    return answer
  )lua");
  return *script;
}

class RedisJournal final : public Journal {
 public:
  explicit RedisJournal(redis::Client& client) : client_(client), keys_(client.config().prefix) {}

  absl::StatusOr<std::int64_t> Append(absl::string_view journal,
                                      absl::Span<const std::string> records) override {
    GALEN_RETURN_IF_ERROR(CheckRecords(journal, records));
    GALEN_ASSIGN_OR_RETURN(
        const std::vector<std::string> answer,
        AskScript(client_,
                  redis::Eval(AppendJournalScript(), /*write=*/true, {keys_.Journal(journal)},
                              std::vector<std::string>(records.begin(), records.end()))));
    return Position(journal, answer[0]);
  }

  absl::StatusOr<std::vector<JournalEntry>> Read(absl::string_view journal, std::int64_t after,
                                                 int limit) override {
    GALEN_ASSIGN_OR_RETURN(
        const std::vector<std::string> answer,
        AskScript(client_,
                  redis::Eval(ReadJournalScript(), /*write=*/false, {keys_.Journal(journal)},
                              {absl::StrCat(after), absl::StrCat(limit)})));
    std::vector<JournalEntry> entries;
    for (std::size_t i = 1; i + 1 < answer.size(); i += 2) {
      GALEN_ASSIGN_OR_RETURN(const std::int64_t position, Position(journal, answer[i]));
      entries.push_back({position, answer[i + 1]});
    }
    return entries;
  }

  absl::Status Trim(absl::string_view journal, std::int64_t position) override {
    const std::string key = keys_.Journal(journal);
    return client_.Run(redis::Write(key, {"XTRIM", key, "MINID", absl::StrCat(position + 1, "-0")}))
        .status();
  }

 private:
  static absl::StatusOr<std::int64_t> Position(absl::string_view journal, const std::string& text) {
    std::int64_t position = 0;
    if (absl::SimpleAtoi(text, &position) && position > 0) return position;
    return absl::DataLossError(
        absl::StrCat(journal, ": Redis gives no position: \"", text.substr(0, 64), "\""));
  }

  redis::Client& client_;
  const RedisKeys keys_;
};

}  // namespace

std::unique_ptr<Journal> MakeSqliteJournal(SqliteTables& tables) {
  return std::make_unique<SqliteJournal>(tables);
}
std::unique_ptr<Journal> MakeRedisJournal(redis::Client& client) {
  return std::make_unique<RedisJournal>(client);
}

}  // namespace galen::store
