#include "common/intake/machine_parts.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/re2_piece.h"
#include "common/host/node_name.h"
#include "common/intake/line.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostMachines = 256;
constexpr std::size_t kMostHeading = 512;

// The parts of a list between commas outside of brackets.
std::vector<std::string> Listed(absl::string_view list) {
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char c : list) {
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (c == ',' && !inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// "01", "02", ... of "01-04": with the zeros of the first one. False: it is not a range.
bool AddRange(absl::string_view before, absl::string_view range, absl::string_view behind,
              std::vector<std::string>& machines) {
  const std::size_t dash = range.find('-');
  const absl::string_view from = range.substr(0, dash);
  const absl::string_view to = dash == absl::string_view::npos ? from : range.substr(dash + 1);
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  if (!absl::SimpleAtoi(from, &first) || !absl::SimpleAtoi(to, &last) || last < first ||
      last - first >= kMostMachines) {
    return false;
  }
  for (std::uint32_t i = first; i <= last; ++i) {
    machines.push_back(
        absl::StrCat(before, absl::StrFormat("%0*d", static_cast<int>(from.size()), i), behind));
  }
  return true;
}

bool IsMachine(absl::string_view word, absl::Span<const std::string> machines) {
  if (!machines.empty()) {
    return std::find(machines.begin(), machines.end(), word) != machines.end();
  }
  return host::IsNodeName(word) && absl::ascii_isalpha(static_cast<unsigned char>(word[0])) &&
         std::any_of(word.begin(), word.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

bool AreMachines(const std::vector<std::string>& words, absl::Span<const std::string> machines) {
  return !words.empty() && std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return IsMachine(word, machines);
  });
}

// The machines that a line heads the output of.
std::vector<std::string> Headed(absl::string_view line, absl::Span<const std::string> machines) {
  // "=== gpu02 ===", "gpu[01-04]", "[gpu02]:".
  static const RE2 heading(
      R"(^[\s\-=*#<>~+:|]*\[?([A-Za-z0-9][\w.\-]*(?:\[[\d,\-]+\][\w.\-]*)?(?:,[A-Za-z0-9][\w.\-]*(?:\[[\d,\-]+\][\w.\-]*)?)*)\]?[\s\-=*#<>~+:|]*$)",
      ByteOptions());
  // ansible lib/ansible/plugins/callback/minimal.py: "gpu02 | CHANGED | rc=0 >>".
  static const RE2 ansible(
      R"(^([A-Za-z0-9][\w.\-]*) \| (?:CHANGED|SUCCESS|FAILED!?|UNREACHABLE!)(?: \| rc=-?\d+)? (?:>>|=> ?\{?)$)",
      ByteOptions());
  if (line.size() > kMostHeading) return {};
  std::string list;
  if (!RE2::FullMatch(Piece(line), ansible, &list) &&
      !RE2::FullMatch(Piece(line), heading, &list)) {
    return {};
  }
  // A trailing sign of the decoration.
  while (!list.empty() && (list.back() == '-' || list.back() == '_')) list.pop_back();
  std::vector<std::string> named = MachinesOf(list);
  return AreMachines(named, machines) ? named : std::vector<std::string>();
}

// The line that dshbak and clush draw above and below a heading.
bool IsRule(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  return line.size() >= 3 && line.find_first_not_of("-=*#") == absl::string_view::npos;
}

std::vector<MachinePart> BelowHeadings(absl::Span<const absl::string_view> lines,
                                       absl::Span<const std::string> machines) {
  std::vector<MachinePart> parts;
  std::set<std::string> heads;
  MachinePart part;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> named = Headed(lines[i], machines);
    if (named.empty()) continue;
    part.end = i > part.first && IsRule(lines[i - 1]) ? i - 1 : i;
    if (part.end > part.first) parts.push_back(part);
    heads.insert(named.begin(), named.end());
    part.machines = std::move(named);
    part.first = i + 1 < lines.size() && IsRule(lines[i + 1]) ? i + 2 : i + 1;
  }
  part.end = lines.size();
  if (part.end > part.first) parts.push_back(part);
  const std::size_t least = machines.empty() ? 2 : 1;
  return heads.size() < least ? std::vector<MachinePart>() : parts;
}

std::vector<MachinePart> ByPrefix(absl::Span<const absl::string_view> lines,
                                  absl::Span<const std::string> machines) {
  std::vector<MachinePart> parts;
  std::set<std::string> heads;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (IsBlank(lines[i])) continue;
    const std::size_t colon = lines[i].find(':');
    const std::string name(lines[i].substr(0, colon == absl::string_view::npos ? 0 : colon));
    if (!IsMachine(name, machines)) return {};
    heads.insert(name);
    if (parts.empty() || parts.back().machines.front() != name) {
      const bool blank = lines[i].size() > colon + 1 && lines[i][colon + 1] == ' ';
      parts.push_back({{name}, i, i, colon + (blank ? 2 : 1)});
    }
    parts.back().end = i + 1;
  }
  return heads.size() < 2 ? std::vector<MachinePart>() : parts;
}

}  // namespace

std::vector<std::string> MachinesOf(absl::string_view list) {
  std::vector<std::string> machines;
  for (const std::string& each : Listed(list)) {
    const std::size_t open = each.find('[');
    const std::size_t close = each.find(']');
    if (open == std::string::npos) {
      machines.push_back(each);
    } else {
      if (close == std::string::npos || close < open) return {};
      const absl::string_view whole = each;
      for (const absl::string_view range :
           absl::StrSplit(whole.substr(open + 1, close - open - 1), ',')) {
        if (!AddRange(whole.substr(0, open), range, whole.substr(close + 1), machines)) return {};
      }
    }
    if (machines.size() > kMostMachines) return {};
  }
  const bool valid = std::all_of(machines.begin(), machines.end(),
                                 [](const std::string& name) { return host::IsNodeName(name); });
  return valid ? machines : std::vector<std::string>();
}

std::vector<MachinePart> PartsByMachine(absl::Span<const absl::string_view> lines,
                                        absl::Span<const std::string> machines) {
  std::vector<MachinePart> parts = BelowHeadings(lines, machines);
  return parts.empty() ? ByPrefix(lines, machines) : parts;
}

}  // namespace galen::intake
