// ps: `ps` of procps and BusyBox with any columns (ps(1)), as
// `ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args` prints it. "-" stands for
// a column that the text does not have.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

enum class PsColumn {
  kPid,
  kParent,
  kUser,
  kState,
  kWaits,
  kElapsed,
  kResident,
  kVirtual,
  kCpu,
  kStarted,
  kName,
  kCommand,
  kOther,
};

// The column with that heading, or with that name behind -o.
PsColumn PsColumnOf(absl::string_view name) {
  static const auto* const columns = new absl::flat_hash_map<std::string, PsColumn>{
      {"PID", PsColumn::kPid},         {"PPID", PsColumn::kParent},
      {"USER", PsColumn::kUser},       {"UID", PsColumn::kUser},
      {"EUSER", PsColumn::kUser},      {"RUSER", PsColumn::kUser},
      {"UNAME", PsColumn::kUser},      {"S", PsColumn::kState},
      {"STAT", PsColumn::kState},      {"STATE", PsColumn::kState},
      {"WCHAN", PsColumn::kWaits},     {"ELAPSED", PsColumn::kElapsed},
      {"ETIME", PsColumn::kElapsed},   {"ETIMES", PsColumn::kElapsed},
      {"RSS", PsColumn::kResident},    {"RSZ", PsColumn::kResident},
      {"VSZ", PsColumn::kVirtual},     {"%CPU", PsColumn::kCpu},
      {"PCPU", PsColumn::kCpu},        {"C", PsColumn::kCpu},
      {"STARTED", PsColumn::kStarted}, {"LSTART", PsColumn::kStarted},
      {"COMM", PsColumn::kName},       {"UCMD", PsColumn::kName},
      {"UCOMM", PsColumn::kName},      {"COMMAND", PsColumn::kCommand},
      {"CMD", PsColumn::kCommand},     {"ARGS", PsColumn::kCommand}};
  const auto found = columns->find(absl::AsciiStrToUpper(name.substr(0, name.find(':'))));
  return found == columns->end() ? PsColumn::kOther : found->second;
}

std::vector<PsColumn> ReadPsHeading(const std::vector<absl::string_view>& words) {
  std::vector<PsColumn> columns;
  columns.reserve(words.size());
  for (const absl::string_view word : words) columns.push_back(PsColumnOf(word));
  const bool has_pid = std::find(columns.begin(), columns.end(), PsColumn::kPid) != columns.end();
  const bool has_command = !columns.empty() && (columns.back() == PsColumn::kCommand ||
                                                columns.back() == PsColumn::kName);
  if (!has_pid || !has_command) return {};
  // -o comm,args prints "COMMAND COMMAND".
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    if (columns[i] == PsColumn::kCommand) columns[i] = PsColumn::kName;
  }
  return columns;
}

// The columns of `-o pid,ppid,stat`; empty if the command has no such list.
std::vector<PsColumn> PsColumnsOfCommand(const TypedCommand& typed) {
  std::vector<absl::string_view> names;
  const std::vector<std::string>& arguments = typed.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view list;
    if (absl::StartsWith(arguments[i], "--format=")) {
      list = absl::string_view(arguments[i]).substr(9);
    } else if (absl::StartsWith(arguments[i], "-") && absl::EndsWith(arguments[i], "o") &&
               i + 1 < arguments.size()) {
      list = arguments[i + 1];
    }
    for (absl::string_view name : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      names.push_back(name.substr(0, name.find('=')));
    }
  }
  return names.empty() ? std::vector<PsColumn>() : ReadPsHeading(names);
}

// Recognises a line of `ps aux` or `ps -ef` by its shape, if the heading is missing.
std::vector<PsColumn> PsColumnsOfLine(absl::string_view line) {
  static const LazyRE2 kAux = {
      R"(^\s*\S+\s+\d+\s+[\d.]+\s+[\d.]+\s+\d+\s+\d+\s+\S+\s+[DRSTtWXZI][<NLsl+]*\s+\S+\s+[\d:.-]+\s+\S)"};
  static const LazyRE2 kFull = {
      R"(^\s*\S+\s+\d+\s+\d+\s+\d+\s+\S+\s+\S+\s+(?:\d+-)?\d\d:\d\d:\d\d\s+\S)"};
  static const auto* const aux = new std::vector<PsColumn>{
      PsColumn::kUser,    PsColumn::kPid,      PsColumn::kCpu,    PsColumn::kOther,
      PsColumn::kVirtual, PsColumn::kResident, PsColumn::kOther,  PsColumn::kState,
      PsColumn::kOther,   PsColumn::kOther,    PsColumn::kCommand};
  static const auto* const full = new std::vector<PsColumn>{
      PsColumn::kUser,  PsColumn::kPid,   PsColumn::kParent, PsColumn::kCpu,
      PsColumn::kOther, PsColumn::kOther, PsColumn::kOther,  PsColumn::kCommand};
  if (RE2::PartialMatch(Piece(line), *kAux)) return *aux;
  if (RE2::PartialMatch(Piece(line), *kFull)) return *full;
  return {};
}

// "[[DD-]hh:]mm:ss" or seconds, in seconds; "-" for another word.
std::string PsSeconds(absl::string_view word) {
  if (IsNumber(word)) return std::string(word);
  std::int64_t days = 0;
  if (const std::size_t dash = word.find('-'); dash != absl::string_view::npos) {
    if (!absl::SimpleAtoi(word.substr(0, dash), &days) || days < 0 || days > 1000000) return "-";
    word.remove_prefix(dash + 1);
  }
  std::int64_t seconds = 0;
  const std::vector<absl::string_view> parts = absl::StrSplit(word, ':');
  if (parts.size() < 2 || parts.size() > 3) return "-";
  for (const absl::string_view part : parts) {
    std::int64_t value = 0;
    if (part.size() != 2 || !absl::SimpleAtoi(part, &value) || value < 0) return "-";
    seconds = seconds * 60 + value;
  }
  return absl::StrCat(days * 86400 + seconds);
}

struct PsProcess {
  std::string pid = "-";
  std::string parent = "-";
  std::string user = "-";
  std::string state = "-";
  std::string waits = "-";
  std::string elapsed = "-";
  std::string resident = "-";
  std::string cpu = "-";
  std::string name;
  std::string command;
  bool no_memory = false;  // VSZ is 0
};

// "python3" of "/usr/bin/python3 train.py", "sshd" of "sshd: root@pts/0", "bash" of "-bash".
std::string NameOfCommand(absl::string_view command) {
  command = command.substr(0, command.find(' '));
  absl::ConsumePrefix(&command, "-");
  absl::ConsumeSuffix(&command, ":");
  if (absl::ConsumePrefix(&command, "[")) {
    absl::ConsumeSuffix(&command, "]");
  } else {
    command = command.substr(command.rfind('/') + 1);
  }
  // ps cuts names at 15 characters.
  return command.empty() ? "-" : std::string(command.substr(0, 15));
}

// The tree that `ps f` draws before a command.
absl::string_view WithoutTree(absl::string_view command) {
  while (!command.empty()) {
    if (command[0] == ' ' || command[0] == '|') {
      command.remove_prefix(1);
    } else if (absl::StartsWith(command, "\\_")) {
      command.remove_prefix(2);
    } else {
      break;
    }
  }
  return command;
}

bool IsWeekday(absl::string_view word) {
  static constexpr absl::string_view kDays = "Mon Tue Wed Thu Fri Sat Sun";
  return word.size() == 3 && absl::StrContains(kDays, word);
}

std::optional<PsProcess> ReadPsLine(const std::vector<absl::string_view>& words,
                                    const std::vector<PsColumn>& columns) {
  PsProcess process;
  std::size_t at = 0;
  for (std::size_t i = 0; i < columns.size(); ++i, ++at) {
    if (at >= words.size()) return std::nullopt;
    const std::string word(words[at]);
    const bool last = i + 1 == columns.size();
    switch (columns[i]) {
      case PsColumn::kPid:
        if (!IsNumber(word)) return std::nullopt;
        process.pid = word;
        break;
      case PsColumn::kParent:
        if (!IsNumber(word)) return std::nullopt;
        process.parent = word;
        break;
      case PsColumn::kUser:
        process.user = word;
        break;
      case PsColumn::kState:
        process.state = word;
        break;
      case PsColumn::kWaits:
        process.waits = word;
        break;
      case PsColumn::kElapsed:
        process.elapsed = PsSeconds(word);
        break;
      case PsColumn::kResident:
        process.resident = word;
        break;
      case PsColumn::kVirtual:
        process.no_memory = word == "0";
        break;
      case PsColumn::kCpu:
        process.cpu = word;
        break;
      case PsColumn::kStarted:
        // "Mon Jan  1 12:00:00 2024" is one column of five words.
        if (IsWeekday(word)) at += 4;
        break;
      case PsColumn::kName:
        process.name = last ? NameOfCommand(word) : word;
        break;
      case PsColumn::kCommand: {
        const std::string rest = JoinFrom(words, at);
        process.command = std::string(WithoutTree(rest));
        break;
      }
      case PsColumn::kOther:
        break;
    }
  }
  if (process.pid == "-") return std::nullopt;
  if (process.command.empty()) process.command = process.name;
  if (process.command.empty()) return std::nullopt;
  if (process.name.empty()) process.name = NameOfCommand(process.command);
  // The checks take the load of a young process as current, so an age needs a load.
  if (process.cpu == "-") process.elapsed = "-";
  return process;
}

// Recognises a kernel thread if its parent is unknown: its name is in brackets, and it has neither
// memory nor a session, a terminal or threads.
bool IsKernelThread(const PsProcess& process) {
  return process.parent == "-" && process.no_memory && process.user == "root" &&
         absl::StartsWith(process.command, "[") && !absl::StartsWith(process.state, "Z") &&
         process.state.find_first_of("sl+") == std::string::npos;
}

}  // namespace

absl::StatusOr<Converted> ProcessList(absl::string_view text, absl::string_view command) {
  const TypedCommand typed(command, "ps");
  std::vector<PsColumn> columns =
      typed.rewritten() ? std::vector<PsColumn>() : PsColumnsOfCommand(typed);
  std::vector<PsProcess> processes;
  absl::flat_hash_map<std::string, std::size_t> by_pid;
  bool heading = false;
  for (const absl::string_view line : PastedLines(text)) {
    const std::vector<absl::string_view> words = PastedWords(line);
    const bool capitals = std::find(words.begin(), words.end(), "PID") != words.end();
    if (std::vector<PsColumn> next = capitals ? ReadPsHeading(words) : std::vector<PsColumn>();
        !next.empty()) {
      // A second list belongs to another time or machine.
      if (heading && !processes.empty()) break;
      heading = true;
      columns = std::move(next);
      continue;
    }
    const std::vector<PsColumn> own =
        columns.empty() ? PsColumnsOfLine(line) : std::vector<PsColumn>();
    auto process = ReadPsLine(words, columns.empty() ? own : columns);
    if (!process.has_value() || IsKernelThread(*process)) continue;
    const auto [place, is_new] = by_pid.try_emplace(process->pid, processes.size());
    if (is_new) {
      processes.push_back(*std::move(process));
    } else if (absl::StartsWith(process->state, "D")) {
      // -L and -T print a line for each thread; the line of a stuck thread matters most.
      processes[place->second] = *std::move(process);
    }
  }
  if (processes.empty()) return Unreadable("ps", "no line describes a process");
  Converted converted;
  converted.text = "PID PPID USER STAT WCHAN ELAPSED RSS %CPU COMMAND COMMAND\n";
  for (const PsProcess& process : processes) {
    absl::StrAppend(&converted.text, process.pid, " ", process.parent, " ", process.user, " ",
                    process.state, " ");
    absl::StrAppend(&converted.text, process.waits, " ", process.elapsed, " ", process.resident,
                    " ", process.cpu, " ", process.name, " ", process.command, "\n");
  }
  // If the state is not listed, the list cannot show that no process is stuck.
  const bool states = std::any_of(processes.begin(), processes.end(),
                                  [](const PsProcess& one) { return one.state != "-"; });
  converted.partial = !heading || !states || typed.filtered() || !by_pid.contains("1");
  return converted;
}

}  // namespace galen::intake
