#include "services/gateway/tickets/document.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/cause_in_words.h"
#include "common/base/proto_time.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/crypto/sha256.h"
#include "common/host/secrets.h"

namespace galen::gateway::tickets {
namespace {

using Kind = Block::Kind;

constexpr int kMostEvidence = 12;
constexpr int kMostCauses = 10;
constexpr int kMostTested = 40;
constexpr int kMostReasons = 3;
constexpr int kMostSteps = 12;
constexpr std::size_t kLine = 500;
constexpr std::size_t kExcerpt = 1500;
constexpr std::size_t kReported = 2000;
// Bytes of a text that are searched for secrets beyond its visible part.
constexpr std::size_t kBeyond = 4096;

// Secrets are removed before the text is cut: half a secret cannot be recognised.
std::string Line(absl::string_view text, std::size_t most = kLine) {
  return CleanText(absl::StrReplaceAll(host::WithoutSecrets(text), {{"\n", " "}, {"\t", " "}}),
                   most);
}

std::string Lines(absl::string_view text, std::size_t most) {
  return CleanText(host::WithoutSecrets(CleanText(text, most + kBeyond)), most);
}

std::string NameOf(const galen::v1::Device& device, Reader audience) {
  std::string name = device.node();
  if (!device.device().empty()) {
    absl::StrAppend(&name, name.empty() ? "" : " ", device.device());
  }
  if (!device.pci_address().empty()) absl::StrAppend(&name, " (", device.pci_address(), ")");
  if (audience == Reader::kProvider && !device.serial().empty()) {
    absl::StrAppend(&name, " serial ", device.serial());
  }
  return Line(name, 200);
}

std::string DevicesOf(const galen::v1::Cause& cause, Reader audience) {
  std::vector<std::string> names;
  for (const galen::v1::Device& device : cause.devices()) {
    if (names.size() == 8) {
      names.push_back(absl::StrCat("and ", cause.devices_size() - 8, " more"));
      break;
    }
    names.push_back(NameOf(device, audience));
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace

absl::string_view StateName(galen::v1::Diagnosis::State state) {
  switch (state) {
    case galen::v1::Diagnosis::SUCCEEDED:
      return "concluded";
    case galen::v1::Diagnosis::ESCALATED:
      return "escalated";
    case galen::v1::Diagnosis::AWAITING_FEEDBACK:
      return "awaiting_feedback";
    case galen::v1::Diagnosis::FAILED:
      return "failed";
    case galen::v1::Diagnosis::CANCELLED:
      return "cancelled";
    default:
      return "running";
  }
}

namespace {

absl::string_view StateSentence(galen::v1::Diagnosis::State state) {
  switch (state) {
    case galen::v1::Diagnosis::SUCCEEDED:
      return "The diagnosis is concluded: a cause is confirmed.";
    case galen::v1::Diagnosis::ESCALATED:
      return "The diagnosis was handed to a person.";
    case galen::v1::Diagnosis::AWAITING_FEEDBACK:
      return "Nothing is confirmed yet: the diagnosis waits for what you know. A comment here that "
             "answers is taken as feedback, where this is set up.";
    case galen::v1::Diagnosis::FAILED:
      return "The diagnosis could not be carried through.";
    case galen::v1::Diagnosis::CANCELLED:
      return "The diagnosis was cancelled.";
    default:
      return "The diagnosis is under way.";
  }
}

std::string SeverityOf(const galen::v1::Diagnosis& diagnosis) {
  const galen::v1::Report& report = diagnosis.report();
  const std::string& said = report.primary_cause().severity();
  for (const absl::string_view known : {"low", "medium", "high", "critical"}) {
    if (said == known) return said;
  }
  return report.outcome() == galen::v1::Report::CAUSE_CONFIRMED ? "high" : "medium";
}

void AddCause(const galen::v1::Cause& cause, absl::string_view lead, Reader audience,
              std::vector<Block>& body) {
  const std::string devices = DevicesOf(cause, audience);
  const std::string label = Line(cause.label(), 120);
  // An effect may be a symptom, which has only a name: "Xid 45".
  std::string text =
      cause.title().empty() ? label : absl::StrCat(Line(cause.title()), " (", label, ")");
  if (!devices.empty()) absl::StrAppend(&text, " on ", devices);
  if (cause.probability() > 0)
    absl::StrAppendFormat(&text, ", probability %.2f", cause.probability());
  absl::StrAppend(&text, ". ", Line(cause.explanation(), 1000));
  body.push_back({Kind::kText, std::move(text), std::string(lead), ""});
}

void AddTested(const google::protobuf::RepeatedPtrField<galen::v1::Cause>& causes,
               absl::string_view heading, std::vector<Block>& body) {
  if (causes.empty()) return;
  body.push_back({Kind::kHeading, std::string(heading), "", ""});
  for (int i = 0; i < causes.size() && i < kMostTested; ++i) {
    body.push_back(
        {Kind::kItem, Line(causes[i].explanation()),
         absl::StrCat(Line(causes[i].title(), 200), " (", Line(causes[i].label(), 120), "):"), ""});
  }
  if (causes.size() > kMostTested) {
    body.push_back(
        {Kind::kItem, absl::StrCat("and ", causes.size() - kMostTested, " more"), "", ""});
  }
}

// Hypotheses that have a verdict but are missing from the report: an escalation may precede the
// report.
void AddVerdicts(const galen::v1::Diagnosis& diagnosis, std::vector<Block>& body) {
  int shown = 0;
  for (const galen::v1::Hypothesis& hypothesis : diagnosis.hypotheses()) {
    if (!hypothesis.has_verdict()) continue;
    if (shown == 0) body.push_back({Kind::kHeading, "Hypotheses tested so far", "", ""});
    if (++shown > kMostTested) return;
    std::vector<std::string> reasons;
    for (const galen::v1::Reason& reason : hypothesis.verdict().reasons()) {
      if (reasons.size() < kMostReasons) reasons.push_back(Line(reason.text(), 300));
    }
    std::string outcome = galen::v1::Verdict::Outcome_Name(hypothesis.verdict().outcome());
    body.push_back({Kind::kItem, absl::StrJoin(reasons, "; "),
                    absl::StrCat(Line(hypothesis.label(), 120), " ", outcome, ":"), ""});
  }
}

// Questions that would decide, in plain words for a customer and as commands for a provider; a
// reply in the ticket counts as an answer.
void AddQuestions(const galen::v1::Report& report, Reader reader, std::vector<Block>& body) {
  if (report.questions().empty()) return;
  body.push_back({Kind::kHeading, "Open questions", "", ""});
  for (const galen::v1::Question& question : report.questions()) {
    const bool exact = reader == Reader::kProvider && !question.commands().empty();
    const std::string text =
        exact ? absl::StrCat(absl::StrJoin(question.commands(), ", "),
                             question.node().empty() ? "" : " on ", question.node())
              : question.text();
    body.push_back({Kind::kItem, Line(text, 400), "", ""});
  }
}

void AddEvidence(const galen::v1::Report& report, std::vector<Block>& body) {
  // Evidence of the primary cause comes first.
  std::vector<const galen::v1::Evidence*> evidence;
  for (const galen::v1::Evidence& one : report.evidence()) evidence.push_back(&one);
  const auto& cited = report.has_primary_cause() ? report.primary_cause().evidence_ids()
                                                 : report.presumed_cause().evidence_ids();
  std::stable_partition(evidence.begin(), evidence.end(), [&cited](const galen::v1::Evidence* one) {
    return std::find(cited.begin(), cited.end(), one->id()) != cited.end();
  });
  if (evidence.empty()) return;
  body.push_back({Kind::kHeading, "Evidence", "", ""});
  for (std::size_t i = 0; i < evidence.size() && i < kMostEvidence; ++i) {
    body.push_back({Kind::kText, Line(evidence[i]->text()),
                    absl::StrCat(Line(evidence[i]->id(), 120), ":"), ""});
    if (!evidence[i]->excerpt().empty()) {
      body.push_back({Kind::kCode, Lines(evidence[i]->excerpt(), kExcerpt), "", ""});
    }
  }
  if (evidence.size() > kMostEvidence) {
    body.push_back({Kind::kText,
                    absl::StrCat("and ", evidence.size() - kMostEvidence, " more in the report"),
                    "", ""});
  }
}

void AddList(const google::protobuf::RepeatedPtrField<std::string>& texts,
             absl::string_view heading, std::vector<Block>& body) {
  if (texts.empty()) return;
  body.push_back({Kind::kHeading, std::string(heading), "", ""});
  for (int i = 0; i < texts.size() && i < kMostSteps; ++i) {
    body.push_back({Kind::kItem, Line(texts[i]), "", ""});
  }
}

void AddActions(const galen::v1::Report& report, Reader audience, std::vector<Block>& body) {
  std::vector<const galen::v1::Cause*> causes;
  if (report.has_primary_cause()) causes.push_back(&report.primary_cause());
  for (const galen::v1::Cause& cause : report.other_causes()) causes.push_back(&cause);
  bool first = true;
  for (const galen::v1::Cause* cause : causes) {
    if (cause->mitigation().empty()) continue;
    if (first) {
      body.push_back(
          {Kind::kHeading, "Proposed actions (each needs the approval of a person)", "", ""});
    }
    first = false;
    body.push_back({Kind::kItem, Line(cause->mitigation()),
                    absl::StrCat(DevicesOf(*cause, audience).empty() ? Line(cause->label(), 120)
                                                                     : DevicesOf(*cause, audience),
                                 ":"),
                    ""});
  }
}

void AddReport(const galen::v1::Report& report, Reader audience, std::vector<Block>& body) {
  if (report.has_primary_cause()) AddCause(report.primary_cause(), "Cause:", audience, body);
  if (report.has_presumed_cause()) {
    AddCause(report.presumed_cause(), "Presumed, not verified:", audience, body);
  }
  for (int i = 0; i < report.other_causes_size() && i < kMostCauses; ++i) {
    AddCause(report.other_causes(i), "Also:", audience, body);
  }
  for (int i = 0; i < report.secondary_effects_size() && i < kMostCauses; ++i) {
    AddCause(report.secondary_effects(i), "Effect:", audience, body);
  }
  AddActions(report, audience, body);
  AddList(report.next_steps(), "Next steps", body);
  AddQuestions(report, audience, body);
  AddEvidence(report, body);
  AddTested(report.ruled_out(), "Ruled out", body);
  AddTested(report.undecided(), "Undecided", body);
  if (!report.suggestions().empty()) {
    body.push_back({Kind::kHeading, "Ideas beyond what Galen knows (not verified)", "", ""});
    for (int i = 0; i < report.suggestions_size() && i < kMostSteps; ++i) {
      const galen::v1::Suggestion& idea = report.suggestions(i);
      body.push_back(
          {Kind::kItem,
           Line(absl::StrCat(idea.rationale(), " ", absl::StrJoin(idea.steps(), "; ")), 800),
           absl::StrCat(Line(idea.title(), 200), ":"), ""});
    }
  }
  AddList(report.notes(), "Limits of the answer", body);
}

}  // namespace

std::string MarkOf(absl::string_view diagnosis) {
  return absl::StrCat("galen-", Sha256Hex(diagnosis).substr(0, 24));
}

TicketDocument DocumentOf(const galen::v1::Diagnosis& diagnosis, absl::string_view console,
                          Reader audience) {
  const galen::v1::Report& report = diagnosis.report();
  const galen::v1::Cause& cause =
      report.has_primary_cause() ? report.primary_cause() : report.presumed_cause();
  TicketDocument document;
  auto& values = document.values;
  const std::string& name = diagnosis.name();
  values["mark"] = MarkOf(name);
  const std::string hash = Sha256Hex(name);
  // The form of a random UUID (RFC 9562, version 8: custom).
  values["uuid"] = absl::StrCat(hash.substr(0, 8), "-", hash.substr(8, 4), "-8", hash.substr(13, 3),
                                "-8", hash.substr(17, 3), "-", hash.substr(20, 12));
  values["diagnosis"] = name;
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  values["tenant"] = parts.size() > 1 ? parts[1] : "";
  values["state"] = std::string(StateName(diagnosis.state()));
  values["headline"] = Line(report.headline());
  if (values["headline"].empty()) {
    values["headline"] = Line(diagnosis.incident().description(), 200);
  }
  values["cause"] = Line(cause.title());
  values["cause_label"] = Line(cause.label(), 120);
  values["owner"] = report.owner().empty() ? "either" : Line(report.owner(), 20);
  values["severity"] = SeverityOf(diagnosis);
  values["node"] = cause.devices().empty() ? "" : Line(cause.devices(0).node(), 200);
  values["device"] = DevicesOf(cause, audience);
  values["time"] = TimeText(ToTime(diagnosis.update_time()), 3);
  values["sequence"] = absl::StrCat(diagnosis.last_sequence());
  values["url"] = console.empty() ? "" : absl::StrCat(console, "/", name);

  std::vector<Block>& body = document.body;
  body.push_back({Kind::kText, values["headline"], "", ""});
  body.push_back({Kind::kText, std::string(StateSentence(diagnosis.state())), "", ""});
  if (diagnosis.has_confirmation()) {
    body.push_back({Kind::kText,
                    absl::StrCat(Line(ConfirmedCause(diagnosis), 400), ", says ",
                                 Line(diagnosis.confirmation().by(), 120), ". ",
                                 Line(diagnosis.confirmation().note())),
                    "Established by a person:", ""});
  }
  if (diagnosis.has_error()) {
    body.push_back({Kind::kText, Line(diagnosis.error().message()), "Error:", ""});
  }
  if (!values["url"].empty())
    body.push_back({Kind::kLink, "Open the diagnosis", "", values["url"]});
  if (diagnosis.has_report()) {
    AddReport(report, audience, body);
  } else {
    AddVerdicts(diagnosis, body);
  }
  body.push_back({Kind::kHeading, "As reported", "", ""});
  body.push_back({Kind::kCode, Lines(diagnosis.incident().description(), kReported), "", ""});
  body.push_back({Kind::kText, absl::StrCat("Galen, ", name), "", ""});

  document.comment.push_back(
      {Kind::kText, values["headline"], std::string(StateSentence(diagnosis.state())), ""});
  if (!values["url"].empty()) {
    document.comment.push_back({Kind::kLink, "Open the diagnosis", "", values["url"]});
  }
  // Lets us recognise our own comment when the ticket system reports it back.
  document.comment.push_back({Kind::kText, absl::StrCat("Galen, ", values["mark"]), "", ""});
  return document;
}

}  // namespace galen::gateway::tickets
