#include "common/curation/proposal.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/knowledge/fields.h"
#include "common/knowledge/write_yaml.h"
#include "common/knowledge/yaml_document.h"

namespace galen::curation {
namespace {

constexpr absl::string_view kTopKeys[] = {"proposal",  "labels",      "checks",   "signals",
                                          "incidents", "error_codes", "hardware", "off"};
constexpr absl::string_view kHeadKeys[] = {"id",     "kind",   "made",
                                           "origin", "reason", "verification"};
constexpr std::size_t kMaxId = 100;
constexpr std::size_t kMaxSlug = 80;

bool IsIdCharacter(char c) {
  return absl::ascii_islower(static_cast<unsigned char>(c)) ||
         absl::ascii_isdigit(static_cast<unsigned char>(c));
}

// The head runs from its key to the next line that begins in the first column. Comments that begin
// there belong to the text after them.
std::string WithoutHead(absl::string_view text) {
  std::string rest;
  std::string comments;
  bool in_head = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (in_head && absl::StartsWith(line, "#")) {
      absl::StrAppend(&comments, line, "\n");
      continue;
    }
    const bool blank = absl::StripAsciiWhitespace(line).empty();
    const bool at_margin = !blank && line[0] != ' ' && line[0] != '\t';
    if (at_margin) in_head = absl::StartsWith(line, "proposal:");
    if (!blank && !comments.empty()) {
      // Lines keep their numbers.
      rest += in_head ? std::string(static_cast<std::size_t>(
                                        std::count(comments.begin(), comments.end(), '\n')),
                                    '\n')
                      : comments;
      comments.clear();
    }
    absl::StrAppend(&rest, in_head ? "" : line, "\n");
  }
  rest += comments;
  while (absl::EndsWith(rest, "\n\n")) rest.pop_back();
  return rest;
}

// Whether `rest` equals `whole` without the head. An unclosed quotation may reach from one into the
// other.
bool IsWithoutHead(const knowledge::YamlNode& rest, const knowledge::YamlNode& whole) {
  if (rest.kind == knowledge::YamlNode::Kind::kScalar) return false;
  std::vector<absl::string_view> kept;
  std::vector<absl::string_view> expected;
  for (const auto& field : rest.fields) kept.push_back(field.name);
  for (const auto& field : whole.fields) {
    if (field.name != "proposal") expected.push_back(field.name);
  }
  return kept == expected;
}

absl::Status ErrorOf(const std::vector<knowledge::Problem>& problems) {
  return absl::InvalidArgumentError(knowledge::ToString(problems.front()));
}

}  // namespace

bool IsProposalId(absl::string_view id) {
  if (id.empty() || id.size() > kMaxId || !IsIdCharacter(id[0])) return false;
  return std::all_of(id.begin(), id.end(),
                     [](char c) { return IsIdCharacter(c) || c == '.' || c == '_' || c == '-'; });
}

std::string Slug(absl::string_view text) {
  std::string slug;
  for (const char c : text) {
    const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    const bool kept = IsIdCharacter(lower) || (lower == '.' && !slug.empty());
    if (kept) {
      slug += lower;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
    if (slug.size() >= kMaxSlug) break;
  }
  while (!slug.empty() && !IsIdCharacter(slug.back())) slug.pop_back();
  return slug;
}

std::string ToText(const Proposal& proposal) {
  using knowledge::YamlText;
  std::string text =
      absl::StrCat("proposal:\n", YamlText(2, "id", proposal.id),
                   YamlText(2, "kind", proposal.kind), YamlText(2, "made", proposal.made));
  absl::StrAppend(&text, YamlText(2, "origin", proposal.origin),
                  YamlText(2, "reason", proposal.reason));
  if (!proposal.verification.empty()) absl::StrAppend(&text, "  verification:\n");
  for (const std::string& step : proposal.verification) {
    absl::StrAppend(&text, "    - ", knowledge::YamlScalar(step), "\n");
  }
  absl::string_view entries = proposal.knowledge;
  while (absl::ConsumePrefix(&entries, "\n")) {
  }
  return absl::StrCat(text, "\n", entries);
}

absl::StatusOr<Proposal> ProposalFromText(const std::string& name, absl::string_view text) {
  std::vector<knowledge::Problem> problems;
  if (text.size() > kMaxProposalBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has more than ", kMaxProposalBytes, " bytes; shorten it"));
  }
  // A byte order mark, which some editors write, counts only at the beginning of a text.
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  const std::optional<knowledge::YamlNode> root = knowledge::ReadYaml(text, name, problems);
  if (!root.has_value()) return ErrorOf(problems);
  const knowledge::FileContext context{name, problems};
  const knowledge::Fields file(context, *root, "proposal's file", kTopKeys);
  const knowledge::YamlNode* head = file.Find("proposal");
  if (head == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ":1: error: has no `proposal:`; this is not a proposal"));
  }
  const knowledge::Fields fields(context, *head, "proposal", kHeadKeys);
  Proposal proposal;
  proposal.id = fields.RequiredText("id");
  proposal.kind = fields.RequiredText("kind");
  proposal.made = fields.Date("made");
  proposal.origin = fields.Text("origin");
  proposal.reason = fields.Text("reason");
  google::protobuf::RepeatedPtrField<std::string> steps;
  fields.Texts("verification", steps);
  proposal.verification.assign(steps.begin(), steps.end());
  if (problems.empty() && !IsProposalId(proposal.id)) {
    context.Error(head->line, absl::StrCat("id \"", proposal.id, "\" is not a valid id"),
                  "use a-z, 0-9, dots and dashes, at most 100");
  }
  if (!problems.empty()) return ErrorOf(problems);
  proposal.knowledge = WithoutHead(text);
  // YAML can be written in other ways in which no line is the head.
  const std::optional<knowledge::YamlNode> rest =
      knowledge::ReadYaml(proposal.knowledge, name, problems);
  if (!rest.has_value() || !IsWithoutHead(*rest, *root)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ":", head->line,
                     ": error: the head is not written line by line; begin "
                     "it with a line `proposal:` and put the others below"));
  }
  return proposal;
}

std::string WithRuleNote(std::string knowledge) {
  const std::size_t owner = knowledge.find("    owner: ");
  knowledge.insert(owner == std::string::npos ? knowledge.size() : owner,
                   "    # confirm: what a check must find for this to be the cause; without it the "
                   "label is refused.\n");
  return knowledge;
}

}  // namespace galen::curation
