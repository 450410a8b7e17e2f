#include "common/store/sqlite_event_log.h"

#include <sqlite3.h>

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/store/accounts.h"
#include "common/store/names.h"
#include "common/store/sqlite_statement.h"

namespace galen::store {
namespace {

constexpr int kApplicationId = 0x47414c4e;  // "GALN" in the file's header: whose file it is
constexpr int kSchemaVersion = 1;

constexpr char kSchema[] = R"sql(
  CREATE TABLE diagnoses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    parent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    over INTEGER NOT NULL DEFAULT 0,
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_token INTEGER NOT NULL DEFAULT 0,
    lease_expires INTEGER NOT NULL DEFAULT 0);  -- microseconds since 1970
  CREATE UNIQUE INDEX diagnoses_by_request ON diagnoses (parent, request_id)
    WHERE request_id <> '';
  CREATE INDEX diagnoses_by_parent ON diagnoses (parent, id);
  CREATE INDEX diagnoses_not_over ON diagnoses (lease_expires) WHERE over = 0;
  CREATE TABLE events (
    diagnosis INTEGER NOT NULL REFERENCES diagnoses (id),
    sequence INTEGER NOT NULL,
    event BLOB NOT NULL,  -- galen.v1.DiagnosisEvent
    PRIMARY KEY (diagnosis, sequence)) WITHOUT ROWID;
)sql";

// Beside the format's own tables, so that a galen which knows nothing of it still reads the file.
constexpr char kAccounts[] = R"sql(
  CREATE TABLE IF NOT EXISTS model_accounts (
    parent TEXT NOT NULL,
    day TEXT NOT NULL,  -- UTC
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (parent, day)) WITHOUT ROWID;
)sql";

}  // namespace

struct SqliteEventLog::Writing {
  Statement find, find_request, insert_diagnosis, insert_event, set_last, set_over, set_lease,
      release_lease, account;
};

struct SqliteEventLog::Reading {
  Statement find, read, list, list_all, orphans, account_of;
};

// A diagnosis as stored.
struct SqliteEventLog::Row {
  std::int64_t id = 0;
  std::int64_t last_sequence = 0;
  std::string lease_owner;
  std::int64_t lease_token = 0;
  std::int64_t lease_expires = 0;
};

// Leases alone are not written synchronously: the next event synchronises the write-ahead log up to
// itself, so a lease that a power cut takes back never wrote a kept event.
constexpr auto kSynchronous = GroupCommit::Durability::kSynchronous;
constexpr auto kLater = GroupCommit::Durability::kLater;

SqliteEventLog::SqliteEventLog(std::string file) : file_(std::move(file)) {}

SqliteEventLog::~SqliteEventLog() {
  reading_.reset();
  if (read_db_ != db_) sqlite3_close_v2(read_db_);
  writing_.reset();
  sqlite3_close_v2(db_);
}

absl::StatusOr<std::unique_ptr<SqliteEventLog>> SqliteEventLog::Open(const std::string& file) {
  std::unique_ptr<SqliteEventLog> log(new SqliteEventLog(file));
  GALEN_ASSIGN_OR_RETURN(log->db_, log->OpenFile());
  GALEN_RETURN_IF_ERROR(log->CheckSchema());
  if (file == ":memory:") {
    log->read_db_ = log->db_;
    log->read_mu_ = &log->writing_mu_;
  } else {
    GALEN_ASSIGN_OR_RETURN(log->read_db_, log->OpenFile());
  }
  GALEN_RETURN_IF_ERROR(log->PrepareAll());
  GALEN_RETURN_IF_ERROR(log->group_.Open(log->db_, &log->writing_mu_, file));
  return log;
}

absl::StatusOr<sqlite3*> SqliteEventLog::OpenFile() const {
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(file_.c_str(), &db,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    const absl::Status status = SqliteError(db, code, file_);
    sqlite3_close_v2(db);
    return status;
  }
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, 5000);
  return db;
}

absl::Status SqliteEventLog::CheckSchema() {
  // One transaction: two processes that start at once must not both create the tables.
  GALEN_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t tables, Pragma("SELECT count(*) FROM sqlite_schema"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t application, Pragma("PRAGMA application_id"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t version, Pragma("PRAGMA user_version"));
  if (tables == 0 && application == 0) {
    GALEN_RETURN_IF_ERROR(Execute(kSchema));
    GALEN_RETURN_IF_ERROR(
        Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId).c_str()));
    GALEN_RETURN_IF_ERROR(Execute(absl::StrCat("PRAGMA user_version = ", kSchemaVersion).c_str()));
  } else if (application != kApplicationId) {
    return absl::DataLossError(absl::StrCat(
        file_, ": an SQLite file of another program: name another file; nothing was changed"));
  } else if (version != kSchemaVersion) {
    return absl::DataLossError(absl::StrCat(file_, ": written in format ", version,
                                            ", this galen reads format ", kSchemaVersion,
                                            ": run the galen that wrote it; nothing was changed"));
  }
  GALEN_RETURN_IF_ERROR(Execute(kAccounts));
  GALEN_RETURN_IF_ERROR(Execute("COMMIT"));
  GALEN_RETURN_IF_ERROR(Execute("PRAGMA journal_mode = WAL"));
  return Execute("PRAGMA foreign_keys = ON");
}

absl::Status SqliteEventLog::PrepareAll() {
  constexpr char kFind[] =
      "SELECT id, last_sequence, lease_owner, lease_token, lease_expires FROM diagnoses "
      "WHERE name = ?1";
  writing_ = std::make_unique<Writing>();
  const std::pair<Statement*, const char*> writing[] = {
      {&writing_->find, kFind},
      {&writing_->find_request,
       "SELECT name FROM diagnoses WHERE parent = ?1 AND request_id = ?2 AND request_id <> ''"},
      {&writing_->insert_diagnosis,
       "INSERT INTO diagnoses (name, parent, request_id, last_sequence) VALUES (?1, ?2, ?3, 1)"},
      {&writing_->insert_event,
       "INSERT INTO events (diagnosis, sequence, event) VALUES (?1, ?2, ?3)"},
      {&writing_->set_last, "UPDATE diagnoses SET last_sequence = ?2 WHERE id = ?1"},
      {&writing_->set_over, "UPDATE diagnoses SET over = ?2 WHERE name = ?1"},
      {&writing_->set_lease,
       "UPDATE diagnoses SET lease_owner = ?2, lease_token = ?3, lease_expires = ?4 "
       "WHERE id = ?1"},
      {&writing_->release_lease,
       "UPDATE diagnoses SET lease_owner = '', lease_expires = 0 "
       "WHERE name = ?1 AND lease_token = ?2"},
      {&writing_->account,
       "INSERT INTO model_accounts VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET "
       "calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens, "
       "output_tokens = output_tokens + excluded.output_tokens, "
       "cost_nanos = cost_nanos + excluded.cost_nanos"},
  };
  for (const auto& [statement, sql] : writing) {
    GALEN_RETURN_IF_ERROR(statement->Prepare(db_, file_, sql));
  }
  reading_ = std::make_unique<Reading>();
  const std::pair<Statement*, const char*> reading[] = {
      {&reading_->find, kFind},
      {&reading_->read,
       "SELECT sequence, event FROM events WHERE diagnosis = ?1 AND sequence > ?2 "
       "ORDER BY sequence LIMIT ?3"},
      {&reading_->list,
       "SELECT id, name FROM diagnoses WHERE parent = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"},
      {&reading_->list_all,
       "SELECT id, name FROM diagnoses WHERE id < ?2 ORDER BY id DESC LIMIT ?3"},
      {&reading_->orphans,
       "SELECT name FROM diagnoses WHERE over = 0 AND lease_expires <= ?1 ORDER BY id"},
      {&reading_->account_of,
       "SELECT calls, input_tokens, output_tokens, cost_nanos FROM model_accounts "
       "WHERE parent = ?1 AND day = ?2"},
  };
  for (const auto& [statement, sql] : reading) {
    GALEN_RETURN_IF_ERROR(statement->Prepare(read_db_, file_, sql));
  }
  return absl::OkStatus();
}

absl::Status SqliteEventLog::Execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(db_, code, file_);
}

absl::StatusOr<std::int64_t> SqliteEventLog::Pragma(const char* sql) {
  Statement statement;
  GALEN_RETURN_IF_ERROR(statement.Prepare(db_, file_, sql));
  Statement::Run run(statement);
  GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
  return row ? run.Int(0) : 0;
}

absl::StatusOr<SqliteEventLog::Row> SqliteEventLog::Find(Statement& find, absl::string_view name) {
  Statement::Run run(find);
  run.Bind(1, name);
  GALEN_ASSIGN_OR_RETURN(const bool found, run.Next());
  if (!found) return NoSuchLogError(name);
  return Row{run.Int(0), run.Int(1), run.Text(2), run.Int(3), run.Int(4)};
}

absl::Status SqliteEventLog::InsertEvent(std::int64_t diagnosis, std::int64_t sequence,
                                         const v1::DiagnosisEvent& event) {
  std::string bytes;
  if (event.sequence() == sequence) {
    bytes = event.SerializeAsString();
  } else {
    v1::DiagnosisEvent stored = event;
    stored.set_sequence(sequence);
    bytes = stored.SerializeAsString();
  }
  Statement::Run run(writing_->insert_event);
  run.Bind(1, diagnosis);
  run.Bind(2, sequence);
  run.BindBlob(3, bytes);
  return run.Done();
}

absl::StatusOr<std::string> SqliteEventLog::Create(const v1::DiagnosisEvent& event) {
  absl::StatusOr<std::string> name = absl::UnknownError("was not run");
  GALEN_RETURN_IF_ERROR(group_.Write(kSynchronous, [&] {
    name = CreateNow(event);
    return name.status();
  }));
  return name;
}

absl::StatusOr<std::string> SqliteEventLog::CreateNow(const v1::DiagnosisEvent& event) {
  const std::string& name = event.created().name();
  const std::string parent(ParentOf(name));
  if (parent.empty()) {
    return BadNameError(name);
  }
  {
    Statement::Run run(writing_->find_request);
    run.Bind(1, parent);
    run.Bind(2, event.created().request_id());
    GALEN_ASSIGN_OR_RETURN(const bool repeated, run.Next());
    if (repeated) return run.Text(0);
  }
  if (const absl::StatusOr<Row> taken = Find(writing_->find, name); taken.ok()) {
    return TakenError(name);
  } else if (!absl::IsNotFound(taken.status())) {
    return taken.status();
  }
  {
    Statement::Run run(writing_->insert_diagnosis);
    run.Bind(1, name);
    run.Bind(2, parent);
    run.Bind(3, event.created().request_id());
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  GALEN_RETURN_IF_ERROR(InsertEvent(sqlite3_last_insert_rowid(db_), 1, event));
  return name;
}

absl::StatusOr<std::int64_t> SqliteEventLog::Append(const Lease& lease, std::int64_t expected_last,
                                                    absl::Span<const v1::DiagnosisEvent> events) {
  GALEN_RETURN_IF_ERROR(
      group_.Write(kSynchronous, [&] { return AppendNow(lease, expected_last, events); }));
  return expected_last + static_cast<std::int64_t>(events.size());
}

absl::Status SqliteEventLog::AppendNow(const Lease& lease, std::int64_t expected_last,
                                       absl::Span<const v1::DiagnosisEvent> events) {
  GALEN_ASSIGN_OR_RETURN(const Row row, Find(writing_->find, lease.diagnosis));
  if (row.lease_token != lease.token) return LeaseLostError(lease);
  if (row.last_sequence != expected_last) {
    return MovedOnError(lease.diagnosis, row.last_sequence, expected_last);
  }
  std::int64_t sequence = row.last_sequence;
  for (const v1::DiagnosisEvent& event : events) {
    GALEN_RETURN_IF_ERROR(InsertEvent(row.id, ++sequence, event));
  }
  for (const auto& [day, spent] : SpentByDay(events)) {
    Statement::Run run(writing_->account);
    run.Bind(1, ParentOf(lease.diagnosis));
    run.Bind(2, day);
    run.Bind(3, spent.calls());
    run.Bind(4, spent.input_tokens());
    run.Bind(5, spent.output_tokens());
    run.Bind(6, spent.cost_nanos());
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  Statement::Run run(writing_->set_last);
  run.Bind(1, row.id);
  run.Bind(2, sequence);
  return run.Done();
}

absl::StatusOr<v1::Spent> SqliteEventLog::SpentOn(absl::string_view parent, absl::string_view day) {
  MutexLock lock(*read_mu_);
  Statement::Run run(reading_->account_of);
  run.Bind(1, parent);
  run.Bind(2, day);
  GALEN_ASSIGN_OR_RETURN(const bool found, run.Next());
  v1::Spent spent;
  if (!found) return spent;
  spent.set_calls(run.Int(0));
  spent.set_input_tokens(run.Int(1));
  spent.set_output_tokens(run.Int(2));
  spent.set_cost_nanos(run.Int(3));
  return spent;
}

absl::StatusOr<std::vector<v1::DiagnosisEvent>> SqliteEventLog::Read(absl::string_view name,
                                                                     std::int64_t after_sequence,
                                                                     int limit) {
  MutexLock lock(*read_mu_);
  GALEN_ASSIGN_OR_RETURN(const Row row, Find(reading_->find, name));
  std::vector<v1::DiagnosisEvent> events;
  Statement::Run run(reading_->read);
  run.Bind(1, row.id);
  run.Bind(2, after_sequence);
  run.Bind(3, std::int64_t{limit});
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
    if (!more) return events;
    v1::DiagnosisEvent& event = events.emplace_back();
    const std::int64_t expected = after_sequence + static_cast<std::int64_t>(events.size());
    if (run.Int(0) != expected || !event.ParseFromString(run.Text(1)) ||
        event.sequence() != expected) {
      return absl::DataLossError(absl::StrCat(file_, ": event ", expected, " of ", name,
                                              " is missing or cannot be read: restore the file "
                                              "from a backup; nothing was deleted"));
    }
  }
}

absl::StatusOr<EventLog::Page> SqliteEventLog::List(absl::string_view parent, int page_size,
                                                    absl::string_view page_token) {
  std::int64_t before = INT64_MAX;
  if (!page_token.empty() && (!absl::SimpleAtoi(page_token, &before) || before < 1)) {
    return BadPageTokenError(page_token);
  }
  MutexLock lock(*read_mu_);
  Statement::Run run(parent.empty() ? reading_->list_all : reading_->list);
  if (!parent.empty()) run.Bind(1, parent);
  run.Bind(2, before);
  run.Bind(3, std::int64_t{page_size} + 1);  // one more tells whether there is another page
  Page page;
  std::int64_t last = 0;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
    if (!more) return page;
    if (static_cast<int>(page.names.size()) == page_size) {
      page.next_page_token = absl::StrCat(last);
      return page;
    }
    last = run.Int(0);
    page.names.push_back(run.Text(1));
  }
}

absl::StatusOr<std::vector<std::string>> SqliteEventLog::ListOrphans(absl::Time now) {
  MutexLock lock(*read_mu_);
  Statement::Run run(reading_->orphans);
  run.Bind(1, absl::ToUnixMicros(now));
  std::vector<std::string> names;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
    if (!more) return names;
    names.push_back(run.Text(0));
  }
}

absl::Status SqliteEventLog::SetOver(absl::string_view name, bool over) {
  // That it is over would be found out again; that it goes on, nobody would ask.
  return group_.Write(over ? kLater : kSynchronous, [&] {
    Statement::Run run(writing_->set_over);
    run.Bind(1, name);
    run.Bind(2, std::int64_t{over});
    GALEN_RETURN_IF_ERROR(run.Done());
    return sqlite3_changes(db_) == 1 ? absl::OkStatus() : NoSuchLogError(name);
  });
}

absl::StatusOr<Lease> SqliteEventLog::AcquireLease(absl::string_view name, absl::string_view owner,
                                                   absl::Time now, absl::Duration ttl) {
  Lease lease{std::string(name), std::string(owner), 0, now + ttl};
  GALEN_RETURN_IF_ERROR(group_.Write(kLater, [&]() -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(const Row row, Find(writing_->find, name));
    if (row.lease_expires > absl::ToUnixMicros(now) && row.lease_owner != owner) {
      return HeldError(name, row.lease_owner, absl::FromUnixMicros(row.lease_expires));
    }
    // A new token also for the same owner: after a restart its former self may still be writing.
    lease.token = row.lease_token + 1;
    Statement::Run run(writing_->set_lease);
    run.Bind(1, row.id);
    run.Bind(2, lease.owner);
    run.Bind(3, lease.token);
    run.Bind(4, absl::ToUnixMicros(lease.expires));
    return run.Done();
  }));
  return lease;
}

absl::Status SqliteEventLog::ReleaseLease(const Lease& lease) {
  return group_.Write(kLater, [&] {
    Statement::Run run(writing_->release_lease);
    run.Bind(1, lease.diagnosis);
    run.Bind(2, lease.token);
    GALEN_RETURN_IF_ERROR(run.Done());
    return sqlite3_changes(db_) == 1 ? absl::OkStatus() : LeaseLostError(lease);
  });
}

}  // namespace galen::store
