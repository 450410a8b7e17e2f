#include "common/intake/machine_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

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

// Adds "01", "02", ... of "01-04", with the zeros of the first one. False: it is not a range, or
// the machines become too many.
bool AddRange(absl::string_view before, absl::string_view range, absl::string_view behind,
              std::vector<std::string>& machines) {
  constexpr std::size_t kMostDigits = 9;
  const std::size_t dash = range.find('-');
  const absl::string_view from = range.substr(0, dash);
  const absl::string_view to = dash == absl::string_view::npos ? from : range.substr(dash + 1);
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (from.size() > kMostDigits || to.size() > kMostDigits || !absl::SimpleAtoi(from, &first) ||
      !absl::SimpleAtoi(to, &last) || first < 0) {
    return false;
  }
  for (std::int64_t i = first; i <= last; ++i) {
    if (machines.size() == kMostMachines) return false;
    machines.push_back(
        absl::StrCat(before, absl::StrFormat("%0*d", static_cast<int>(from.size()), i), behind));
  }
  return first <= last;
}

// A device of a machine: outputs name these in lines of their own as well.
bool IsDevice(absl::string_view word) {
  static const RE2 device(
      R"((?i)^(?:nvidia|mlx|eth|ens|enp|eno|enx|ib|ibp|ibs|roce\w*|rdmap?|rocm|nvme|sd[a-z]|dm-|md|cuda|bond|br|veth|card|renderd|hsn|efa_|irdma|bnxt_re|cxi|hfi1_|cpu|tty|loop)[0-9_p]+\w*$)",
      ByteOptions());
  return RE2::FullMatch(Piece(word), device);
}

bool IsMachine(absl::string_view word, absl::Span<const std::string> machines) {
  if (!machines.empty()) {
    return std::find(machines.begin(), machines.end(), word) != machines.end();
  }
  return host::IsNodeName(word) && !IsDevice(word) &&
         absl::ascii_isalpha(static_cast<unsigned char>(word[0])) &&
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

void AddLines(std::size_t first, std::size_t end, MachinePart& part) {
  for (std::size_t i = first; i < end; ++i) part.lines.push_back(i);
}

std::vector<MachinePart> BelowHeadings(absl::Span<const absl::string_view> lines,
                                       absl::Span<const std::string> machines, bool echoes) {
  std::vector<MachinePart> parts;
  std::set<std::string> heads;
  MachinePart part;
  std::size_t first = 0;
  const auto end_part = [&](std::size_t end) {
    AddLines(first, end, part);
    if (!part.lines.empty()) parts.push_back(std::move(part));
    part = MachinePart();
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool ruled_above = i > first && IsRule(lines[i - 1]);
    const bool ruled_below = i + 1 < lines.size() && IsRule(lines[i + 1]);
    const absl::string_view bare = absl::StripAsciiWhitespace(lines[i]);
    const bool is_word = !bare.empty() && host::IsNodeName(bare);
    // Any program may print a word in a line of its own.
    if (is_word && machines.empty() && !echoes && !ruled_above && !ruled_below) continue;
    std::vector<std::string> named = Headed(lines[i], machines);
    if (named.empty()) continue;
    end_part(ruled_above ? i - 1 : i);
    heads.insert(named.begin(), named.end());
    part.machines = std::move(named);
    first = ruled_below ? i + 2 : i + 1;
  }
  end_part(lines.size());
  const std::size_t least = machines.empty() ? 2 : 1;
  return heads.size() < least ? std::vector<MachinePart>() : parts;
}

std::vector<MachinePart> ByPrefix(absl::Span<const absl::string_view> lines,
                                  absl::Span<const std::string> machines) {
  std::map<std::string, MachinePart> parts;
  std::size_t filled = 0;
  std::size_t prefixed = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (IsBlank(lines[i])) continue;
    ++filled;
    const std::size_t colon = lines[i].find(':');
    const std::string name(lines[i].substr(0, colon == absl::string_view::npos ? 0 : colon));
    if (!IsMachine(name, machines)) continue;  // pdsh's own messages
    ++prefixed;
    MachinePart& part = parts[name];
    part.machines = {name};
    part.prefix = colon + 2;
    part.lines.push_back(i);
  }
  const std::size_t least = machines.empty() ? 2 : 1;
  if (parts.size() < least || prefixed * 10 < filled * 8) return {};
  std::vector<MachinePart> all;
  for (auto& [name, part] : parts) all.push_back(std::move(part));
  return all;
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
                                        absl::Span<const std::string> machines, bool echoes) {
  // A blank line of pdsh, "gpu02: ", looks like a heading.
  std::vector<MachinePart> parts = ByPrefix(lines, machines);
  return parts.empty() ? BelowHeadings(lines, machines, echoes) : parts;
}

}  // namespace galen::intake
