#include "common/observability/log/line.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"
#include "common/base/time_text.h"

namespace galen::log {
namespace {

absl::string_view NameOf(Level level) {
  switch (level) {
    case Level::kInfo:
      return "INFO";
    case Level::kWarning:
      return "WARNING";
    case Level::kError:
      return "ERROR";
  }
  return "ERROR";
}

// CleanText() has left no control characters but these two.
std::string OnOneLine(absl::string_view text) {
  return absl::StrReplaceAll(CleanText(text, kMostText), {{"\n", "\\n"}, {"\t", "\\t"}});
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat(
      "\"",
      absl::StrReplaceAll(CleanText(text, kMostText),
                          {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"\t", "\\t"}}),
      "\"");
}

// A value behind a name and "=", in quotes where it would not be seen where it ends.
std::string Value(absl::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\\' && c != '=';
  });
  return plain ? std::string(text.substr(0, kMostText)) : Quoted(text);
}

}  // namespace

absl::StatusOr<Format> ParseFormat(absl::string_view word, int fd) {
  if (word == "text") return Format::kText;
  if (word == "json") return Format::kJson;
  if (word == "auto") return isatty(fd) == 1 ? Format::kText : Format::kJson;
  return absl::InvalidArgumentError(absl::StrCat("the format of the log: \"", CleanText(word, 40),
                                                 "\" is not text, json or auto"));
}

std::string Render(const Line& line, Format format) {
  std::string text;
  if (format == Format::kText) {
    text = absl::StrCat(TimeText(line.time, 3), " ", NameOf(line.level), " ", line.service, ": ",
                        OnOneLine(line.message));
    const auto add = [&text](absl::string_view name, absl::string_view value) {
      if (!value.empty()) absl::StrAppend(&text, " ", name, "=", Value(value));
    };
    for (const Field& field : line.fields) add(field.name, field.value);
    add("diagnosis", line.diagnosis);
    add("trace_id", line.trace_id);
    return text + "\n";
  }
  text =
      absl::StrCat("{\"time\":\"", TimeText(line.time, 3), "\",\"level\":\"", NameOf(line.level),
                   "\",\"service\":", Quoted(line.service), ",\"message\":", Quoted(line.message));
  const auto add = [&text](absl::string_view name, absl::string_view value) {
    if (!value.empty()) absl::StrAppend(&text, ",\"", name, "\":", Quoted(value));
  };
  add("diagnosis", line.diagnosis);
  add("trace_id", line.trace_id);
  for (const Field& field : line.fields) add(field.name, field.value);
  return text + "}\n";
}

}  // namespace galen::log
