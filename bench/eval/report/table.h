#ifndef BENCH_EVAL_REPORT_TABLE_H_
#define BENCH_EVAL_REPORT_TABLE_H_

#include <string>
#include <vector>

namespace galen::eval {

// A table as terminal, page and tests see it: a heading a column, then rows of as many cells.
struct Table {
  std::string title;
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // below it; may be empty
};

// Columns in line, the first to the left and all others to the right. Pure.
std::string TableText(const Table& table);

// As an HTML table, everything escaped. Pure.
std::string TableHtml(const Table& table);

// Text that HTML shows as it is.
std::string EscapeHtml(const std::string& text);

}  // namespace galen::eval

#endif  // BENCH_EVAL_REPORT_TABLE_H_
