#include "common/store/sqlite_event_log.h"

#include <string>
#include <utility>

#include "common/base/status_macros.h"

namespace galen::store {

absl::StatusOr<std::unique_ptr<SqliteEventLog>> SqliteEventLog::Open(const std::string& file) {
  std::unique_ptr<SqliteEventLog> log(new SqliteEventLog());
  GALEN_ASSIGN_OR_RETURN(log->db_, OpenEventFile(file));
  GALEN_ASSIGN_OR_RETURN(log->writer_,
                         SqliteEventWriter::Make(log->db_.get(), &log->writing_mu_, file));
  if (file == ":memory:") {
    GALEN_ASSIGN_OR_RETURN(log->reader_,
                           SqliteEventReader::Make(log->db_.get(), &log->writing_mu_, file));
    return log;
  }
  GALEN_ASSIGN_OR_RETURN(log->read_db_, ConnectToSqlite(file));
  GALEN_ASSIGN_OR_RETURN(log->reader_,
                         SqliteEventReader::Make(log->read_db_.get(), &log->reading_mu_, file));
  return log;
}

absl::StatusOr<std::string> SqliteEventLog::Create(const v1::DiagnosisEvent& event) {
  return writer_->Create(event);
}

absl::StatusOr<std::int64_t> SqliteEventLog::Append(const Lease& lease, std::int64_t expected_last,
                                                    absl::Span<const v1::DiagnosisEvent> events) {
  return writer_->Append(lease, expected_last, events);
}

std::optional<absl::StatusOr<std::int64_t>> SqliteEventLog::AppendLater(
    const Lease& lease, std::int64_t expected_last, absl::Span<const v1::DiagnosisEvent> events,
    OnAppended done) {
  if (read_db_ == nullptr) return Append(lease, expected_last, events);  // there is no disk
  writer_->AppendLater(lease, expected_last, events, std::move(done));
  return std::nullopt;
}

absl::StatusOr<std::vector<v1::DiagnosisEvent>> SqliteEventLog::Read(absl::string_view name,
                                                                     std::int64_t after_sequence,
                                                                     int limit) {
  return reader_->Read(name, after_sequence, limit);
}

absl::StatusOr<EventLog::Page> SqliteEventLog::List(absl::string_view parent, int page_size,
                                                    absl::string_view page_token) {
  return reader_->List(parent, page_size, page_token);
}

absl::StatusOr<std::vector<std::string>> SqliteEventLog::ListOrphans(absl::Time now) {
  return reader_->ListOrphans(now);
}

absl::Status SqliteEventLog::SetOver(absl::string_view name, std::int64_t last_sequence) {
  return writer_->SetOver(name, last_sequence);
}

absl::StatusOr<Lease> SqliteEventLog::AcquireLease(absl::string_view name, absl::string_view owner,
                                                   absl::Time now, absl::Duration ttl) {
  return writer_->AcquireLease(name, owner, now, ttl);
}

absl::Status SqliteEventLog::ReleaseLease(const Lease& lease) {
  return writer_->ReleaseLease(lease);
}

absl::StatusOr<v1::Spent> SqliteEventLog::SpentOn(absl::string_view parent, absl::string_view day) {
  return reader_->SpentOn(parent, day);
}

absl::StatusOr<EventLog::Oldest> SqliteEventLog::ListOldest(absl::string_view parent,
                                                            std::int64_t position, int limit) {
  return reader_->ListOldest(parent, position, limit);
}

absl::Status SqliteEventLog::Delete(const Lease& lease, std::int64_t expected_last,
                                    absl::Time now) {
  return writer_->Delete(lease, expected_last, now);
}

// A deletion is one transaction, so nothing is left to finish.
absl::Status SqliteEventLog::FinishDeletion(absl::string_view /*name*/) { return absl::OkStatus(); }

}  // namespace galen::store
