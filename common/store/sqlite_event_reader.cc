#include "common/store/sqlite_event_reader.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/store/names.h"
#include "common/store/sqlite_fresh.h"
#include "common/store/sqlite_statement.h"

namespace galen::store {

struct SqliteEventReader::Statements {
  Statement begin, end, find, find_deleted, read, list, list_all, oldest, oldest_all, orphans,
      account_of;
};

SqliteEventReader::SqliteEventReader(Mutex* mu, std::string file)
    : mu_(mu), file_(std::move(file)), statements_(std::make_unique<Statements>()) {}

SqliteEventReader::~SqliteEventReader() = default;

absl::StatusOr<std::unique_ptr<SqliteEventReader>> SqliteEventReader::Make(
    sqlite3* db, Mutex* mu, const std::string& file) {
  std::unique_ptr<SqliteEventReader> reader(new SqliteEventReader(mu, file));
  Statements& all = *reader->statements_;
  const std::pair<Statement*, const char*> statements[] = {
      {&all.begin, "BEGIN"},
      {&all.end, "COMMIT"},
      {&all.find, "SELECT id, last_sequence FROM diagnoses WHERE name = ?1"},
      {&all.find_deleted, "SELECT time FROM deleted_diagnoses WHERE name = ?1"},
      {&all.read,
       "SELECT sequence, event FROM events WHERE diagnosis = ?1 AND sequence > ?2 "
       "ORDER BY sequence LIMIT ?3"},
      {&all.list,
       "SELECT id, name FROM diagnoses WHERE parent = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"},
      {&all.list_all, "SELECT id, name FROM diagnoses WHERE id < ?2 ORDER BY id DESC LIMIT ?3"},
      {&all.oldest,
       "SELECT id, name FROM diagnoses WHERE parent = ?1 AND id > ?2 ORDER BY id LIMIT ?3"},
      {&all.oldest_all, "SELECT id, name FROM diagnoses WHERE id > ?2 ORDER BY id LIMIT ?3"},
      {&all.orphans,
       "SELECT name FROM diagnoses WHERE over = 0 AND lease_expires <= ?1 ORDER BY id"},
      {&all.account_of,
       "SELECT calls, input_tokens, output_tokens, cost_nanos FROM model_accounts "
       "WHERE parent = ?1 AND day = ?2"},
  };
  for (const auto& [statement, sql] : statements) {
    GALEN_RETURN_IF_ERROR(statement->Prepare(db, file, sql));
  }
  GALEN_RETURN_IF_ERROR(reader->fresh_.Prepare(db, file));
  return reader;
}

absl::StatusOr<std::vector<v1::DiagnosisEvent>> SqliteEventReader::Read(absl::string_view name,
                                                                        std::int64_t after_sequence,
                                                                        int limit) {
  MutexLock lock(*mu_);
  // One state of the file: events that move meanwhile are neither missed nor met twice.
  GALEN_RETURN_IF_ERROR(Statement::Run(statements_->begin).Done());
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> events = ReadNow(name, after_sequence, limit);
  const absl::Status ended = Statement::Run(statements_->end).Done();
  if (events.ok() && !ended.ok()) return ended;
  return events;
}

absl::StatusOr<std::vector<v1::DiagnosisEvent>> SqliteEventReader::ReadNow(
    absl::string_view name, std::int64_t after_sequence, int limit) {
  std::int64_t id = 0;
  std::int64_t last_in_place = 0;
  {
    Statement::Run run(statements_->find);
    run.Bind(1, name);
    GALEN_ASSIGN_OR_RETURN(const bool found, run.Next());
    if (!found) return MissingError(name);
    id = run.Int(0);
    last_in_place = run.Int(1);
  }
  GALEN_RETURN_IF_ERROR(fresh_.Refresh());
  std::vector<v1::DiagnosisEvent> events;
  const auto take = [&](absl::string_view bytes) -> absl::Status {
    const std::int64_t expected = after_sequence + static_cast<std::int64_t>(events.size()) + 1;
    v1::DiagnosisEvent& event = events.emplace_back();
    if (event.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
        event.sequence() == expected) {
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat(file_, ": event ", expected, " of ", name,
                                            " is missing or cannot be read: restore the file from "
                                            "a backup; nothing was deleted"));
  };
  const auto room = [&] { return limit - static_cast<int>(events.size()); };
  if (after_sequence < last_in_place) {
    Statement::Run run(statements_->read);
    run.Bind(1, id);
    run.Bind(2, after_sequence);
    run.Bind(3, std::int64_t{limit});
    for (;;) {
      GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
      if (!more) break;
      GALEN_RETURN_IF_ERROR(take(run.Text(1)));
    }
    // Only the last page may have fewer events than announced.
    const std::int64_t due = std::min<std::int64_t>(last_in_place - after_sequence, limit);
    if (static_cast<std::int64_t>(events.size()) < due) return take("");
  }
  const absl::Span<const std::string> fresh = fresh_.Of(id);
  const std::int64_t read_up_to = after_sequence + static_cast<std::int64_t>(events.size());
  if (read_up_to < last_in_place) return events;
  for (auto i = static_cast<std::size_t>(read_up_to - last_in_place); i < fresh.size(); ++i) {
    if (room() <= 0) break;
    GALEN_RETURN_IF_ERROR(take(fresh[i]));
  }
  return events;
}

absl::Status SqliteEventReader::MissingError(absl::string_view name) {
  Statement::Run run(statements_->find_deleted);
  run.Bind(1, name);
  GALEN_ASSIGN_OR_RETURN(const bool deleted, run.Next());
  return deleted ? DeletedError(name, absl::FromUnixMicros(run.Int(0))) : NoSuchLogError(name);
}

absl::StatusOr<EventLog::Page> SqliteEventReader::List(absl::string_view parent, int page_size,
                                                       absl::string_view page_token) {
  std::int64_t before = INT64_MAX;
  MutexLock lock(*mu_);
  if (!page_token.empty()) {
    // The last name of the page before: its number would reveal how many diagnoses others have.
    if (!parent.empty() && ParentOf(page_token) != parent) return BadPageTokenError(page_token);
    Statement::Run find(statements_->find);
    find.Bind(1, page_token);
    GALEN_ASSIGN_OR_RETURN(const bool found, find.Next());
    if (!found) return BadPageTokenError(page_token);
    before = find.Int(0);
  }
  Statement::Run run(parent.empty() ? statements_->list_all : statements_->list);
  if (!parent.empty()) run.Bind(1, parent);
  run.Bind(2, before);
  run.Bind(3, std::int64_t{page_size} + 1);  // one more shows whether there is another page
  EventLog::Page page;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
    if (!more) return page;
    if (static_cast<int>(page.names.size()) == page_size) {
      page.next_page_token = page.names.back();
      return page;
    }
    page.names.push_back(run.Text(1));
  }
}

absl::StatusOr<EventLog::Oldest> SqliteEventReader::ListOldest(absl::string_view parent,
                                                               std::int64_t position, int limit) {
  MutexLock lock(*mu_);
  Statement::Run run(parent.empty() ? statements_->oldest_all : statements_->oldest);
  if (!parent.empty()) run.Bind(1, parent);
  run.Bind(2, position);
  run.Bind(3, std::int64_t{limit} + 1);  // one more shows whether there are more
  EventLog::Oldest oldest;
  oldest.position = position;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool found, run.Next());
    if (!found) return oldest;
    if (static_cast<int>(oldest.names.size()) == limit) {
      oldest.more = true;
      return oldest;
    }
    oldest.position = run.Int(0);
    oldest.names.push_back(run.Text(1));
  }
}

absl::StatusOr<std::vector<std::string>> SqliteEventReader::ListOrphans(absl::Time now) {
  MutexLock lock(*mu_);
  Statement::Run run(statements_->orphans);
  run.Bind(1, absl::ToUnixMicros(now));
  std::vector<std::string> names;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
    if (!more) return names;
    names.push_back(run.Text(0));
  }
}

absl::StatusOr<v1::Spent> SqliteEventReader::SpentOn(absl::string_view parent,
                                                     absl::string_view day) {
  MutexLock lock(*mu_);
  Statement::Run run(statements_->account_of);
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

}  // namespace galen::store
