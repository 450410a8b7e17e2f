// df, df_inodes: `df` of coreutils and BusyBox, with any units, as `df -PT` and `df -Pi` print it.
// mount: `mount` of util-linux without arguments, as /proc/mounts has it (proc(5)).
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

// Blanks as /proc/mounts writes them, so that a name is one word.
std::string OneWord(absl::string_view name) {
  return absl::StrReplaceAll(name, {{" ", "\\040"}, {"\t", "\\011"}});
}

// The units of the numbers in a table of df.
struct DfUnits {
  double plain_kib = 1;  // of a number without a letter
  double base = 1024;    // of the letters
};

// "12%" or "-", in front of the target.
bool IsShare(absl::string_view word) {
  return word == "-" || (absl::ConsumeSuffix(&word, "%") && IsNumber(word));
}

// "1.8T", "64M", "931G", "0", "2048": KiB; nothing for another word.
std::optional<double> KibOf(absl::string_view word, const DfUnits& units) {
  static constexpr absl::string_view kLetters = "KMGTPEZ";
  double scale = units.plain_kib;
  if (!word.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(word.back()))) {
    absl::ConsumeSuffix(&word, "iB");
    absl::ConsumeSuffix(&word, "i");
    if (word.size() > 1 && word.back() == 'B') word.remove_suffix(1);
    scale = 1.0 / 1024;
    if (!word.empty() && absl::ascii_isalpha(static_cast<unsigned char>(word.back()))) {
      const std::size_t power =
          kLetters.find(absl::ascii_toupper(static_cast<unsigned char>(word.back())));
      if (power == absl::string_view::npos) return std::nullopt;
      scale = std::pow(units.base, static_cast<double>(power) + 1) / 1024;
      word.remove_suffix(1);
    }
  }
  // Many locales write "1,8T".
  const std::string digits = absl::StrReplaceAll(word, {{",", "."}});
  double number = 0;
  if (digits.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(digits[0])) ||
      !absl::SimpleAtod(digits, &number)) {
    return std::nullopt;
  }
  number *= scale;
  return number < 1e15 ? std::optional<double>(number) : std::nullopt;
}

// A row of df. Its columns are found from the share on, because source and target may hold blanks.
struct DfRow {
  std::string source;
  std::string type;
  std::vector<absl::string_view> numbers;  // size, used, available
  absl::string_view share;
  std::string target;
};

// `wrapped`: the source, if an old df printed it on a line of its own; else "".
std::optional<DfRow> ReadDfRow(const std::vector<absl::string_view>& words,
                               absl::string_view wrapped, bool typed) {
  const std::size_t own = wrapped.empty() ? 1 : 0;  // words of the source, at least
  for (std::size_t at = own + 3; at + 1 < words.size(); ++at) {
    if (!IsShare(words[at]) || words[at + 1][0] != '/') continue;
    DfRow row;
    row.share = words[at];
    row.target = JoinFrom(words, at + 1);
    row.numbers.assign(words.begin() + static_cast<std::ptrdiff_t>(at) - 3,
                       words.begin() + static_cast<std::ptrdiff_t>(at));
    std::size_t before = at - 3;  // words of the source and the type
    // If the heading is missing, a word between the source and the numbers is a type.
    if (before == own + 1 || (typed && before > own)) {
      row.type = std::string(words[--before]);
    }
    row.source = std::string(wrapped);
    for (std::size_t i = 0; i < before; ++i) {
      absl::StrAppend(&row.source, row.source.empty() ? "" : " ", words[i]);
    }
    return row;
  }
  return std::nullopt;
}

// A file system without a device has its type's name as its source; container runtimes call the
// tmpfs at /dev/shm "shm".
std::string TypeBySource(absl::string_view source) {
  static constexpr absl::string_view kTypes[] = {"tmpfs",    "devtmpfs", "overlay", "efivarfs",
                                                 "squashfs", "ramfs",    "proc",    "sysfs"};
  if (absl::c_linear_search(kTypes, source)) return std::string(source);
  if (source == "shm") return "tmpfs";
  if (source == "udev") return "devtmpfs";
  return "-";
}

// How many KiB a number of that column counts: "1K-blocks", "1024-blocks", "1M-blocks".
std::optional<double> BlockSize(absl::string_view heading) {
  if (!absl::ConsumeSuffix(&heading, "-blocks")) return std::nullopt;
  double bytes = 0;
  if (absl::SimpleAtod(heading, &bytes) && bytes > 0) return bytes / 1024;
  const auto kib = KibOf(heading, DfUnits());
  return kib.value_or(0) > 0 ? kib : std::nullopt;
}

struct DfHeading {
  bool found = false;
  bool typed = false;
  bool inodes = false;
  bool foreign = false;  // columns that Linux does not print
};

DfHeading ReadDfHeading(const std::vector<absl::string_view>& words, DfUnits* units) {
  DfHeading heading;
  heading.found = !words.empty() && words[0] == "Filesystem";
  if (!heading.found) return heading;
  heading.typed = words.size() > 1 && words[1] == "Type";
  for (const absl::string_view word : words) {
    heading.inodes |= word == "Inodes" || word == "IUsed";
    heading.foreign |= word == "iused" || word == "%iused";
    if (const auto kib = BlockSize(word); kib.has_value()) units->plain_kib = *kib;
  }
  return heading;
}

DfUnits UnitsOfCommand(const TypedCommand& typed) {
  DfUnits units;
  if (typed.HasLetter('m') || typed.Has("-BM")) units.plain_kib = 1024;
  if (typed.Has("-BG")) units.plain_kib = 1024.0 * 1024;
  if (typed.HasLetter('H') || typed.Has("--si")) units.base = 1000;
  return units;
}

absl::StatusOr<Converted> ConvertDf(absl::string_view form, bool inodes, absl::string_view text,
                                    absl::string_view command) {
  const TypedCommand typed(command, "df");
  DfUnits units = UnitsOfCommand(typed);
  const bool asked_inodes = typed.HasLetter('i') || typed.Has("--inodes");
  DfHeading heading;
  bool of_inodes = asked_inodes;
  std::string wrapped;
  std::vector<DfRow> rows;
  for (const absl::string_view line : PastedLines(text)) {
    const std::vector<absl::string_view> words = PastedWords(line);
    if (const DfHeading next = ReadDfHeading(words, &units); next.found) {
      // A second table belongs to another machine or another time.
      if (!rows.empty()) break;
      if (next.foreign) return Unreadable(form, "this is not the table of a Linux df");
      heading = next;
      of_inodes = next.inodes;
    } else if (of_inodes != inodes) {
      continue;
    } else if (auto row = ReadDfRow(words, wrapped, heading.typed); row.has_value()) {
      rows.push_back(*std::move(row));
      wrapped.clear();
    } else {
      wrapped = words.size() == 1 ? std::string(words[0]) : "";
    }
  }
  // df abbreviates counts of inodes with the same letters.
  const DfUnits numbers = inodes ? DfUnits{.plain_kib = 1, .base = 1024} : units;
  Converted converted;
  converted.text = inodes ? "Filesystem Inodes IUsed IFree IUse% Mounted on\n"
                          : "Filesystem Type 1024-blocks Used Available Capacity Mounted on\n";
  bool any = false;
  for (const DfRow& row : rows) {
    std::string shown;
    bool total = false;
    for (const absl::string_view word : row.numbers) {
      auto number = KibOf(word, numbers);
      // KibOf() divides by 1024, which a count does not need.
      if (number.has_value() && inodes && !IsNumber(word)) *number *= 1024;
      total |= shown.empty() && number.has_value();
      absl::StrAppend(&shown, " ", number.has_value() ? absl::StrCat(std::llround(*number)) : "-");
    }
    if (!total) continue;
    any = true;
    const std::string type = row.type.empty() ? TypeBySource(row.source) : row.type;
    absl::StrAppend(&converted.text, OneWord(row.source), inodes ? "" : " ", inodes ? "" : type,
                    shown, " ", row.share, " ", row.target, "\n");
  }
  if (!any) {
    return Unreadable(form, of_inodes == inodes ? "no line is one of df's table"
                            : of_inodes         ? "the table counts inodes"
                                                : "the table counts blocks");
  }
  converted.partial = !heading.found || typed.filtered() || !typed.operands().empty();
  return converted;
}

}  // namespace

absl::StatusOr<Converted> DiskFree(absl::string_view text, absl::string_view command) {
  return ConvertDf("df", /*inodes=*/false, text, command);
}

absl::StatusOr<Converted> DiskFreeInodes(absl::string_view text, absl::string_view command) {
  return ConvertDf("df_inodes", /*inodes=*/true, text, command);
}

absl::StatusOr<Converted> MountList(absl::string_view text, absl::string_view command) {
  // "/dev/sda1 on / type ext4 (rw,relatime) [root]"
  static const LazyRE2 kMount = {
      R"(^\s*(\S.*?) on (/.*?) type (\S+) \(([^()\s]+)\)(?: \[[^\]]*\])?$)"};
  Converted converted;
  bool root = false;
  for (const absl::string_view line : PastedLines(text)) {
    std::string source;
    std::string target;
    std::string type;
    std::string options;
    if (!RE2::FullMatch(Piece(line), *kMount, &source, &target, &type, &options)) continue;
    root |= target == "/";
    absl::StrAppend(&converted.text, OneWord(source), " ", OneWord(target), " ", type, " ", options,
                    "\n");
  }
  if (converted.text.empty()) return Unreadable("mount", "no line describes a mount");
  converted.partial = !root || TypedCommand(command, "mount").filtered();
  return converted;
}

}  // namespace galen::intake
