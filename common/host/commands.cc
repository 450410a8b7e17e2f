#include "common/host/commands.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/bundle_files.h"
#include "common/yaml/yaml.h"

namespace galen::host {
namespace {

absl::StatusOr<bool> Flag(const Yaml& entry, absl::string_view file, absl::string_view field) {
  const Yaml* const value = entry.Find(field);
  return value == nullptr ? false : YamlBool(*value, file, field);
}

absl::StatusOr<std::string> OutputFile(const Yaml& entry, absl::string_view file,
                                       absl::string_view field) {
  const Yaml* const value = entry.Find(field);
  if (value == nullptr) return std::string();
  GALEN_ASSIGN_OR_RETURN(std::string path, YamlText(*value, file, field));
  if (path.empty()) return path;
  if (const absl::Status safe = CheckRelative(path); !safe.ok()) {
    return YamlError(*value, file,
                     absl::StrCat(field, ": ", safe.message(), "; name a file below c/"));
  }
  return path;
}

absl::StatusOr<CapturedCommand> ParseCommand(const Yaml& entry, absl::string_view file) {
  const Yaml* const argv = entry.Find("argv");
  if (argv == nullptr) {
    return YamlError(entry, file, "the entry has no argv; write {argv: [program, argument], ...}");
  }
  CapturedCommand command;
  GALEN_ASSIGN_OR_RETURN(command.argv, YamlTexts(*argv, file, "argv"));
  if (command.argv.empty() || command.argv.front().empty()) {
    return YamlError(*argv, file, "argv: is empty; write the program and its arguments");
  }
  GALEN_ASSIGN_OR_RETURN(command.absent, Flag(entry, file, "absent"));
  if (command.absent) return command;
  GALEN_ASSIGN_OR_RETURN(command.timed_out, Flag(entry, file, "timed_out"));
  GALEN_ASSIGN_OR_RETURN(command.excerpt, Flag(entry, file, "excerpt"));
  if (const Yaml* const code = entry.Find("exit")) {
    GALEN_ASSIGN_OR_RETURN(const std::int64_t number, YamlInteger(*code, file, "exit"));
    if (number < -255 || number > 255) {
      return YamlError(*code, file, "exit: is not an exit code (-255 to 255)");
    }
    command.exit_code = static_cast<int>(number);
  }
  if (const Yaml* const duration = entry.Find("duration_ms")) {
    GALEN_ASSIGN_OR_RETURN(const std::int64_t number, YamlInteger(*duration, file, "duration_ms"));
    command.duration = absl::Milliseconds(number);
  }
  GALEN_ASSIGN_OR_RETURN(command.stdout_file, OutputFile(entry, file, "stdout"));
  GALEN_ASSIGN_OR_RETURN(command.stderr_file, OutputFile(entry, file, "stderr"));
  return command;
}

}  // namespace

absl::StatusOr<std::vector<CapturedCommand>> ParseCommands(absl::string_view text,
                                                           absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind != Yaml::Kind::kList && document.kind != Yaml::Kind::kNull) {
    return YamlError(document, file, "is not a list; write one \"- {argv: [...], ...}\" a command");
  }
  std::vector<CapturedCommand> commands;
  commands.reserve(document.items.size());
  for (const Yaml& entry : document.items) {
    GALEN_ASSIGN_OR_RETURN(CapturedCommand command, ParseCommand(entry, file));
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string FormatCommands(absl::Span<const CapturedCommand> commands) {
  std::string text;
  for (const CapturedCommand& command : commands) {
    absl::StrAppend(&text, "- {argv: [",
                    absl::StrJoin(command.argv, ", ",
                                  [](std::string* out, absl::string_view argument) {
                                    absl::StrAppend(out, YamlQuote(argument));
                                  }),
                    "]");
    if (command.absent) {
      absl::StrAppend(&text, ", absent: true}\n");
      continue;
    }
    if (command.timed_out) {
      absl::StrAppend(&text, ", timed_out: true");
    } else {
      absl::StrAppend(&text, ", exit: ", command.exit_code);
    }
    if (command.excerpt) absl::StrAppend(&text, ", excerpt: true");
    if (!command.stdout_file.empty()) {
      absl::StrAppend(&text, ", stdout: ", YamlQuote(command.stdout_file));
    }
    if (!command.stderr_file.empty()) {
      absl::StrAppend(&text, ", stderr: ", YamlQuote(command.stderr_file));
    }
    absl::StrAppend(&text, ", duration_ms: ", absl::ToInt64Milliseconds(command.duration), "}\n");
  }
  return text;
}

std::string ShownCommand(absl::Span<const std::string> argv) {
  return CleanText(absl::StrJoin(argv, " "), 160);
}

}  // namespace galen::host
