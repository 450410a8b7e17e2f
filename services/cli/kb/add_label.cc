#include "services/cli/kb/add_label.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/curation/json.h"
#include "common/curation/proposal_store.h"
#include "common/knowledge/load.h"
#include "common/knowledge/words.h"
#include "common/knowledge/write_yaml.h"
#include "services/cli/kb/site.h"

namespace galen::cli {
namespace {

using knowledge::v1::KnowledgeBase;

// The first words of `text` and its rest. INVALID_ARGUMENT names the option and its form.
absl::StatusOr<std::vector<std::string>> Parts(absl::string_view option, absl::string_view form,
                                               absl::string_view text) {
  const std::size_t count = std::vector<absl::string_view>(absl::StrSplit(form, ' ')).size();
  std::vector<std::string> parts;
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  while (parts.size() + 1 < count && !rest.empty()) {
    const std::size_t space = rest.find(' ');
    parts.emplace_back(rest.substr(0, space));
    rest = space == absl::string_view::npos ? absl::string_view()
                                            : absl::StripLeadingAsciiWhitespace(rest.substr(space));
  }
  if (!rest.empty()) parts.emplace_back(rest);
  if (parts.size() == count) return parts;
  return absl::InvalidArgumentError(
      absl::StrCat(option, " \"", text, "\": write it as \"", form, "\""));
}

template <typename Enum>
absl::StatusOr<Enum> WordFor(absl::string_view option, absl::string_view word,
                             absl::Span<const knowledge::Word<Enum>> words) {
  if (const auto value = knowledge::ValueOf(words, word); value.has_value()) return *value;
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": \"", word, "\" is not known; ",
                   knowledge::Suggest(word, knowledge::Texts(words))));
}

constexpr absl::string_view kRuleForm = "CHECK FINDING OP VALUE";
constexpr absl::string_view kSignalForm = "WHERE STRENGTH PATTERN";
constexpr absl::string_view kFindingForm = "NAME TYPE SUBJECT PATTERN";

absl::Status AddRules(absl::string_view option, const std::vector<std::string>& texts,
                      google::protobuf::RepeatedPtrField<knowledge::v1::Rule>& rules) {
  for (const std::string& text : texts) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> parts, Parts(option, kRuleForm, text));
    knowledge::v1::Rule& rule = *rules.Add();
    rule.set_check(parts[0]);
    rule.set_finding(parts[1]);
    GALEN_ASSIGN_OR_RETURN(const auto op, WordFor(option, parts[2], knowledge::OpWords()));
    rule.set_op(op);
    rule.set_value(parts[3]);
  }
  return absl::OkStatus();
}

absl::Status AddSignals(const AddLabelArguments& arguments, KnowledgeBase& base) {
  for (const std::string& text : arguments.signals) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> parts,
                           Parts("--signal", kSignalForm, text));
    knowledge::v1::SignalPattern& signal = *base.add_signals();
    for (absl::string_view place : absl::StrSplit(parts[0], ',', absl::SkipEmpty())) {
      GALEN_ASSIGN_OR_RETURN(const auto where, WordFor("--signal", place, knowledge::WhereWords()));
      signal.add_where(where);
    }
    GALEN_ASSIGN_OR_RETURN(const auto strength,
                           WordFor("--signal", parts[1], knowledge::StrengthWords()));
    signal.set_strength(strength);
    signal.set_role(galen::v1::PRIMARY);
    signal.set_pattern(parts[2]);
    signal.add_labels(arguments.label);
  }
  return absl::OkStatus();
}

absl::Status AddCheck(const AddLabelArguments& arguments, KnowledgeBase& base) {
  if (arguments.check.empty()) return absl::OkStatus();
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name(arguments.check);
  check.set_title(arguments.title);
  check.set_kind(knowledge::v1::Check::EXTRACT);
  absl::Duration cost;
  if (!absl::ParseDuration(arguments.cost, &cost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cost \"", arguments.cost, "\": write a duration with its unit: 500ms, 2s"));
  }
  *check.mutable_cost() = ToProtoDuration(cost);
  check.set_file(arguments.file);
  for (absl::string_view word : absl::StrSplit(arguments.command, ' ', absl::SkipEmpty())) {
    check.add_command(std::string(word));
  }
  for (const std::string& text : arguments.findings) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> parts,
                           Parts("--finding", kFindingForm, text));
    knowledge::v1::FindingSpec& finding = *check.add_findings();
    finding.set_name(parts[0]);
    finding.set_type(parts[1]);
    finding.set_subject(parts[2]);
    finding.set_pattern(parts[3]);
  }
  return absl::OkStatus();
}

absl::StatusOr<KnowledgeBase> MakeEntries(const AddLabelArguments& arguments) {
  KnowledgeBase base;
  knowledge::v1::Label& label = *base.add_labels();
  label.set_label(arguments.label);
  label.set_title(arguments.title);
  label.set_description(arguments.description);
  for (const std::string& symptom : arguments.symptoms) label.add_symptoms(symptom);
  label.set_owner(arguments.owner);
  label.set_severity(arguments.severity);
  label.set_prior(arguments.prior);
  label.set_mitigation(arguments.mitigation);
  label.set_added(Today());
  GALEN_RETURN_IF_ERROR(AddRules("--defining", arguments.defining, *label.mutable_confirm()));
  for (knowledge::v1::Rule& rule : *label.mutable_confirm()) rule.set_defining(true);
  GALEN_RETURN_IF_ERROR(AddRules("--confirm", arguments.confirm, *label.mutable_confirm()));
  GALEN_RETURN_IF_ERROR(AddRules("--refute", arguments.refute, *label.mutable_refute()));
  GALEN_RETURN_IF_ERROR(AddSignals(arguments, base));
  GALEN_RETURN_IF_ERROR(AddCheck(arguments, base));
  return base;
}

// Asks for what was not said. False: the person went away.
class Guide {
 public:
  explicit Guide(Console& console) : console_(console) {}

  void One(std::string& text, absl::string_view question) {
    if (!text.empty() || gone_) return;
    text = Ask(question);
  }
  void Many(std::vector<std::string>& texts, absl::string_view question) {
    if (!texts.empty()) return;
    while (!gone_) {
      std::string text = Ask(absl::StrCat(question, " (empty: done)"));
      if (text.empty()) return;
      texts.push_back(std::move(text));
    }
  }
  bool gone() const { return gone_; }

 private:
  std::string Ask(absl::string_view question) {
    console_.out << question << ": " << std::flush;
    std::string answer;
    if (!std::getline(console_.in, answer)) gone_ = true;
    return std::string(absl::StripAsciiWhitespace(answer));
  }

  Console& console_;
  bool gone_ = false;
};

void AskForMissing(AddLabelArguments& arguments, Console& console) {
  Guide guide(console);
  guide.One(arguments.label, "Label, MAIN.SUB.DETAIL");
  guide.One(arguments.title, "Title, a few words");
  guide.One(arguments.description, "Description, a few sentences");
  guide.Many(arguments.symptoms, "A symptom, as a customer sees it");
  guide.Many(arguments.signals,
             absl::StrCat("A known message: ", kSignalForm,
                          ", such as \"kernel_log strong leak detector [0-9]+: wet\""));
  if (arguments.confirm.empty() && arguments.defining.empty()) {
    guide.One(arguments.check,
              "A check of your own that decides it, area.name (empty: an existing one decides)");
    if (!arguments.check.empty()) {
      if (arguments.command.empty()) guide.One(arguments.file, "File that it reads (empty: none)");
      if (arguments.file.empty()) guide.One(arguments.command, "Command that it runs");
      guide.Many(arguments.findings, absl::StrCat("A finding: ", kFindingForm,
                                                  ", such as \"wet bool node ^state: wet\""));
    }
  }
  guide.Many(arguments.defining,
             absl::StrCat("A rule that sees the fault itself, and convicts alone: ", kRuleForm,
                          ", such as \"site.leak wet == true\""));
  guide.Many(arguments.confirm, "A rule that speaks for it, written likewise");
  guide.Many(arguments.refute, "A rule that refutes, written likewise");
  guide.One(arguments.owner, "Owner of the repair: customer, provider or either");
  guide.One(arguments.severity, "Severity: low, medium, high or critical");
  guide.One(arguments.prior, "How frequent it is: low, medium or high");
  guide.One(arguments.mitigation, "Mitigation: what to do about it");
}

absl::Status Add(AddLabelArguments arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         WithSite(arguments.knowledge, arguments.site));
  if (console.may_ask && !arguments.json) AskForMissing(arguments, console);
  if (arguments.label.empty()) {
    return absl::InvalidArgumentError("--label: name it, MAIN.SUB.DETAIL");
  }
  const std::string slug = curation::Slug(arguments.label);
  if (slug.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--label \"", arguments.label, "\": write MAIN.SUB.DETAIL in upper case"));
  }
  GALEN_ASSIGN_OR_RETURN(const KnowledgeBase entries, MakeEntries(arguments));
  const std::string name = absl::StrCat(slug, ".yaml");
  const std::string path = absl::StrCat(directories.back(), "/", name);
  if (!arguments.replace) {
    std::vector<knowledge::Problem> ignored;
    std::vector<std::string> existing = directories;
    std::error_code no_site;
    if (!std::filesystem::is_directory(existing.back(), no_site)) existing.pop_back();
    GALEN_ASSIGN_OR_RETURN(const KnowledgeBase before, knowledge::Parse(existing, ignored));
    for (const knowledge::v1::Label& label : before.labels()) {
      if (label.label() != arguments.label) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("label ", arguments.label, ": is already in ", label.source().file(), ":",
                       label.source().line(), "; --replace puts the new one in its place, whole"));
    }
  }
  const std::string text = knowledge::ToYaml(entries);
  if (const absl::Status sound = curation::LintCandidate(directories, name, text); !sound.ok()) {
    std::string numbered;
    int line = 0;
    for (absl::string_view each : absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), '\n')) {
      absl::StrAppend(&numbered, "\n", Pad(absl::StrCat(++line), 4), each);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("nothing is written:\n", sound.message(), "\n", numbered));
  }
  GALEN_RETURN_IF_ERROR(curation::WriteAtomically(path, text));
  if (arguments.json) {
    console.out << curation::JsonObject().Add("label", arguments.label).Add("file", path).Text()
                << std::endl;
  } else {
    console.out << path << ": label " << arguments.label << " with "
                << entries.labels(0).confirm_size() + entries.labels(0).refute_size() << " rules, "
                << entries.signals_size() << " signals and " << entries.checks_size()
                << " checks; the next diagnosis looks for it" << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace

ExitCode AddLabel(AddLabelArguments arguments, Console& console) {
  const absl::Status status = Add(std::move(arguments), console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
