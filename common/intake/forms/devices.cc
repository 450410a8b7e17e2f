// ls_dev: `ls -l` of /dev, of files in it (/dev/nvidia*) and of folders below it, by coreutils and
// BusyBox, as `ls -l /dev` prints it.
#include <cstddef>
#include <set>
#include <string>
#include <vector>

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

// A line of `ls -l`, up to the name.
struct DevLine {
  std::string head;  // mode, links, owner, group, numbers and time
  std::string name;
};

bool ReadDevLine(absl::string_view line, DevLine* out) {
  static const LazyRE2 kForm = {
      R"(^\s*([bcdlps-][rwxsStT-]{9}[.+@]?)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\d+,\s*\d+|\d\S*)\s+()"
      R"([A-Z][a-z]{2}\s+\d{1,2}\s+[\d:]{4,5}|\d{4}-\d\d-\d\d \d\d:\d\d(?::[\d.]+ [+-]\d{4})?)\s+(\S.*)$)"};
  std::string mode;
  std::string links;
  std::string owner;
  std::string group;
  std::string numbers;
  std::string time;
  if (!RE2::FullMatch(Piece(line), *kForm, &mode, &links, &owner, &group, &numbers, &time,
                      &out->name)) {
    return false;
  }
  // The checks expect two words, "195," and "254"; a narrow listing joins them.
  if (const std::size_t comma = numbers.find(','); comma != std::string::npos) {
    numbers = absl::StrCat(numbers.substr(0, comma + 1), " ",
                           absl::StripAsciiWhitespace(numbers.substr(comma + 1)));
  }
  // The checks expect a time of three words; --time-style=long-iso prints two.
  if (time.size() == 16) absl::StrAppend(&time, " -");
  out->head = absl::StrCat(mode, " ", links, " ", owner, " ", group, " ", numbers, " ", time);
  return true;
}

// The folder whose content the command lists without naming it: "infiniband" of
// `ls -l /dev/infiniband`.
std::string FolderOfCommand(const TypedCommand& typed) {
  const std::vector<std::string> operands = typed.operands();
  if (operands.size() != 1) return "";
  absl::string_view path = operands[0];
  if (!absl::ConsumePrefix(&path, "/dev/")) return "";
  absl::ConsumeSuffix(&path, "/");
  return path.find_first_of("/*?[{") == absl::string_view::npos ? std::string(path) : "";
}

}  // namespace

absl::StatusOr<Converted> DeviceNodes(absl::string_view text, absl::string_view command) {
  // The shell hands a glob that matches nothing to ls unchanged.
  static const LazyRE2 kNone = {R"(cannot access '?/dev/nvidia\*'?: No such file)"};
  static const LazyRE2 kFolder = {R"(^/dev(?:/([^:\s]+))?/?:$)"};
  const TypedCommand typed(command, "ls");
  std::string folder = FolderOfCommand(typed);
  std::set<std::string> names;
  std::set<std::string> folders;
  Converted converted;
  bool none = false;
  bool whole = false;
  for (const absl::string_view line : PastedLines(text)) {
    std::string next;
    if (RE2::FullMatch(Piece(absl::StripAsciiWhitespace(line)), *kFolder, &next)) {
      folder = next;
      if (!folder.empty()) folders.insert(folder.substr(0, folder.find('/')));
      continue;
    }
    none |= RE2::PartialMatch(Piece(line), *kNone);
    DevLine file;
    if (!ReadDevLine(line, &file)) continue;
    absl::string_view name = file.name;
    const bool full = absl::ConsumePrefix(&name, "/dev/");
    if (!full && !folder.empty()) {
      folders.insert(folder.substr(0, folder.find('/')));
      continue;
    }
    // A path below a folder proves only that the folder exists.
    const absl::string_view path = name.substr(0, name.find(" -> "));
    if (const std::size_t slash = path.find('/'); slash != absl::string_view::npos) {
      folders.emplace(path.substr(0, slash));
      continue;
    }
    whole |= name == "null";
    if (names.emplace(path).second) absl::StrAppend(&converted.text, file.head, " ", name, "\n");
  }
  for (const std::string& name : folders) {
    // ls prints question marks for attributes that it cannot read.
    if (names.insert(name).second) {
      absl::StrAppend(&converted.text, "d????????? ? ? ? ? ? ? ? ", name, "\n");
    }
  }
  if (converted.text.empty() && !none) return Unreadable("ls_dev", "no line describes a file");
  converted.text.insert(0, "total 0\n");
  // The checks judge the absence of NVIDIA's nodes only, and this glob asks for all of them.
  converted.partial = typed.filtered() || !(whole || typed.Has("/dev/nvidia*"));
  return converted;
}

}  // namespace galen::intake
