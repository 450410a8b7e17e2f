#include "common/intake/prompt.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/line.h"
#include "common/intake/machine_parts.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostPrompt = 4096;  // a longer line was not typed
constexpr std::size_t kMostWords = 256;

// One word after another, quotes and backslashes taken off. Stops at an operator, which it gives.
class Words {
 public:
  explicit Words(absl::string_view text) : text_(text) {}

  std::vector<std::string> Take() {
    std::vector<std::string> words;
    while (words.size() < kMostWords) {
      while (at_ < text_.size() && absl::ascii_isblank(static_cast<unsigned char>(text_[at_])))
        ++at_;
      if (at_ == text_.size() || Operator()) break;
      words.push_back(Word());
    }
    return words;
  }

  // The operator after the words: "|", ";", "&&", ">" or "<"; "" at the end of the text.
  absl::string_view operation() const { return operation_; }
  absl::string_view rest() const { return text_.substr(at_); }

 private:
  bool Operator() {
    const absl::string_view rest = text_.substr(at_);
    // A comment, as people write one behind a command.
    if (rest[0] == '#') {
      at_ = text_.size();
      return true;
    }
    for (const absl::string_view sign : {"||", "&&", "|", ";", "&", ">", "<"}) {
      if (!absl::StartsWith(rest, sign)) continue;
      operation_ = sign;
      at_ += sign.size();
      return true;
    }
    // "2>/dev/null": the redirection of errors is dropped, the pipeline may continue.
    if (rest.size() > 1 && (rest[0] == '1' || rest[0] == '2') && rest[1] == '>') {
      at_ += 2;
      if (at_ < text_.size() && text_[at_] == '&') ++at_;
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      Word();
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      return at_ == text_.size() || Operator();
    }
    return false;
  }

  std::string Word() {
    std::string word;
    char quote = '\0';
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != '\0') {
        if (c == quote) {
          quote = '\0';
        } else {
          word += c;
        }
        continue;
      }
      if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        word += text_[++at_];
      } else if (c == ' ' || c == '\t' || c == '|' || c == ';' || c == '>' || c == '<' ||
                 c == '&') {
        break;
      } else {
        word += c;
      }
    }
    return word;
  }

  const absl::string_view text_;
  std::size_t at_ = 0;
  absl::string_view operation_;
};

bool IsAssignment(absl::string_view word) {
  const std::size_t sign = word.find('=');
  if (sign == absl::string_view::npos || sign == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(sign), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

std::string BaseName(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == absl::string_view::npos ? path : path.substr(slash + 1));
}

// Takes the words of an option with its value off the front: those that begin with "-", and one
// more behind each of `with_value`.
void DropOptions(std::vector<std::string>& argv, absl::string_view with_value) {
  while (!argv.empty() && argv.front().size() > 1 && argv.front()[0] == '-') {
    const bool takes_value =
        argv.front().size() == 2 && absl::StrContains(with_value, argv.front()[1]);
    argv.erase(argv.begin());
    if (takes_value && !argv.empty()) argv.erase(argv.begin());
  }
}

// The host of "user@host".
std::string HostOf(absl::string_view target) {
  const std::size_t at = target.rfind('@');
  return std::string(at == absl::string_view::npos ? target : target.substr(at + 1));
}

// Reads words as the far shell does.
std::vector<std::string> ReadAgain(const std::string& text, Command& command) {
  Words again(text);
  std::vector<std::string> words = again.Take();
  command.filtered = command.filtered || again.operation() == "|";
  return words;
}

// Options with a value, by program: pdsh(1), clush(1), pssh(1).
absl::string_view OptionsOf(absl::string_view program) {
  if (program == "pssh" || program == "parallel-ssh") return "hHlpoetO";
  return program == "clush" ? "wxgXfltuo" : "wxgtulfRM";
}

// pdsh and its like: `pdsh -R ssh -w gpu[01-04] CMD`, `clush -bw gpu[01-04] CMD`.
void DropParallelShell(std::vector<std::string>& argv, Command& command) {
  const std::string program = BaseName(argv.front());
  const absl::string_view with_value = OptionsOf(program);
  const char names = absl::StrContains(with_value, 'H') ? 'H' : 'w';
  argv.erase(argv.begin());
  while (!argv.empty() && argv.front().size() > 1 && argv.front()[0] == '-') {
    const std::string option = argv.front();
    argv.erase(argv.begin());
    const bool letters = std::all_of(option.begin() + 1, option.end(), [](char c) {
      return absl::ascii_isalpha(static_cast<unsigned char>(c));
    });
    if (!letters && option[1] == names) command.machines = MachinesOf(option.substr(2));
    if (!letters || !absl::StrContains(with_value, option.back()) || argv.empty()) continue;
    if (option.back() == names) command.machines = MachinesOf(argv.front());
    argv.erase(argv.begin());
  }
  command.elsewhere = command.several = true;
  const std::string joined = absl::StrJoin(argv, " ");
  argv = ReadAgain(joined, command);
}

// `ansible gpu -m shell -a "CMD"`. False: it runs a module.
bool DropAnsible(std::vector<std::string>& argv, Command& command) {
  const auto option = std::find(argv.begin(), argv.end(), "-a");
  if (option == argv.end() || option + 1 == argv.end()) return false;
  const std::string inner = *(option + 1);
  command.elsewhere = command.several = true;
  argv = ReadAgain(inner, command);
  return true;
}

bool DropWrapper(std::vector<std::string>& argv, Command& command) {
  const std::string program = BaseName(argv.front());
  if (IsAssignment(argv.front()) || program == "time" || program == "nohup" ||
      program == "command" || program == "stdbuf" || program == "nice") {
    argv.erase(argv.begin());
    if (program == "stdbuf" || program == "nice") DropOptions(argv, "n");
    return true;
  }
  if (program == "sudo" || program == "doas") {
    argv.erase(argv.begin());
    DropOptions(argv, "ugpCDhRT");
    return true;
  }
  if (program == "env" && argv.size() > 1) {
    argv.erase(argv.begin());
    DropOptions(argv, "uCS");
    return true;
  }
  if (program == "timeout" && argv.size() > 2) {
    argv.erase(argv.begin());
    DropOptions(argv, "ks");
    if (!argv.empty()) argv.erase(argv.begin());
    return true;
  }
  if (program == "ssh" && argv.size() > 1) {
    argv.erase(argv.begin());
    DropOptions(argv, "BbcDEeFIiJLlmOopQRSWw");
    if (argv.empty()) return false;
    if (absl::StrContains(argv.front(), '$')) {
      command.elsewhere = true;
      command.target = argv.front();
    } else {
      command.host = HostOf(argv.front());
    }
    argv.erase(argv.begin());
    if (argv.empty()) return false;
    const std::string joined = absl::StrJoin(argv, " ");
    argv = ReadAgain(joined, command);
    return true;
  }
  if (program == "pdsh" || program == "clush" || program == "pssh" || program == "parallel-ssh") {
    DropParallelShell(argv, command);
    return true;
  }
  if (program == "ansible") return DropAnsible(argv, command);
  if ((program == "docker" || program == "podman" || program == "nerdctl") && argv.size() > 3 &&
      argv[1] == "exec") {
    argv.erase(argv.begin(), argv.begin() + 2);
    DropOptions(argv, "euw");
    if (!argv.empty()) argv.erase(argv.begin());
    command.in_container = true;
    return !argv.empty();
  }
  if ((program == "kubectl" || program == "oc") && argv.size() > 2) {
    const auto exec = std::find(argv.begin(), argv.end(), "exec");
    const auto words = std::find(argv.begin(), argv.end(), "--");
    if (exec == argv.end() || words == argv.end() || words + 1 == argv.end() || words < exec)
      return false;
    const auto target = std::find_if(
        exec, words, [](const std::string& word) { return absl::StrContains(word, '$'); });
    if (target != words) {
      command.elsewhere = true;
      command.target = *target;
    }
    argv.erase(argv.begin(), words + 1);
    command.in_container = true;
    return true;
  }
  if ((program == "sh" || program == "bash") && argv.size() > 2 &&
      absl::StrContains(argv[1], 'c') && argv[1][0] == '-') {
    const std::string inner = argv[2];
    argv = ReadAgain(inner, command);
    return true;
  }
  return false;
}

}  // namespace

std::optional<Prompt> FindPrompt(absl::string_view line) {
  if (line.empty() || line.size() > kMostPrompt) return std::nullopt;
  line = absl::StripLeadingAsciiWhitespace(line);
  // "(env) [user@host dir]$ command", as Red Hat's bash shows it.
  static const RE2 bracketed(
      R"(^(?:\([\w.\-/]{1,40}\) ?)?\[([\w.\-]+)@([\w.\-]+)[^\]\n]{0,200}\]\s?[#$%>] ?(.*)$)",
      ByteOptions());
  // "(env) user@host:~/dir$ command", "user@host ~ % command", "user@host dir # command". The
  // prompt of a program that runs in a container of a pod names the pod in the same place.
  static const RE2 colon(
      R"(^(?:\([\w.\-/]{1,40}\) ?)?([A-Za-z_][\w.\-]*)@([\w.\-]+)(?:[: ][~/.\w][^#$%>\n]{0,160}|[: ]~?|:)\s?[#$%>] ?(.*)$)",
      ByteOptions());
  // "gpu-r2-08$ command": a name with a digit, as machines have one.
  static const RE2 host_only(R"(^([A-Za-z][\w\-]*\d[\w.\-]*)[#$] ([a-z./~][\w./~\-]*(?: .*)?)$)",
                             ByteOptions());
  static const RE2 bare(R"(^[$#%] ([\w./~(\[\-][^\n]*)$)", ByteOptions());
  Prompt prompt;
  if (RE2::PartialMatch(Piece(line), bracketed, &prompt.user, &prompt.host, &prompt.typed) ||
      RE2::PartialMatch(Piece(line), colon, &prompt.user, &prompt.host, &prompt.typed)) {
    return prompt;
  }
  prompt = Prompt();
  if (RE2::PartialMatch(Piece(line), host_only, &prompt.host, &prompt.typed)) return prompt;
  prompt = Prompt();
  if (RE2::PartialMatch(Piece(line), bare, &prompt.typed) || line == "$" || line == "#") {
    prompt.bare = true;
    return prompt;
  }
  return std::nullopt;
}

namespace {

// Whether what stands behind a pipe selects or changes lines. dshbak only sorts them by machine.
bool IsFilter(absl::string_view rest) {
  Words words(rest);
  const std::vector<std::string> argv = words.Take();
  if (argv.empty() || BaseName(argv.front()) != "dshbak") return true;
  return words.operation() == "|";
}

// `for h in gpu01 gpu02; do echo $h; ssh $h CMD; done`: its words up to the first semicolon, and
// the rest.
Command ReadLoop(const std::vector<std::string>& head, absl::string_view rest) {
  Command body = ReadCommand(rest);
  if (const std::size_t done = rest.rfind("done"); done != absl::string_view::npos) {
    absl::string_view behind = absl::StripLeadingAsciiWhitespace(rest.substr(done + 4));
    body.filtered = body.filtered || (absl::ConsumePrefix(&behind, "|") && IsFilter(behind));
  }
  if (!body.elsewhere) return body;
  if (head.front() == "while") {
    body.several = true;
    return body;
  }
  if (head.size() < 4) return body;
  const std::string forms[] = {absl::StrCat("${", head[1], "}"), absl::StrCat("$", head[1])};
  for (const std::string& form : forms) {
    if (!absl::StrContains(body.target, form)) continue;
    body.several = true;
    for (std::size_t i = 3; i < head.size(); ++i) {
      const std::string machine = HostOf(absl::StrReplaceAll(body.target, {{form, head[i]}}));
      if (MachinesOf(machine) != std::vector<std::string>{machine}) {
        body.machines.clear();  // $(cat hosts)
        break;
      }
      body.machines.push_back(machine);
    }
    break;
  }
  return body;
}

}  // namespace

Command ReadCommand(absl::string_view typed) {
  Command command;
  if (typed.size() > kMostPrompt) typed = typed.substr(0, kMostPrompt);
  Words words(typed);
  command.argv = words.Take();
  command.filtered = words.operation() == "|" && IsFilter(words.rest());
  if (!command.argv.empty() && command.argv.front() == "do") {
    command.argv.erase(command.argv.begin());
  }
  const bool loops = !command.argv.empty() && words.operation() == ";" &&
                     (command.argv.front() == "for" || command.argv.front() == "while");
  if (loops) return ReadLoop(command.argv, words.rest());
  // Commands that people type before the program that matters: `cd dir && program`.
  static constexpr std::array<absl::string_view, 8> kBefore = {
      "cd", "export", "source", "set", "module", "echo", "printf", "hostname"};
  for (int turns = 0; turns < 8; ++turns) {
    const bool goes_on = words.operation() == "&&" || words.operation() == ";";
    if (command.argv.empty() || !goes_on ||
        std::find(kBefore.begin(), kBefore.end(), command.argv.front()) == kBefore.end()) {
      break;
    }
    Command next = ReadCommand(words.rest());
    return next;
  }
  for (int turns = 0; turns < 16 && !command.argv.empty(); ++turns) {
    if (!DropWrapper(command.argv, command)) break;
  }
  if (!command.argv.empty()) command.argv.front() = BaseName(command.argv.front());
  return command;
}

std::string WithoutSearches(absl::string_view typed) {
  static constexpr std::array<absl::string_view, 10> kSearches = {
      "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "awk", "gawk", "sed", "perl"};
  if (typed.size() > kMostPrompt) typed = typed.substr(0, kMostPrompt);
  std::string left;
  for (absl::string_view rest = typed; !rest.empty();) {
    Words words(rest);
    std::vector<std::string> argv = words.Take();
    const absl::string_view operation = words.operation();
    const absl::string_view part =
        rest.substr(0, rest.size() - words.rest().size() - operation.size());
    Command command;
    for (int turns = 0; turns < 16 && !argv.empty(); ++turns) {
      if (!DropWrapper(argv, command)) break;
    }
    const std::string program = argv.empty() ? "" : BaseName(argv.front());
    const bool searches = std::find(kSearches.begin(), kSearches.end(), program) != kSearches.end();
    if (!searches) absl::StrAppend(&left, part, operation);
    if (words.rest().size() >= rest.size()) break;
    rest = words.rest();
  }
  return left;
}

bool IsContainerId(absl::string_view host) {
  return host.size() >= 12 && host.size() <= 64 &&
         std::all_of(host.begin(), host.end(),
                     [](char c) {
                       return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
                              (c >= 'a' && c <= 'f');
                     }) &&
         std::any_of(host.begin(), host.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

}  // namespace galen::intake
