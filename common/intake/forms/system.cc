// free: `free` of procps with any units, as /proc/meminfo has it (proc(5)).
// ulimit: `ulimit -a` of bash, zsh and dash, and `ulimit -l` and its kin, as /proc/PID/limits.
// lsmod: `lsmod` of kmod, as /proc/modules has it.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

// --- free

// The unit, in KiB, of numbers without a letter; nothing if the command is unknown.
std::optional<double> PlainKibOfFree(const TypedCommand& typed) {
  if (!typed.known()) return std::nullopt;
  const double base = typed.Has("--si") ? 1000 : 1024;
  constexpr double kMib = 1024;
  if (typed.HasLetter('b') || typed.Has("--bytes")) return 1 / kMib;
  if (typed.HasLetter('m') || typed.Has("--mebi")) return base * base / kMib;
  if (typed.HasLetter('g') || typed.Has("--gibi")) return base * base * base / kMib;
  if (typed.Has("--mega")) return 1e6 / kMib;
  if (typed.Has("--giga")) return 1e9 / kMib;
  if (typed.Has("--tebi")) return kMib * kMib * kMib;
  if (typed.Has("--tera")) return 1e12 / kMib;
  return 1;
}

// "461", "503Gi", "15G": KiB; nothing for another word.
std::optional<std::int64_t> KibOfFree(absl::string_view word, double plain_kib, double base) {
  static constexpr absl::string_view kLetters = "BKMGTP";
  double scale = plain_kib;
  if (absl::ConsumeSuffix(&word, "i")) base = 1024;
  if (!word.empty() && absl::ascii_isalpha(static_cast<unsigned char>(word.back()))) {
    const std::size_t power = kLetters.find(word.back());
    if (power == absl::string_view::npos) return std::nullopt;
    scale = std::pow(base, static_cast<double>(power)) / 1024;
    word.remove_suffix(1);
  }
  double number = 0;
  if (word.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(word[0])) ||
      !absl::SimpleAtod(word, &number)) {
    return std::nullopt;
  }
  number *= scale;
  if (!(number < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(number));
}

// Whether a total without a unit can only be in KiB, which is 16 GiB to 4 TiB. In MiB it would be
// more than machines have, and in bytes less.
bool OnlyKib(absl::string_view total) {
  std::int64_t value = 0;
  return absl::SimpleAtoi(total, &value) && value >= std::int64_t{16} << 20 &&
         value <= std::int64_t{4} << 30;
}

// --- ulimit

// A limit of the shell.
struct ShellLimit {
  char letter;
  absl::string_view name;  // in /proc/PID/limits
  std::int64_t scale;      // from the shell's unit to the kernel's; 0: a block, whose size varies
  absl::string_view unit;
  absl::string_view dash;  // as dash calls it
};

constexpr std::array<ShellLimit, 16> kShellLimits = {{
    {'t', "Max cpu time", 1, "seconds", "time(seconds)"},
    {'f', "Max file size", 0, "bytes", "file(blocks)"},
    {'d', "Max data size", 1024, "bytes", "data(kbytes)"},
    {'s', "Max stack size", 1024, "bytes", "stack(kbytes)"},
    {'c', "Max core file size", 0, "bytes", "coredump(blocks)"},
    {'m', "Max resident set", 1024, "bytes", "memory(kbytes)"},
    {'u', "Max processes", 1, "processes", "process"},
    {'n', "Max open files", 1, "files", "nofiles"},
    {'l', "Max locked memory", 1024, "bytes", "locked memory(kbytes)"},
    {'v', "Max address space", 1024, "bytes", "vmemory(kbytes)"},
    {'x', "Max file locks", 1, "locks", "locks"},
    {'i', "Max pending signals", 1, "signals", ""},
    {'q', "Max msgqueue size", 1, "bytes", ""},
    {'e', "Max nice priority", 1, "", ""},
    {'r', "Max realtime priority", 1, "", "rtprio"},
    {'R', "Max realtime timeout", 1, "us", ""},
}};

const ShellLimit* LimitOfLetter(char letter) {
  const auto* const found = absl::c_find_if(
      kShellLimits, [&](const ShellLimit& limit) { return limit.letter == letter; });
  return found == kShellLimits.end() ? nullptr : found;
}

// The value in the unit of /proc/PID/limits; "" if it is unknown.
std::string LimitValue(const ShellLimit& limit, absl::string_view value) {
  if (value == "unlimited") return "unlimited";
  std::int64_t number = 0;
  if (!IsNumber(value) || !absl::SimpleAtoi(value, &number)) return "";
  if (number == 0) return "0";
  if (limit.scale == 0 || number > (std::int64_t{1} << 62) / limit.scale) return "";
  return absl::StrCat(number * limit.scale);
}

// A line of `ulimit -a`: which limit, and its value as the shell prints it.
std::pair<const ShellLimit*, std::string> ReadShellLimit(const std::string& line) {
  // "max locked memory       (kbytes, -l) 65536", "open files                      (-n) 1024"
  static const LazyRE2 kBash = {R"(\((?:[^(),]+, )?-([A-Za-z])\)\s+(\S+)$)"};
  // "-l: locked-in-memory size (kbytes)  65536"
  static const LazyRE2 kZsh = {R"(^\s*-([A-Za-z]): .*\s(\S+)$)"};
  static const LazyRE2 kDash = {R"(^\s*([a-z]+(?: [a-z]+)?(?:\([a-z]+\))?)\s+(\d+|unlimited)$)"};
  std::string letter;
  std::string value;
  if (RE2::PartialMatch(line, *kBash, &letter, &value) ||
      RE2::PartialMatch(line, *kZsh, &letter, &value)) {
    return {LimitOfLetter(letter[0]), value};
  }
  std::string name;
  if (RE2::PartialMatch(line, *kDash, &name, &value)) {
    for (const ShellLimit& limit : kShellLimits) {
      if (!limit.dash.empty() && limit.dash == name) return {&limit, value};
    }
  }
  return {nullptr, ""};
}

// --- lsmod

// The modules that checks look for. NVIDIA's other modules need the first one.
bool IsJudgedModule(absl::string_view name) {
  return name == "nvidia" || name == "nouveau" || name == "nova_core" || name == "amdgpu";
}

}  // namespace

absl::StatusOr<Converted> FreeMemory(absl::string_view text, absl::string_view command) {
  const TypedCommand typed(command, "free");
  const std::optional<double> plain = PlainKibOfFree(typed);
  const double base = typed.Has("--si") ? 1000 : 1024;
  std::vector<absl::string_view> columns;
  Converted converted;
  bool memory = false;
  const auto add = [&](absl::string_view field, absl::string_view word) {
    const auto kib = KibOfFree(word, plain.value_or(1), base);
    if (kib.has_value()) absl::StrAppend(&converted.text, field, ": ", *kib, " kB\n");
  };
  for (const absl::string_view line : PastedLines(text)) {
    const std::vector<absl::string_view> words = PastedWords(line);
    if (words.size() >= 3 && words[0] == "total" && words[1] == "used") {
      // -s repeats the table.
      if (memory) break;
      columns = words;
      continue;
    }
    if (words.size() < 3 || (words[0] != "Mem:" && words[0] != "Swap:")) continue;
    const bool lettered = absl::ascii_isalpha(static_cast<unsigned char>(words[1].back()));
    if (words[0] == "Mem:") {
      if (memory || (!lettered && !plain.has_value() && !OnlyKib(words[1]))) break;
      memory = true;
    }
    if (!memory) continue;
    const absl::string_view prefix = words[0] == "Mem:" ? "Mem" : "Swap";
    for (std::size_t i = 1; i < words.size(); ++i) {
      // If the heading is missing, only the total is sure: releases differ in the other columns.
      const absl::string_view column = i - 1 < columns.size() ? columns[i - 1]
                                       : i == 1               ? "total"
                                                              : "";
      if (column == "total") add(absl::StrCat(prefix, "Total"), words[i]);
      if (column == "free") add(absl::StrCat(prefix, "Free"), words[i]);
      if (column == "available") add("MemAvailable", words[i]);
      if (column == "shared" && prefix == "Mem") add("Shmem", words[i]);
      if (column == "buffers" && prefix == "Mem") add("Buffers", words[i]);
    }
  }
  if (converted.text.empty()) {
    return Unreadable("free", "no line gives memory in a known unit");
  }
  return converted;
}

absl::StatusOr<Converted> ShellLimits(absl::string_view text, absl::string_view command) {
  const TypedCommand typed(command, "ulimit");
  // The checks read soft limits.
  if (typed.HasLetter('H')) return Unreadable("ulimit", "these are hard limits");
  std::map<absl::string_view, std::pair<const ShellLimit*, std::string>> limits;
  const auto add = [&](const ShellLimit* limit, absl::string_view shown) {
    if (limit == nullptr) return;
    if (std::string value = LimitValue(*limit, shown); !value.empty()) {
      limits.try_emplace(limit->name, limit, std::move(value));
    }
  };
  for (const absl::string_view line : PastedLines(text)) {
    const auto [limit, value] = ReadShellLimit(std::string(line));
    add(limit, value);
    // "ulimit -l" prints the value alone.
    const std::vector<absl::string_view> words = PastedWords(line);
    if (limit == nullptr && words.size() == 1 && typed.arguments().size() == 1) {
      const absl::string_view letters = absl::StripPrefix(typed.arguments()[0], "-S");
      add(LimitOfLetter(letters.empty() ? '\0' : letters.back()), words[0]);
    }
  }
  if (limits.empty()) return Unreadable("ulimit", "no line describes a limit");
  Converted converted;
  const auto row = [&](absl::string_view name, absl::string_view soft, absl::string_view hard,
                       absl::string_view unit) {
    absl::StrAppend(&converted.text,
                    absl::StrFormat("%-25s %-20s %-20s %-10s", name, soft, hard, unit), "\n");
  };
  row("Limit", "Soft Limit", "Hard Limit", "Units");
  for (const auto& [name, limit] : limits) row(name, limit.second, "", limit.first->unit);
  converted.partial = limits.size() < 8;
  return converted;
}

absl::StatusOr<Converted> ModuleList(absl::string_view text, absl::string_view command) {
  const TypedCommand typed(command, "lsmod");
  Converted converted;
  bool heading = false;
  bool judged = false;
  std::set<std::string> listed;
  std::set<std::string> users;
  for (const absl::string_view line : PastedLines(text)) {
    const std::vector<absl::string_view> words = PastedWords(line);
    if (words.size() >= 2 && words[0] == "Module" && words[1] == "Size") heading = true;
    // "nvidia  11493376  45 nvidia_uvm,nvidia_peermem,nvidia_modeset"
    if (words.size() < 3 || words.size() > 4 || !IsNumber(words[1]) ||
        !IsNumber(absl::StripPrefix(words[2], "-")) ||
        !listed.insert(std::string(words[0])).second) {
      continue;
    }
    absl::StrAppend(&converted.text, words[0], " ", words[1], " ", words[2], " ");
    if (words.size() == 4) {
      for (const absl::string_view user : absl::StrSplit(words[3], ',', absl::SkipEmpty())) {
        users.emplace(user);
        absl::StrAppend(&converted.text, user, ",");
      }
    }
    absl::StrAppend(&converted.text, words.size() == 4 ? "\n" : "-\n");
  }
  if (listed.empty()) return Unreadable("lsmod", "no line describes a module");
  // A module that uses another one is loaded, even if grep removed its line.
  for (const std::string& user : users) {
    if (listed.insert(user).second) absl::StrAppend(&converted.text, user, " - - -\n");
  }
  for (const std::string& name : listed) judged |= IsJudgedModule(name);
  converted.partial = !heading || typed.filtered();
  // The file cannot say that lines are missing, and its readers take an unlisted module as not
  // loaded. The line of a driver's first module names the modules that use it, so it suffices.
  const bool asked = absl::StrContains(command, "nvidia") || absl::StrContains(command, "nouveau");
  if (converted.partial && !judged && !asked) {
    return Unreadable("lsmod", "the selected lines name no driver of a GPU");
  }
  return converted;
}

}  // namespace galen::intake
