#include "common/incident_history/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

namespace fs = std::filesystem;
using store::Statement;

constexpr int kApplicationId = 0x47414c48;  // "GALH" in the file's header: what the file is
constexpr int kSchemaVersion = 1;
// Documents whose vectors are made at a time.
constexpr int kBatch = 64;

// A document's number is the same in `documents`, `words` and `vectors`. The tokens in `words` are
// made by tokens.h, joined by spaces: the tokenizer has nothing to decide. `features` counts the
// documents with a feature (tokens.h). A vector is found by its embedder; an embedder of '' means
// that it could not be made.
constexpr char kSchema[] = R"sql(
  CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    text TEXT NOT NULL,
    payload BLOB NOT NULL);
  CREATE VIRTUAL TABLE words USING fts5 (tokens, content = '', tokenize = "ascii tokenchars '_.'");
  CREATE TABLE features (feature INTEGER PRIMARY KEY, documents INTEGER NOT NULL);
  CREATE TABLE vectors (
    number INTEGER PRIMARY KEY,
    embedder TEXT NOT NULL,
    label TEXT NOT NULL,
    components BLOB NOT NULL);  -- a signed byte each
  CREATE INDEX vectors_by_embedder ON vectors (embedder);
)sql";

std::string BytesOf(const Vector& vector) { return {vector.values.begin(), vector.values.end()}; }

absl::Status CheckLengths(const Document& document) {
  if (!document.id.empty() && document.id.size() <= kMaxIdBytes &&
      document.label.size() <= kMaxIdBytes && document.text.size() <= kMaxDocumentBytes &&
      document.payload.size() <= kMaxDocumentBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("past incident \"", absl::string_view(document.id).substr(0, 80),
                   "\": its id is empty, or id or label are longer than ", kMaxIdBytes,
                   " bytes, or text or payload than ", kMaxDocumentBytes, "; shorten it"));
}

// An index of Galen 0.1, which had its own format.
bool HoldsFormerFormat(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (absl::StartsWith(name, "segment-") || absl::StartsWith(name, "log-")) return true;
  }
  return false;
}

}  // namespace

struct Store::Statements {
  Statement has_id;
  Statement add_document;
  Statement add_words;
  Statement add_feature;
  Statement add_vector;
  Statement frequency;
  Statement words;
  Statement words_without;
  Statement vectors;
  Statement document;
  Statement missing;
  Statement set_vector;
};

Store::Store(std::string file, const Embedder& embedder)
    : file_(std::move(file)), embedder_(embedder), rows_(embedder.dimensions()) {}

Store::~Store() = default;

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& directory,
                                                   const Embedder& embedder) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::InternalError(absl::StrCat(directory, ": ", error.message()));
  const std::string file = absl::StrCat(directory, "/history.db");
  if (!fs::exists(file, error) && HoldsFormerFormat(directory)) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory,
        ": its past incidents are in the format of Galen 0.1, which this version does not read; "
        "move the directory away and add the tickets again with `galen kb history add`"));
  }
  // Tickets are for this user alone; SQLite gives its other files the mode of this one.
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  std::unique_ptr<Store> store(new Store(file, embedder));
  GALEN_RETURN_IF_ERROR(store->Connect());
  return store;
}

absl::Status Store::Execute(const std::string& sql) const {
  const int code = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : store::SqliteError(db_.get(), code, file_);
}

absl::StatusOr<std::int64_t> Store::Ask(absl::string_view sql) const {
  Statement statement;
  GALEN_RETURN_IF_ERROR(statement.Prepare(db_.get(), file_, sql));
  Statement::Run run(statement);
  GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
  return row ? run.Int(0) : 0;
}

absl::Status Store::Connect() {
  const MutexLock lock(mu_);
  GALEN_ASSIGN_OR_RETURN(db_, store::ConnectToSqlite(file_));
  sqlite3_busy_timeout(db_.get(), 0);
  // The lock of the first access stays until the file is closed: one process at a time.
  GALEN_RETURN_IF_ERROR(Execute("PRAGMA locking_mode = EXCLUSIVE"));
  const int code = sqlite3_exec(db_.get(), "PRAGMA journal_mode = WAL; BEGIN EXCLUSIVE", nullptr,
                                nullptr, nullptr);
  if ((code & 0xff) == SQLITE_BUSY) {
    return absl::AlreadyExistsError(
        absl::StrCat(file_, ": another process has the past incidents open; stop it or ask it"));
  }
  if (code != SQLITE_OK) return store::SqliteError(db_.get(), code, file_);
  GALEN_RETURN_IF_ERROR(MakeTables());
  GALEN_RETURN_IF_ERROR(Execute("COMMIT"));
  GALEN_RETURN_IF_ERROR(Execute("PRAGMA synchronous = FULL"));
  // Pages that are reused at once need not be overwritten with zeros first, which is Debian's
  // default.
  GALEN_RETURN_IF_ERROR(Execute("PRAGMA secure_delete = OFF"));
  GALEN_RETURN_IF_ERROR(Execute("PRAGMA cache_size = -65536"));
  return Prepare();
}

absl::Status Store::MakeTables() {
  GALEN_ASSIGN_OR_RETURN(const std::int64_t tables, Ask("SELECT count(*) FROM sqlite_schema"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t application, Ask("PRAGMA application_id"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t version, Ask("PRAGMA user_version"));
  if (tables == 0 && application == 0) {
    GALEN_RETURN_IF_ERROR(Execute(kSchema));
    GALEN_RETURN_IF_ERROR(Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId)));
    GALEN_RETURN_IF_ERROR(Execute(absl::StrCat("PRAGMA user_version = ", kSchemaVersion)));
  } else if (application != kApplicationId) {
    return absl::DataLossError(absl::StrCat(
        file_, ": an SQLite file of another program: name another directory; nothing was changed"));
  } else if (version != kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(file_, ": written in format ", version, ", this galen reads format ",
                     kSchemaVersion, ": run the galen that wrote it; nothing was changed"));
  }
  GALEN_ASSIGN_OR_RETURN(count_, Ask("SELECT max(number) FROM documents"));
  return absl::OkStatus();
}

absl::Status Store::Prepare() {
  statements_ = std::make_unique<Statements>();
  Statements& s = *statements_;
  const std::pair<Statement*, absl::string_view> all[] = {
      {&s.has_id, "SELECT 1 FROM documents WHERE id = ?1"},
      {&s.add_document, "INSERT INTO documents VALUES (?1, ?2, ?3, ?4, ?5)"},
      {&s.add_words, "INSERT INTO words (rowid, tokens) VALUES (?1, ?2)"},
      {&s.add_feature,
       "INSERT INTO features VALUES (?1, ?2) "
       "ON CONFLICT (feature) DO UPDATE SET documents = documents + excluded.documents"},
      {&s.add_vector, "INSERT INTO vectors VALUES (?1, ?2, ?3, ?4)"},
      {&s.frequency, "SELECT documents FROM features WHERE feature = ?1"},
      {&s.words,
       "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY bm25(words), rowid LIMIT ?2"},
      {&s.words_without,
       "SELECT words.rowid FROM words CROSS JOIN documents ON number = words.rowid "
       "WHERE words MATCH ?1 AND label <> ?3 ORDER BY bm25(words), words.rowid LIMIT ?2"},
      // In the order of the table: the index would look each of them up.
      {&s.vectors,
       "SELECT number, label, components FROM vectors WHERE number > ?1 AND +embedder = ?2 "
       "ORDER BY number"},
      {&s.document, "SELECT id, label, text, payload FROM documents WHERE number = ?1"},
      {&s.missing,
       "SELECT number, text FROM documents WHERE number IN (SELECT number FROM vectors "
       "WHERE embedder < ?1 OR embedder > ?1 LIMIT ?2)"},
      {&s.set_vector, "UPDATE vectors SET embedder = ?2, components = ?3 WHERE number = ?1"},
  };
  for (const auto& [statement, sql] : all) {
    GALEN_RETURN_IF_ERROR(statement->Prepare(db_.get(), file_, sql));
  }
  return absl::OkStatus();
}

absl::Status Store::Transact(absl::FunctionRef<absl::Status()> work) {
  GALEN_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  absl::Status status = work();
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) Execute("ROLLBACK").IgnoreError();
  return status;
}

absl::StatusOr<bool> Store::HasId(absl::string_view id) const {
  Statement::Run run(statements_->has_id);
  run.Bind(1, id);
  return run.Next();
}

absl::StatusOr<bool> Store::Contains(absl::string_view id) const {
  const MutexLock lock(mu_);
  return HasId(id);
}

absl::Status Store::Insert(std::int64_t number, const Document& document, const Vector& vector,
                           absl::string_view embedder) {
  GALEN_ASSIGN_OR_RETURN(const bool taken, HasId(document.id));
  if (taken) {
    return absl::AlreadyExistsError(
        absl::StrCat("past incident \"", document.id,
                     "\": is there already; leave it out or give it another id"));
  }
  Statement::Run add(statements_->add_document);
  add.Bind(1, number);
  add.Bind(2, document.id);
  add.Bind(3, document.label);
  add.Bind(4, document.text);
  add.BindBlob(5, document.payload);
  GALEN_RETURN_IF_ERROR(add.Done());
  const std::string tokens =
      absl::StrJoin(Tokens(absl::string_view(document.text).substr(0, kMaxTextBytes)), " ");
  Statement::Run add_words(statements_->add_words);
  add_words.Bind(1, number);
  add_words.Bind(2, tokens);
  GALEN_RETURN_IF_ERROR(add_words.Done());
  const std::string components = BytesOf(vector);
  Statement::Run add_vector(statements_->add_vector);
  add_vector.Bind(1, number);
  add_vector.Bind(2, embedder);
  add_vector.Bind(3, document.label);
  add_vector.BindBlob(4, components);
  return add_vector.Done();
}

absl::Status Store::Add(absl::Span<const Document> documents) {
  std::vector<absl::StatusOr<Vector>> vectors;
  absl::flat_hash_map<std::uint64_t, std::int64_t> counts;
  for (const Document& document : documents) {
    GALEN_RETURN_IF_ERROR(CheckLengths(document));
    // Outside the lock: an endpoint takes its time.
    vectors.push_back(embedder_.EmbedDocument(document.text));
    for (const std::uint64_t feature : FeaturesOf(Analyse(document.text))) ++counts[feature];
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> features;  // in the order of the table
  for (const auto& [feature, count] : counts) {
    features.emplace_back(static_cast<std::int64_t>(feature), count);
  }
  std::sort(features.begin(), features.end());
  const std::string name = embedder_.name();
  const MutexLock lock(mu_);
  const absl::Status added = Transact([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
    for (size_t i = 0; i < documents.size(); ++i) {
      GALEN_RETURN_IF_ERROR(Insert(count_ + 1 + static_cast<std::int64_t>(i), documents[i],
                                   vectors[i].value_or(Vector()), vectors[i].ok() ? name : ""));
    }
    for (const auto& [feature, count] : features) {
      Statement::Run add(statements_->add_feature);
      add.Bind(1, feature);
      add.Bind(2, count);
      GALEN_RETURN_IF_ERROR(add.Done());
    }
    return absl::OkStatus();
  });
  if (added.ok()) count_ += static_cast<std::int64_t>(documents.size());
  return added;
}

absl::Status Store::MakeVectors() {
  const std::string name = embedder_.name();
  for (;;) {
    std::vector<std::pair<std::int64_t, std::string>> texts;
    {
      const MutexLock lock(mu_);
      Statement::Run run(statements_->missing);
      run.Bind(1, name);
      run.Bind(2, std::int64_t{kBatch});
      for (;;) {
        GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
        if (!row) break;
        texts.emplace_back(run.Int(0), run.Text(1));
      }
    }
    if (texts.empty()) return absl::OkStatus();
    std::vector<std::string> made;
    for (const auto& [number, text] : texts) {
      GALEN_ASSIGN_OR_RETURN(const Vector vector, embedder_.EmbedDocument(text));
      made.push_back(BytesOf(vector));
    }
    const MutexLock lock(mu_);
    const absl::Status kept = Transact([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
      for (size_t i = 0; i < texts.size(); ++i) {
        Statement::Run set(statements_->set_vector);
        set.Bind(1, texts[i].first);
        set.Bind(2, name);
        set.BindBlob(3, made[i]);
        GALEN_RETURN_IF_ERROR(set.Done());
      }
      return absl::OkStatus();
    });
    GALEN_RETURN_IF_ERROR(kept);
    rows_ = VectorRows(embedder_.dimensions());
    rows_read_ = 0;
  }
}

std::uint64_t Store::documents() const {
  const MutexLock lock(mu_);
  return static_cast<std::uint64_t>(count_);
}

absl::StatusOr<std::vector<std::uint64_t>> Store::Frequencies(
    absl::Span<const std::uint64_t> features) const {
  const MutexLock lock(mu_);
  std::vector<std::uint64_t> frequencies;
  frequencies.reserve(features.size());
  for (const std::uint64_t feature : features) {
    Statement::Run run(statements_->frequency);
    run.Bind(1, static_cast<std::int64_t>(feature));
    GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
    frequencies.push_back(row ? static_cast<std::uint64_t>(std::max<std::int64_t>(run.Int(0), 0))
                              : 0);
  }
  return frequencies;
}

absl::StatusOr<std::vector<Scored>> Store::SearchWords(const std::vector<std::string>& words,
                                                       size_t most,
                                                       absl::string_view without) const {
  std::vector<Scored> found;
  if (words.empty()) return found;
  // In quotes, a word is never an operator; a word holds no quotes.
  const std::string match = absl::StrCat("\"", absl::StrJoin(words, "\" OR \""), "\"");
  const MutexLock lock(mu_);
  Statement::Run run(without.empty() ? statements_->words : statements_->words_without);
  run.Bind(1, match);
  run.Bind(2, static_cast<std::int64_t>(most));
  if (!without.empty()) run.Bind(3, without);
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
    if (!row) return found;
    found.push_back({run.Int(0), -static_cast<double>(found.size())});
  }
}

absl::Status Store::ReadVectors() const {
  if (rows_read_ == count_) return absl::OkStatus();
  const std::string name = embedder_.name();
  Statement::Run run(statements_->vectors);
  run.Bind(1, rows_read_);
  run.Bind(2, name);
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
    if (!row) break;
    const std::string components = run.Text(2);
    rows_.Add(run.Int(0), run.Text(1), Normalised({components.begin(), components.end()}));
    rows_read_ = run.Int(0);
  }
  rows_read_ = count_;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Scored>> Store::SearchVectors(const Vector& query,
                                                         const std::string& embedder, size_t most,
                                                         absl::string_view without) const {
  if (embedder != embedder_.name()) return std::vector<Scored>();
  const MutexLock lock(mu_);
  GALEN_RETURN_IF_ERROR(ReadVectors());
  return rows_.Search(query, most, without);
}

absl::StatusOr<Document> Store::Read(std::int64_t document) const {
  const MutexLock lock(mu_);
  Statement::Run run(statements_->document);
  run.Bind(1, document);
  GALEN_ASSIGN_OR_RETURN(const bool row, run.Next());
  if (!row) {
    return absl::DataLossError(absl::StrCat(file_, ": past incident number ", document,
                                            " is missing: restore the file from a backup"));
  }
  return Document{run.Text(0), run.Text(1), run.Text(2), run.Text(3)};
}

}  // namespace galen::incident_history
