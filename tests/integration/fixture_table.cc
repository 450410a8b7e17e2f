#include "fixture_table.h"

#include <fnmatch.h>

#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/yaml/yaml.h"

namespace galen::testing {
namespace {

// Reads the fields of one entry; a field that it does not know is an error.
class Entry {
 public:
  Entry(const Yaml& yaml, absl::string_view file) : yaml_(yaml), file_(file) {}

  void Text(absl::string_view name, std::string& to) {
    if (const Yaml* value = Take(name)) Keep(YamlText(*value, file_, name), to);
  }
  void Flag(absl::string_view name, bool& to) {
    if (const Yaml* value = Take(name)) Keep(YamlBool(*value, file_, name), to);
  }
  void List(absl::string_view name, std::vector<std::string>& to) {
    if (const Yaml* value = Take(name)) Keep(YamlTexts(*value, file_, name), to);
  }
  void Map(absl::string_view name, std::map<std::string, std::string>& to) {
    if (const Yaml* value = Take(name)) Keep(YamlTextMap(*value, file_, name), to);
  }
  absl::Status Finish() {
    if (status_.ok() && taken_ != yaml_.fields.size()) {
      return YamlError(yaml_, file_, "has a field that is not known");
    }
    return status_;
  }

 private:
  const Yaml* Take(absl::string_view name) {
    const Yaml* const value = yaml_.Find(name);
    if (value != nullptr) ++taken_;
    return value;
  }
  template <typename T>
  void Keep(absl::StatusOr<T> value, T& to) {
    if (value.ok()) {
      to = *std::move(value);
    } else if (status_.ok()) {
      status_ = value.status();
    }
  }

  const Yaml& yaml_;
  const absl::string_view file_;
  std::size_t taken_ = 0;
  absl::Status status_;
};

absl::StatusOr<Feed> ReadFeed(const Yaml& yaml, absl::string_view file) {
  Feed feed;
  Entry entry(yaml, file);
  entry.Text("files", feed.files);
  entry.Text("command", feed.command);
  entry.Text("file", feed.file);
  entry.Text("tree", feed.tree);
  entry.Flag("snapshot", feed.snapshot);
  entry.Flag("in_job", feed.in_job);
  entry.Flag("is_log", feed.is_log);
  entry.List("checks", feed.checks);
  entry.Map("with", feed.with);
  entry.Map("with_files", feed.with_files);
  GALEN_RETURN_IF_ERROR(entry.Finish());
  const int places = int{!feed.command.empty()} + int{!feed.file.empty()} +
                     int{!feed.tree.empty()} + int{feed.snapshot} + int{feed.is_log};
  if (feed.files.empty() || feed.checks.empty() || places != 1) {
    return YamlError(yaml, file, "needs files, checks and one place to put the files");
  }
  return feed;
}

absl::StatusOr<Exception> ReadException(const Yaml& yaml, absl::string_view file) {
  Exception exception;
  Entry entry(yaml, file);
  entry.Text("path", exception.path);
  entry.Text("verdict", exception.verdict);
  entry.Text("why", exception.why);
  GALEN_RETURN_IF_ERROR(entry.Finish());
  if (exception.path.empty() || exception.verdict.empty() || exception.why.empty()) {
    return YamlError(yaml, file, "needs path, verdict and why");
  }
  return exception;
}

absl::StatusOr<Unread> ReadUnread(const Yaml& yaml, absl::string_view file) {
  Unread unread;
  Entry entry(yaml, file);
  entry.Text("files", unread.files);
  entry.Text("why", unread.why);
  GALEN_RETURN_IF_ERROR(entry.Finish());
  if (unread.files.empty() || unread.why.empty()) {
    return YamlError(yaml, file, "needs files and why");
  }
  return unread;
}

template <typename T, typename Read>
absl::Status ReadList(const Yaml& yaml, absl::string_view name, absl::string_view file, Read read,
                      std::vector<T>& to) {
  const Yaml* const list = yaml.Find(name);
  if (list == nullptr) return absl::OkStatus();
  for (const Yaml& item : list->items) {
    GALEN_ASSIGN_OR_RETURN(T value, read(item, file));
    to.push_back(std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FixtureTable> ParseFixtureTable(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  FixtureTable table;
  GALEN_RETURN_IF_ERROR(ReadList(yaml, "feeds", file, ReadFeed, table.feeds));
  GALEN_RETURN_IF_ERROR(ReadList(yaml, "exceptions", file, ReadException, table.exceptions));
  GALEN_RETURN_IF_ERROR(ReadList(yaml, "unread", file, ReadUnread, table.unread));
  return table;
}

std::vector<Fixture> ParseFixtureManifest(absl::string_view text) {
  std::vector<Fixture> fixtures;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    if (cells.size() < 9 || cells[0] == "path") continue;
    fixtures.push_back({.path = cells[0], .state = cells[3], .nature = cells[8]});
  }
  return fixtures;
}

bool Matches(const std::string& glob, const std::string& path) {
  return fnmatch(glob.c_str(), path.c_str(), FNM_PATHNAME) == 0;
}

}  // namespace galen::testing
