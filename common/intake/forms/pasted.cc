#include "common/intake/forms/pasted.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace galen::intake {
namespace {

// Bundles serve the same amount of an output.
constexpr std::size_t kMostPastedBytes = std::size_t{8} << 20;
constexpr std::size_t kLongestCommand = 4096;

bool IsBinary(absl::string_view text) {
  std::size_t odd = 0;
  for (const char c : text) {
    if (c == '\0') return true;
    const auto byte = static_cast<unsigned char>(c);
    odd += byte < ' ' && !absl::ascii_isspace(byte) && c != '\x1b' && c != '\b' ? 1 : 0;
  }
  return odd * 10 > text.size();
}

// A pipe, the end of a statement, or a word.
struct Token {
  char mark = 0;  // '|', ';'; 0: a word
  std::string word;
};

std::vector<Token> Tokens(absl::string_view command) {
  std::vector<Token> tokens;
  std::string word;
  bool open = false;  // a word has begun
  char quote = 0;
  const auto end_word = [&] {
    if (open) tokens.push_back({.word = std::exchange(word, "")});
    open = false;
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      end_word();
    } else if (c == '|' || c == ';' || (c == '&' && !absl::EndsWith(word, ">"))) {
      end_word();
      const bool twice = c != ';' && i + 1 < command.size() && command[i + 1] == c;
      tokens.push_back({.mark = c == '|' && !twice ? '|' : ';', .word = ""});
      i += twice ? 1 : 0;
    } else {
      word += c;
      open = true;
    }
  }
  end_word();
  return tokens;
}

// Recognises "2>/dev/null", ">" and "2>&1". `takes_next`: the next word is the file's name.
bool IsRedirection(absl::string_view word, bool* takes_next) {
  const std::size_t arrow = word.find_first_of("<>");
  if (arrow > 1) return false;
  if (arrow == 1 && !absl::ascii_isdigit(static_cast<unsigned char>(word[0])) && word[0] != '&') {
    return false;
  }
  *takes_next = word.find_first_not_of("<>", arrow) == absl::string_view::npos;
  return true;
}

// Removes the time that CI runners print before each line: "2025-10-07T04:52:14.6630722Z ".
absl::string_view WithoutRunnersTime(absl::string_view line) {
  constexpr absl::string_view kForm = "0000-00-00T00:00:00.0000000Z ";
  if (line.size() < kForm.size()) return line;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(line[i]));
    if (kForm[i] == '0' ? !digit : line[i] != kForm[i]) return line;
  }
  return line.substr(kForm.size());
}

absl::string_view ProgramName(absl::string_view word) { return word.substr(word.rfind('/') + 1); }

}  // namespace

absl::Status Unreadable(absl::string_view form, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(form, ": ", why));
}

absl::StatusOr<std::string> Readable(absl::string_view form, absl::string_view text) {
  if (text.size() > kMostPastedBytes) {
    text = text.substr(0, kMostPastedBytes);
    text = text.substr(0, text.rfind('\n'));
  }
  if (IsBinary(text)) return Unreadable(form, "the text is binary");
  std::string clean = CleanText(text, 4 * kMostPastedBytes);
  // Web pages replace blanks by no-break spaces.
  clean = absl::StrReplaceAll(clean, {{"\xC2\xA0", " "}});
  if (absl::StripAsciiWhitespace(clean).empty()) return Unreadable(form, "the text is empty");
  return clean;
}

std::vector<absl::string_view> PastedLines(absl::string_view text, std::size_t longest) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (absl::string_view& line : lines) {
    line = absl::StripTrailingAsciiWhitespace(WithoutRunnersTime(line).substr(0, longest));
  }
  return lines;
}

std::vector<absl::string_view> PastedWords(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

std::size_t IndentOf(absl::string_view line) {
  std::size_t columns = 0;
  for (const char c : line) {
    if (c != ' ' && c != '\t') break;
    columns += c == '\t' ? 8 : 1;
  }
  return columns;
}

std::string JoinFrom(const std::vector<absl::string_view>& words, std::size_t first) {
  if (first >= words.size()) return "";
  return absl::StrJoin(words.begin() + static_cast<std::ptrdiff_t>(first), words.end(), " ");
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= 18 && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

TypedCommand::TypedCommand(absl::string_view command, absl::string_view program) {
  command = command.substr(0, kLongestCommand);
  known_ = Read(command, program);
  // ssh and `sh -c` take the command as one quoted word.
  if (!known_ && absl::StrContains(command, program)) {
    known_ = Read(absl::StrReplaceAll(command, {{"\"", " "}, {"'", " "}}), program);
  }
}

bool TypedCommand::Read(absl::string_view command, absl::string_view program) {
  std::vector<std::string> stage;
  bool found = false;
  bool skip = false;  // the file that a redirection names
  const auto end_stage = [&] {
    if (found) {
      Behind(stage);
    } else {
      const auto at = std::find_if(stage.begin(), stage.end(), [&](const std::string& word) {
        return ProgramName(word) == program;
      });
      found = at != stage.end();
      if (found) arguments_.assign(at + 1, stage.end());
    }
    stage.clear();
  };
  for (const Token& token : Tokens(command)) {
    if (token.mark == ';') {
      end_stage();
      if (found) return true;
    } else if (token.mark == '|') {
      end_stage();
    } else if (std::exchange(skip, false) || IsRedirection(token.word, &skip)) {
      continue;
    } else {
      stage.push_back(token.word);
    }
  }
  end_stage();
  return found;
}

void TypedCommand::Behind(const std::vector<std::string>& stage) {
  if (stage.empty()) return;
  const absl::string_view program = ProgramName(stage.front());
  const auto is_one_of = [&](std::initializer_list<absl::string_view> names) {
    return std::find(names.begin(), names.end(), program) != names.end();
  };
  const auto has = [&](char letter) {
    return std::any_of(stage.begin() + 1, stage.end(), [&](const std::string& word) {
      return absl::StartsWith(word, "-") && absl::StrContains(word, letter);
    });
  };
  if (is_one_of({"cat", "tee", "less", "more"})) return;
  filtered_ = true;
  if (program == "sort") {
    distinct_ |= has('u');
    return;
  }
  if (program == "uniq") {
    distinct_ = true;
    rewritten_ |= has('c');
    return;
  }
  const bool chooses = is_one_of({"grep", "egrep", "fgrep", "rg", "head", "tail"});
  // grep -c prints a count and grep -o only the match.
  rewritten_ |= !chooses || (program != "head" && program != "tail" && (has('c') || has('o')));
}

std::vector<std::string> TypedCommand::operands() const {
  std::vector<std::string> operands;
  for (const std::string& argument : arguments_) {
    if (!absl::StartsWith(argument, "-")) operands.push_back(argument);
  }
  return operands;
}

bool TypedCommand::HasLetter(char letter) const {
  return std::any_of(arguments_.begin(), arguments_.end(), [&](const std::string& argument) {
    return absl::StartsWith(argument, "-") && !absl::StartsWith(argument, "--") &&
           absl::StrContains(argument, letter);
  });
}

bool TypedCommand::Has(absl::string_view argument) const {
  return std::find(arguments_.begin(), arguments_.end(), argument) != arguments_.end();
}

std::optional<std::string> TypedCommand::ValueOf(
    std::initializer_list<absl::string_view> options) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    for (const absl::string_view option : options) {
      absl::string_view value = arguments_[i];
      if (value == option && i + 1 < arguments_.size()) return arguments_[i + 1];
      if (absl::ConsumePrefix(&value, option) && absl::ConsumePrefix(&value, "=")) {
        return std::string(value);
      }
    }
  }
  return std::nullopt;
}

}  // namespace galen::intake
