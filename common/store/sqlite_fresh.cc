#include "common/store/sqlite_fresh.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::store {
namespace {

using ::google::protobuf::io::CodedInputStream;
using ::google::protobuf::io::CodedOutputStream;

// Fresh events beyond this move. Some thousand at a time share the pages that they move to; moving
// them takes about ten milliseconds, for which appends wait.
constexpr std::size_t kMoveAt = std::size_t{1} << 20;
// Limit of diagnoses whose last event is cached; for others it is read from the file again.
constexpr std::size_t kMostRemembered = 100'000;

constexpr char kMoved[] = "SELECT last FROM fresh_moved";
constexpr char kRead[] = "SELECT id, records FROM fresh WHERE id > ?1 ORDER BY id";

absl::Status DamagedError(absl::string_view file, std::int64_t id) {
  return absl::DataLossError(absl::StrCat(file, ": row ", id,
                                          " of events that came last cannot be read: restore the "
                                          "file from a backup; nothing was deleted"));
}

}  // namespace

void EncodeRecord(const FreshRecord& record, std::string& to) {
  std::uint8_t head[30];
  std::uint8_t* end = head;
  end = CodedOutputStream::WriteVarint64ToArray(static_cast<std::uint64_t>(record.diagnosis), end);
  end = CodedOutputStream::WriteVarint64ToArray(static_cast<std::uint64_t>(record.sequence), end);
  end = CodedOutputStream::WriteVarint64ToArray(record.event.size(), end);
  to.append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(end - head));
  to.append(record.event.data(), record.event.size());
}

absl::Status DecodeRecords(absl::string_view records,
                           absl::FunctionRef<void(const FreshRecord&)> each) {
  const auto damaged = [] { return absl::DataLossError("no row of events"); };
  while (!records.empty()) {
    // The three numbers take 30 bytes at most, so what is given to the stream fits its int.
    CodedInputStream head(reinterpret_cast<const std::uint8_t*>(records.data()),
                          static_cast<int>(std::min<std::size_t>(records.size(), 30)));
    std::uint64_t diagnosis = 0;
    std::uint64_t sequence = 0;
    std::uint64_t size = 0;
    if (!head.ReadVarint64(&diagnosis) || !head.ReadVarint64(&sequence) ||
        !head.ReadVarint64(&size)) {
      return damaged();
    }
    records.remove_prefix(static_cast<std::size_t>(head.CurrentPosition()));
    if (size > records.size()) return damaged();
    each({static_cast<std::int64_t>(diagnosis), static_cast<std::int64_t>(sequence),
          records.substr(0, size)});
    records.remove_prefix(size);
  }
  return absl::OkStatus();
}

absl::Status FreshWriter::Prepare(sqlite3* db, const std::string& file) {
  file_ = file;
  const std::pair<Statement*, const char*> all[] = {
      // Changes when another connection has written, never by this connection's own writes.
      {&version_, "PRAGMA data_version"},
      {&moved_, kMoved},
      {&read_, kRead},
      {&insert_, "INSERT INTO fresh (id, records) VALUES (?1, ?2)"},
      {&insert_event_, "INSERT INTO events (diagnosis, sequence, event) VALUES (?1, ?2, ?3)"},
      {&set_last_, "UPDATE diagnoses SET last_sequence = ?2 WHERE id = ?1"},
      {&clear_, "DELETE FROM fresh"},
      {&set_moved_, "UPDATE fresh_moved SET last = ?1"},
  };
  for (const auto& [statement, sql] : all) {
    GALEN_RETURN_IF_ERROR(statement->Prepare(db, file, sql));
  }
  return absl::OkStatus();
}

absl::Status FreshWriter::Begin(bool& changed) {
  std::int64_t version = 0;
  {
    Statement::Run run(version_);
    GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
    if (row) version = run.Int(0);
  }
  changed = version != seen_version_;
  if (!changed) return absl::OkStatus();
  {
    Statement::Run run(moved_);
    GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
    if (row) seen_ = std::max(seen_, run.Int(0));
  }
  Statement::Run run(read_);
  run.Bind(1, seen_);
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
    if (!more) break;
    const std::string records = run.Text(1);
    const absl::Status decoded = DecodeRecords(
        records, [&](const FreshRecord& record) { last_[record.diagnosis] = record.sequence; });
    if (!decoded.ok()) return DamagedError(file_, run.Int(0));
    seen_ = run.Int(0);
    bytes_ += records.size();
  }
  seen_version_ = version;
  return absl::OkStatus();
}

std::int64_t FreshWriter::Last(std::int64_t diagnosis, std::int64_t in_events) const {
  for (const auto* lasts : {&added_last_, &last_}) {
    if (const auto it = lasts->find(diagnosis); it != lasts->end()) {
      return std::max(it->second, in_events);
    }
  }
  return in_events;
}

void FreshWriter::Add(const FreshRecord& record) {
  EncodeRecord(record, added_);
  added_last_[record.diagnosis] = record.sequence;
}

absl::Status FreshWriter::Flush() {
  if (added_.empty()) return absl::OkStatus();
  {
    Statement::Run run(insert_);
    run.Bind(1, seen_ + 1);
    run.BindBlob(2, added_);
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  return bytes_ + added_.size() < kMoveAt ? absl::OkStatus() : MoveAll();
}

absl::Status FreshWriter::MoveAll() {
  std::vector<std::string> rows;
  std::vector<FreshRecord> records;
  std::int64_t last_row = 0;
  {
    Statement::Run run(read_);
    run.Bind(1, std::int64_t{0});
    for (;;) {
      GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
      if (!more) break;
      last_row = run.Int(0);
      rows.push_back(run.Text(1));
    }
  }
  if (rows.empty()) return absl::OkStatus();
  for (const std::string& row : rows) {
    if (!DecodeRecords(row, [&](const FreshRecord& each) { records.push_back(each); }).ok()) {
      return DamagedError(file_, last_row);
    }
  }
  std::sort(records.begin(), records.end(), [](const FreshRecord& a, const FreshRecord& b) {
    return std::tie(a.diagnosis, a.sequence) < std::tie(b.diagnosis, b.sequence);
  });
  for (std::size_t i = 0; i < records.size(); ++i) {
    const FreshRecord& record = records[i];
    {
      Statement::Run run(insert_event_);
      run.Bind(1, record.diagnosis);
      run.Bind(2, record.sequence);
      run.BindBlob(3, record.event);
      GALEN_RETURN_IF_ERROR(run.Done());
    }
    if (i + 1 < records.size() && records[i + 1].diagnosis == record.diagnosis) continue;
    Statement::Run run(set_last_);
    run.Bind(1, record.diagnosis);
    run.Bind(2, record.sequence);
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  {
    Statement::Run run(clear_);
    GALEN_RETURN_IF_ERROR(run.Done());
  }
  Statement::Run run(set_moved_);
  run.Bind(1, last_row);
  GALEN_RETURN_IF_ERROR(run.Done());
  moved_all_ = true;
  return absl::OkStatus();
}

void FreshWriter::Committed() {
  if (!added_.empty()) ++seen_;
  bytes_ = moved_all_ ? 0 : bytes_ + added_.size();
  // diagnoses.last_sequence has the last events of the moved rows too, so the cache can be cleared
  // here and filled again.
  if (last_.size() > kMostRemembered && moved_all_) {
    last_.clear();
    seen_version_ = -1;
  }
  for (const auto& [diagnosis, last] : added_last_) last_[diagnosis] = last;
  RolledBack();
}

void FreshWriter::RolledBack() {
  added_.clear();
  added_last_.clear();
  moved_all_ = false;
}

absl::Status FreshReader::Prepare(sqlite3* db, const std::string& file) {
  file_ = file;
  GALEN_RETURN_IF_ERROR(moved_.Prepare(db, file, kMoved));
  return read_.Prepare(db, file, kRead);
}

absl::Status FreshReader::Refresh() {
  {
    Statement::Run run(moved_);
    GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
    const std::int64_t moved = row ? run.Int(0) : 0;
    if (moved != seen_moved_) {
      // All that was fresh then moved together.
      by_diagnosis_.clear();
      seen_moved_ = moved;
      seen_ = moved;
    }
  }
  Statement::Run run(read_);
  run.Bind(1, seen_);
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool more, run.Next());
    if (!more) return absl::OkStatus();
    const absl::Status decoded = DecodeRecords(run.Text(1), [&](const FreshRecord& record) {
      by_diagnosis_[record.diagnosis].emplace_back(record.event);
    });
    if (!decoded.ok()) {
      // A half of the row may have been taken in.
      by_diagnosis_.clear();
      seen_moved_ = -1;
      return DamagedError(file_, run.Int(0));
    }
    seen_ = run.Int(0);
  }
}

absl::Span<const std::string> FreshReader::Of(std::int64_t diagnosis) const {
  const auto it = by_diagnosis_.find(diagnosis);
  if (it == by_diagnosis_.end()) return {};
  return it->second;
}

}  // namespace galen::store
