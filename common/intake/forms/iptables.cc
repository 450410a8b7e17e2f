// iptables: the commands that `iptables -S` prints (iptables/iptables.c, print_rule4), as
// iptables-save does. `iptables -L` leaves interfaces out, so its output is not used.
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {

absl::StatusOr<Converted> IptablesRules(absl::string_view text, absl::string_view command) {
  static const LazyRE2 kPolicy = {R"(^\s*-P (\S+) (ACCEPT|DROP|REJECT|QUEUE|RETURN)\b.*$)"};
  static const LazyRE2 kChain = {R"(^\s*-N (\S+)\s*$)"};
  static const LazyRE2 kTable = {R"(filter|nat|mangle|raw|security)"};
  const TypedCommand typed(command, "iptables");
  std::string table = typed.ValueOf({"-t", "--table"}).value_or("filter");
  if (!RE2::FullMatch(table, *kTable)) table = "filter";
  std::string chains;
  std::string rules;
  bool policy = false;
  for (const absl::string_view line : PastedLines(text)) {
    std::string chain;
    std::string target;
    if (RE2::FullMatch(Piece(line), *kPolicy, &chain, &target)) {
      absl::StrAppend(&chains, ":", chain, " ", target, " [0:0]\n");
      policy = true;
    } else if (RE2::FullMatch(Piece(line), *kChain, &chain)) {
      absl::StrAppend(&chains, ":", chain, " - [0:0]\n");
    } else if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "-A ")) {
      absl::StrAppend(&rules, absl::StripAsciiWhitespace(line), "\n");
    }
  }
  if (chains.empty() && rules.empty()) return Unreadable("iptables", "no line is a rule of -S");
  Converted converted;
  converted.text = absl::StrCat("*", table, "\n", chains, rules, "COMMIT\n");
  // Chains that -S was asked for alone have no policies of the others.
  converted.partial = typed.filtered() || !policy || !typed.known();
  return converted;
}

}  // namespace galen::intake
