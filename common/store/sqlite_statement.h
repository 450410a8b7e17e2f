#ifndef COMMON_STORE_SQLITE_STATEMENT_H_
#define COMMON_STORE_SQLITE_STATEMENT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace galen::store {

// The status of a SQLite result code, with the file and the remedy: DATA_LOSS when the file is
// damaged or not SQLite's, UNAVAILABLE when it cannot be reached, read or written now. `db` may be
// null when the file could not be opened.
absl::Status SqliteError(sqlite3* db, int code, absl::string_view file);

// One prepared statement, kept for reuse. Not thread-safe, like the connection it belongs to.
//
//   Statement::Run run(insert);
//   run.Bind(1, name);
//   GALEN_RETURN_IF_ERROR(run.Done());
class Statement {
 public:
  Statement() = default;
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // `db` must outlive the statement, and `file` names it in errors.
  absl::Status Prepare(sqlite3* db, absl::string_view file, absl::string_view sql);

  // One execution; its end makes the statement ready for the next. Parameters count from 1,
  // columns from 0. A text or blob that is bound must live until the end of the run.
  class Run {
   public:
    explicit Run(Statement& statement) : statement_(statement) {}
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    void Bind(int parameter, std::int64_t value);
    void Bind(int parameter, absl::string_view text);
    void BindBlob(int parameter, absl::string_view bytes);

    // Steps to the next row; false when there is none.
    absl::StatusOr<bool> Next();
    // Executes a statement that gives no rows.
    absl::Status Done();

    std::int64_t Int(int column) const;
    std::string Text(int column) const;

   private:
    Statement& statement_;
    int bind_code_ = 0;
  };

 private:
  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  std::string file_;
};

}  // namespace galen::store

#endif  // COMMON_STORE_SQLITE_STATEMENT_H_
