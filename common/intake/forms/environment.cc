// env: variables as `env`, `printenv`, `export -p` and `declare -x` print them, and as people write
// them into scripts, Dockerfiles and compose files, as lines NAME=value.
#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

// A longer variable is left out: cutting it would change its value.
constexpr std::size_t kLongestVariable = 65536;

// Removes quotes and escapes as a shell does.
std::string Unquoted(absl::string_view value) {
  if (value.size() < 2 || (value.front() != '"' && value.front() != '\'') ||
      value.back() != value.front()) {
    return std::string(value);
  }
  const bool escapes = value.front() == '"';
  value = value.substr(1, value.size() - 2);
  std::string plain;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (escapes && value[i] == '\\' && i + 1 < value.size() &&
        absl::StrContains("\"\\$`", value[i + 1])) {
      ++i;
    }
    plain += value[i];
  }
  return plain;
}

struct Variable {
  std::string name;
  std::string value;
};

bool ReadVariable(absl::string_view line, Variable* variable) {
  static const LazyRE2 kVariable = {
      R"(^\s*(?:- )?((?:export|declare -x|ENV|-x|-e|--env) )?(["']?)([A-Za-z_][A-Za-z0-9_]*)=(.*)$)"};
  static const LazyRE2 kCshell = {R"(^\s*(setenv) ([A-Za-z_][A-Za-z0-9_]*) (\S.*)$)"};
  std::string typed;  // what a person has to write before it
  std::string quote;  // around the whole
  if (!RE2::FullMatch(Piece(line), *kVariable, &typed, &quote, &variable->name, &variable->value) &&
      !RE2::FullMatch(Piece(line), *kCshell, &typed, &variable->name, &variable->value)) {
    return false;
  }
  std::string& value = variable->value;
  if (!quote.empty()) {
    const std::size_t end = value.find(quote[0]);
    if (end == std::string::npos) return false;
    value.resize(end);
    return true;
  }
  // A shell ends the value at the first blank that is not quoted; env prints it as it is.
  if (!typed.empty() && !value.empty()) {
    const bool quoted = value[0] == '"' || value[0] == '\'';
    const std::size_t end = quoted ? value.find(value[0], 1) : value.find_first_of(" \t;");
    if (end != std::string::npos) value.resize(end + (quoted ? 1 : 0));
  }
  value = Unquoted(value);
  return true;
}

}  // namespace

absl::StatusOr<Converted> EnvironmentList(absl::string_view text, absl::string_view command) {
  std::string lines;
  absl::flat_hash_set<std::string> seen;
  bool in_function = false;
  for (const absl::string_view line : PastedLines(text, kLongestVariable + 1)) {
    // bash exports functions, and env prints their bodies.
    if (in_function || absl::StartsWith(line, "BASH_FUNC_")) {
      in_function = line != "}";
      continue;
    }
    Variable variable;
    if (line.size() > kLongestVariable || !ReadVariable(line, &variable)) continue;
    if (seen.insert(variable.name).second) {
      absl::StrAppend(&lines, variable.name, "=", variable.value, "\n");
    }
  }
  if (lines.empty()) return Unreadable("env", "no line sets a variable");
  Converted converted;
  converted.text = std::move(lines);
  // Every process has PATH, so a list without it is incomplete.
  converted.partial = !seen.contains("PATH") || TypedCommand(command, "env").filtered() ||
                      TypedCommand(command, "printenv").filtered();
  return converted;
}

}  // namespace galen::intake
