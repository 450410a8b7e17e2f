// Fuzzes tickets and proposals: files from elsewhere or edited by a person, and the files written
// from them.
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/curation/proposal.h"
#include "common/curation/tickets.h"
#include "common/knowledge/write_yaml.h"
#include "common/knowledge/yaml_document.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void JsonTickets(absl::string_view text) {
  std::istringstream in{std::string(text)};
  Use(curation::ReadJsonLines(in, "tickets.jsonl"));
}

void CsvTickets(absl::string_view text) {
  std::istringstream in{std::string(text)};
  Use(curation::ReadCsv(in, "tickets.csv"));
}

// A proposal survives being written and read again.
void Proposal(absl::string_view text) {
  const auto proposal = curation::ProposalFromText("p.yaml", text);
  if (!proposal.ok()) return;
  const auto again = curation::ProposalFromText("p.yaml", curation::ToText(*proposal));
  if (!again.ok() || again->id != proposal->id || again->verification != proposal->verification) {
    __builtin_trap();
  }
}

// Any text survives in a file, in a block and within braces.
void Written(absl::string_view raw) {
  const std::string text = CleanText(raw, 2000);
  for (const std::string& yaml :
       {absl::StrCat("list:\n  - a: b\n", knowledge::YamlText(4, "key", text)),
        absl::StrCat("list:\n  - {a: b, key: ", knowledge::YamlScalar(text), "}\n")}) {
    std::vector<knowledge::Problem> problems;
    const std::optional<knowledge::YamlNode> root = knowledge::ReadYaml(yaml, "w.yaml", problems);
    if (!root.has_value() || root->fields[0].value.items[0].fields[1].value.scalar != text)
      __builtin_trap();
  }
}

void SlugOf(absl::string_view text) {
  const std::string slug = curation::Slug(text);
  if (!slug.empty() && !curation::IsProposalId(slug)) __builtin_trap();
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> parsers = {
      {"json_tickets", JsonTickets},
      {"csv_tickets", CsvTickets},
      {"proposal", Proposal},
      {"written", Written},
      {"slug", SlugOf},
  };
  return parsers;
}

}  // namespace galen::fuzz
