#include "common/store/sqlite_event_writer.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/store/accounts.h"
#include "common/store/names.h"
#include "common/store/sqlite_statement.h"

namespace galen::store {
namespace {

// Leases alone are not written synchronously: the next event synchronises the write-ahead log up to
// itself, so a lease that a power cut takes back never wrote a kept event.
constexpr auto kSynchronous = GroupCommit::Durability::kSynchronous;
constexpr auto kLater = GroupCommit::Durability::kLater;

// Diagnoses whose row is remembered.
constexpr std::size_t kMostRows = 10'000;

}  // namespace

struct SqliteEventWriter::Statements {
  Statement find, find_request, find_deleted, insert_diagnosis, set_over, set_lease, release_lease,
      account, delete_events, delete_diagnosis, delete_accounts, set_deleted, forget_deleted;
};

SqliteEventWriter::SqliteEventWriter(sqlite3* db)
    : db_(db), statements_(std::make_unique<Statements>()) {}

SqliteEventWriter::~SqliteEventWriter() {
  // A file at rest has every event in its place; one that is not left so has lost nothing.
  if (is_open_) group_.Write(kLater, [this] { return fresh_.MoveAll(); }).IgnoreError();
}

absl::StatusOr<std::unique_ptr<SqliteEventWriter>> SqliteEventWriter::Make(
    sqlite3* db, Mutex* mu, const std::string& file) {
  std::unique_ptr<SqliteEventWriter> writer(new SqliteEventWriter(db));
  Statements& all = *writer->statements_;
  const std::pair<Statement*, const char*> statements[] = {
      {&all.find,
       "SELECT id, last_sequence, lease_owner, lease_token, lease_expires, over FROM diagnoses "
       "WHERE name = ?1"},
      {&all.find_request,
       "SELECT name FROM diagnoses WHERE parent = ?1 AND request_id = ?2 AND request_id <> ''"},
      {&all.find_deleted, "SELECT time FROM deleted_diagnoses WHERE name = ?1"},
      {&all.delete_events, "DELETE FROM events WHERE diagnosis = ?1"},
      {&all.delete_diagnosis, "DELETE FROM diagnoses WHERE id = ?1"},
      {&all.delete_accounts, "DELETE FROM model_accounts WHERE parent = ?1 AND day < ?2"},
      {&all.set_deleted, "INSERT OR REPLACE INTO deleted_diagnoses VALUES (?1, ?2)"},
      {&all.forget_deleted, "DELETE FROM deleted_diagnoses WHERE time < ?1"},
      {&all.insert_diagnosis,
       "INSERT INTO diagnoses (name, parent, request_id, last_sequence) VALUES (?1, ?2, ?3, 0)"},
      {&all.set_over, "UPDATE diagnoses SET over = ?2 WHERE id = ?1"},
      {&all.set_lease,
       "UPDATE diagnoses SET lease_owner = ?2, lease_token = ?3, lease_expires = ?4 "
       "WHERE id = ?1"},
      {&all.release_lease,
       "UPDATE diagnoses SET lease_owner = '', lease_expires = 0 "
       "WHERE name = ?1 AND lease_token = ?2"},
      {&all.account,
       "INSERT INTO model_accounts VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET "
       "calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens, "
       "output_tokens = output_tokens + excluded.output_tokens, "
       "cost_nanos = cost_nanos + excluded.cost_nanos"},
  };
  for (const auto& [statement, sql] : statements) {
    GALEN_RETURN_IF_ERROR(statement->Prepare(db, file, sql));
  }
  GALEN_RETURN_IF_ERROR(writer->fresh_.Prepare(db, file));
  GroupCommit::Frame frame;
  frame.begun = [self = writer.get()]() -> absl::Status {
    bool changed = false;
    GALEN_RETURN_IF_ERROR(self->fresh_.Begin(changed));
    if (changed || self->rows_.size() > kMostRows) self->rows_.clear();
    return absl::OkStatus();
  };
  frame.before_commit = [self = writer.get()] { return self->fresh_.Flush(); };
  frame.ended = [self = writer.get()](bool kept) {
    if (kept) {
      self->fresh_.Committed();
    } else {
      self->fresh_.RolledBack();
      self->rows_.clear();
    }
  };
  GALEN_RETURN_IF_ERROR(writer->group_.Open(db, mu, file, std::move(frame)));
  writer->is_open_ = true;
  return writer;
}

absl::StatusOr<SqliteEventWriter::Row*> SqliteEventWriter::Find(absl::string_view name) {
  if (const auto known = rows_.find(name); known != rows_.end()) return &known->second;
  Statement::Run run(statements_->find);
  run.Bind(1, name);
  GALEN_ASSIGN_OR_RETURN(const bool found, run.Next());
  if (!found) {
    GALEN_ASSIGN_OR_RETURN(const std::optional<absl::Time> deleted, DeletionTime(name));
    return deleted ? DeletedError(name, *deleted) : NoSuchLogError(name);
  }
  Row& row = rows_[name];
  row = {run.Int(0), run.Int(1), run.Text(2), run.Int(3), run.Int(4), run.Int(5) != 0};
  return &row;
}

absl::StatusOr<std::optional<absl::Time>> SqliteEventWriter::DeletionTime(absl::string_view name) {
  Statement::Run run(statements_->find_deleted);
  run.Bind(1, name);
  GALEN_ASSIGN_OR_RETURN(const bool found, run.Next());
  if (!found) return std::nullopt;
  return absl::FromUnixMicros(run.Int(0));
}

void SqliteEventWriter::Add(std::int64_t diagnosis, std::int64_t sequence,
                            const v1::DiagnosisEvent& event) {
  if (event.sequence() == sequence) {
    fresh_.Add({diagnosis, sequence, event.SerializeAsString()});
    return;
  }
  v1::DiagnosisEvent stored = event;
  stored.set_sequence(sequence);
  fresh_.Add({diagnosis, sequence, stored.SerializeAsString()});
}

absl::StatusOr<std::string> SqliteEventWriter::Create(const v1::DiagnosisEvent& event) {
  absl::StatusOr<std::string> name = absl::UnknownError("was not run");
  GALEN_RETURN_IF_ERROR(group_.Write(kSynchronous, [&] {
    name = CreateNow(event);
    return name.status();
  }));
  return name;
}

absl::StatusOr<std::string> SqliteEventWriter::CreateNow(const v1::DiagnosisEvent& event) {
  const std::string& name = event.created().name();
  const std::string parent(ParentOf(name));
  if (parent.empty()) {
    return BadNameError(name);
  }
  {
    Statement::Run run(statements_->find_request);
    run.Bind(1, parent);
    run.Bind(2, event.created().request_id());
    GALEN_ASSIGN_OR_RETURN(const bool repeated, run.Next());
    if (repeated) return run.Text(0);
  }
  if (const absl::StatusOr<Row*> taken = Find(name); taken.ok()) {
    return TakenError(name);
  } else if (!absl::IsNotFound(taken.status())) {
    return taken.status();
  }
  GALEN_ASSIGN_OR_RETURN(const std::optional<absl::Time> deleted, DeletionTime(name));
  if (deleted) return TakenByDeletedError(name, *deleted);
  {
    Statement::Run run(statements_->insert_diagnosis);
    run.Bind(1, name);
    run.Bind(2, parent);
    run.Bind(3, event.created().request_id());
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  const std::int64_t id = sqlite3_last_insert_rowid(db_);
  rows_[name] = {id, 0, "", 0, 0, false};
  Add(id, 1, event);
  return name;
}

absl::StatusOr<std::int64_t> SqliteEventWriter::Append(
    const Lease& lease, std::int64_t expected_last, absl::Span<const v1::DiagnosisEvent> events) {
  GALEN_RETURN_IF_ERROR(
      group_.Write(kSynchronous, [&] { return AppendNow(lease, expected_last, events); }));
  return expected_last + static_cast<std::int64_t>(events.size());
}

void SqliteEventWriter::AppendLater(const Lease& lease, std::int64_t expected_last,
                                    absl::Span<const v1::DiagnosisEvent> events,
                                    EventLog::OnAppended done) {
  group_.WriteLater(
      kSynchronous,
      [this, lease, expected_last, events] { return AppendNow(lease, expected_last, events); },
      [last = expected_last + static_cast<std::int64_t>(events.size()),
       done = std::move(done)](absl::Status status) mutable {
        std::move(done)(status.ok() ? absl::StatusOr<std::int64_t>(last) : std::move(status));
      });
}

absl::Status SqliteEventWriter::AppendNow(const Lease& lease, std::int64_t expected_last,
                                          absl::Span<const v1::DiagnosisEvent> events) {
  GALEN_ASSIGN_OR_RETURN(Row* const row, Find(lease.diagnosis));
  if (row->lease_token != lease.token) return LeaseLostError(lease);
  std::int64_t sequence = fresh_.Last(row->id, row->last_sequence);
  if (sequence != expected_last) return MovedOnError(lease.diagnosis, sequence, expected_last);
  for (const auto& [day, spent] : SpentByDay(events)) {
    Statement::Run run(statements_->account);
    run.Bind(1, ParentOf(lease.diagnosis));
    run.Bind(2, day);
    run.Bind(3, spent.calls());
    run.Bind(4, spent.input_tokens());
    run.Bind(5, spent.output_tokens());
    run.Bind(6, spent.cost_nanos());
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  if (row->over) GALEN_RETURN_IF_ERROR(MarkOver(*row, false));
  // Last, as added events cannot be removed separately.
  for (const v1::DiagnosisEvent& event : events) Add(row->id, ++sequence, event);
  return absl::OkStatus();
}

absl::Status SqliteEventWriter::MarkOver(Row& row, bool over) {
  Statement::Run run(statements_->set_over);
  run.Bind(1, row.id);
  run.Bind(2, std::int64_t{over});
  GALEN_RETURN_IF_ERROR(run.Done());
  row.over = over;
  return absl::OkStatus();
}

absl::Status SqliteEventWriter::SetOver(absl::string_view name, std::int64_t last_sequence) {
  // Were it lost, it would be found out again.
  return group_.Write(kLater, [&]() -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(Row* const row, Find(name));
    if (fresh_.Last(row->id, row->last_sequence) != last_sequence) return absl::OkStatus();
    return MarkOver(*row, true);
  });
}

absl::StatusOr<Lease> SqliteEventWriter::AcquireLease(absl::string_view name,
                                                      absl::string_view owner, absl::Time now,
                                                      absl::Duration ttl) {
  Lease lease{std::string(name), std::string(owner), 0, now + ttl};
  const auto acquire = [&]() -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(Row* const row, Find(name));
    if (row->lease_expires > absl::ToUnixMicros(now) && row->lease_owner != owner) {
      return HeldError(name, row->lease_owner, absl::FromUnixMicros(row->lease_expires));
    }
    // A new token also for the same owner: after a restart its former self may still be writing.
    lease.token = row->lease_token + 1;
    Statement::Run run(statements_->set_lease);
    run.Bind(1, row->id);
    run.Bind(2, lease.owner);
    run.Bind(3, lease.token);
    run.Bind(4, absl::ToUnixMicros(lease.expires));
    GALEN_RETURN_IF_ERROR(run.Done());
    row->lease_owner = lease.owner;
    row->lease_token = lease.token;
    row->lease_expires = absl::ToUnixMicros(lease.expires);
    return absl::OkStatus();
  };
  GALEN_RETURN_IF_ERROR(group_.Write(kLater, acquire));
  return lease;
}

absl::Status SqliteEventWriter::ReleaseLease(const Lease& lease) {
  return group_.Write(kLater, [&] {
    rows_.erase(lease.diagnosis);
    Statement::Run run(statements_->release_lease);
    run.Bind(1, lease.diagnosis);
    run.Bind(2, lease.token);
    GALEN_RETURN_IF_ERROR(run.Done());
    return sqlite3_changes(db_) == 1 ? absl::OkStatus() : LeaseLostError(lease);
  });
}

absl::Status SqliteEventWriter::Delete(const Lease& lease, std::int64_t expected_last,
                                       absl::Time now) {
  return group_.Write(kSynchronous, [&] { return DeleteNow(lease, expected_last, now); });
}

absl::Status SqliteEventWriter::DeleteNow(const Lease& lease, std::int64_t expected_last,
                                          absl::Time now) {
  const std::string& name = lease.diagnosis;
  {
    GALEN_ASSIGN_OR_RETURN(const Row* const row, Find(name));
    if (row->lease_token != lease.token) return LeaseLostError(lease);
    const std::int64_t last = fresh_.Last(row->id, row->last_sequence);
    // (Added in this transaction: they would come back when it ends.)
    if (last != expected_last || fresh_.IsAdded(row->id)) {
      return MovedOnError(name, last, expected_last);
    }
  }
  // Recent events of all diagnoses share rows: first each into its own place.
  GALEN_RETURN_IF_ERROR(fresh_.MoveAll());
  const std::int64_t id = rows_.find(name)->second.id;
  rows_.erase(name);
  for (Statement* const statement : {&statements_->delete_events, &statements_->delete_diagnosis}) {
    Statement::Run run(*statement);
    run.Bind(1, id);
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  {
    Statement::Run run(statements_->delete_accounts);
    run.Bind(1, ParentOf(name));
    const std::string first_kept = FirstKeptDay(now);
    run.Bind(2, first_kept);
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  {
    Statement::Run run(statements_->forget_deleted);
    run.Bind(1, absl::ToUnixMicros(now - kRememberDeleted));
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  Statement::Run run(statements_->set_deleted);
  run.Bind(1, name);
  run.Bind(2, absl::ToUnixMicros(now));
  return run.Done();
}

}  // namespace galen::store
