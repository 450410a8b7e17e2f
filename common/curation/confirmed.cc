#include "common/curation/confirmed.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/cause_in_words.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/secrets.h"
#include "common/knowledge/files.h"
#include "common/knowledge/rules.h"
#include "common/knowledge/write_yaml.h"
#include "common/security/identity.h"

namespace galen::curation {
namespace {

using galen::v1::Diagnosis;

// The parts of a report that a past incident keeps: enough to find it again, and to read it.
constexpr std::size_t kMaxDescription = 8000;
constexpr std::size_t kMaxTitle = 120;
constexpr std::size_t kMaxLine = 400;
constexpr int kMaxLogs = 20;
constexpr int kMaxSteps = 12;
constexpr std::size_t kMaxMeanings = 20;
constexpr std::size_t kDigest = 8;  // characters of a label
constexpr std::size_t kIdDigest = 16;

std::string Day(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixSeconds(time.seconds()), absl::UTCTimeZone());
}

std::string FirstSentence(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::size_t stop = line.find(". ");
  return CleanText(stop == std::string::npos ? line : line.substr(0, stop), kMaxTitle);
}

// A text of the tenant as stored: a reviewer reads it, and a file keeps it for years.
std::string Kept(absl::string_view text, std::size_t most) {
  return host::WithoutSecrets(CleanText(text, most));
}

void AddEnvironment(const galen::v1::Incident& reported, knowledge::v1::TenantTexts& texts) {
  const galen::v1::Environment& environment = reported.environment();
  const auto add = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    const std::string name = CleanText(key, 64);
    // The name identifies a value that has no form of its own.
    (*texts.mutable_environment())[name] =
        host::IsSecretVariable(name, value) ? std::string(host::kRedacted) : Kept(value, kMaxLine);
  };
  for (const auto& [key, value] : environment.attributes()) add(key, value);
  add("gpu", environment.gpu());
  add("driver", environment.driver());
  add("cuda", environment.cuda());
  add("os", environment.os());
  add("nic", environment.nic());
  add("framework", reported.workload().framework());
}

// The reasons of the verdict on the cause. Reasons quote logs and names of machines.
void AddReasons(const Diagnosis& diagnosis, knowledge::v1::TenantTexts& texts) {
  for (const auto& hypothesis : diagnosis.hypotheses()) {
    if (hypothesis.label() != diagnosis.confirmation().label()) continue;
    for (const auto& reason : hypothesis.verdict().reasons()) {
      if (reason.direction() != galen::v1::Reason::SUPPORTS) continue;
      std::string step = Kept(reason.text(), kMaxLine);
      const auto& steps = texts.verification();
      if (texts.verification_size() == kMaxSteps) return;
      if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
        texts.add_verification(std::move(step));
      }
    }
  }
}

// A value that cannot carry its author's words.
bool IsMeasured(const galen::v1::Finding& finding) {
  return finding.has_bool_value() || finding.has_int_value() || finding.has_double_value();
}

// The abnormal findings of the checks, each kind once: names that a check declares, and numbers.
std::set<std::string> AbnormalOf(const Diagnosis& diagnosis, bool values) {
  std::set<std::string> found;
  for (const auto& result : diagnosis.check_results()) {
    for (const auto& finding : result.findings()) {
      if (!finding.abnormal() || found.size() == kMaxSteps) continue;
      const std::string name =
          CleanText(absl::StrCat(result.check(), ": ", finding.name()), kMaxLine);
      found.insert(!values || !IsMeasured(finding)
                       ? absl::StrCat(name, values ? " is abnormal" : "")
                       : absl::StrCat(name, " is ", knowledge::ValueText(finding)));
    }
  }
  return found;
}

// All of it in Galen's own words: the taxonomy's, the checks' and those of the catalogue of
// messages. It contains no words of the tenant, and nothing that names its diagnosis.
void AddOwnWords(const Diagnosis& diagnosis, const std::string& label,
                 knowledge::v1::PastIncident& incident) {
  incident.set_id(
      absl::StrCat("learned-", knowledge::Sha256(diagnosis.name()).substr(0, kIdDigest)));
  incident.set_date(Day(diagnosis.create_time()));
  incident.set_label(label);
  const std::set<std::string> abnormal = AbnormalOf(diagnosis, /*values=*/false);
  incident.set_title(CleanText(absl::StrCat(incident.label(), abnormal.empty() ? "" : " with ",
                                            absl::StrJoin(abnormal, ", ")),
                               kMaxTitle));
  std::set<std::string> meanings;
  for (const auto& signal : diagnosis.summary().signals()) {
    if (meanings.size() == kMaxMeanings) break;
    if (!signal.meaning().empty()) meanings.insert(CleanText(signal.meaning(), kMaxLine));
  }
  incident.set_description(absl::StrJoin(meanings, "\n"));
  for (const std::string& step : AbnormalOf(diagnosis, /*values=*/true)) {
    incident.add_verification(step);
  }
}

void AddTenantTexts(const Diagnosis& diagnosis, knowledge::v1::TenantTexts& texts) {
  texts.set_tenant(std::string(security::TenantOf(diagnosis.name())));
  texts.set_description(Kept(diagnosis.incident().description(), kMaxDescription));
  texts.set_title(FirstSentence(texts.description()));
  for (const auto& signal : diagnosis.summary().signals()) {
    if (texts.logs_size() >= kMaxLogs) break;
    // Lines of the description are there already.
    if (!signal.excerpt().empty() && signal.where() != galen::v1::DESCRIPTION) {
      texts.add_logs(Kept(signal.excerpt(), kMaxLine));
    }
  }
  AddEnvironment(diagnosis.incident(), texts);
  AddReasons(diagnosis, texts);
  texts.set_resolution(Kept(diagnosis.confirmation().note(), 2000));
  texts.set_reference(diagnosis.name());
}

// The words without the names of the tenant's machines: every tenant sees those of a label.
std::string WithoutMachines(const Diagnosis& diagnosis, absl::string_view words, std::size_t most) {
  std::set<std::string> names(diagnosis.incident().nodes().begin(),
                              diagnosis.incident().nodes().end());
  for (const auto& result : diagnosis.check_results()) names.insert(result.node());
  for (const auto& signal : diagnosis.summary().signals()) names.insert(signal.node());
  std::vector<std::string> longest_first(names.begin(), names.end());
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  std::string text = Kept(words, most);
  for (const std::string& name : longest_first) {
    if (!name.empty()) absl::StrReplaceAll({{name, "a machine"}}, &text);
  }
  return CleanText(text, most);
}

// The parent of a new label: that of the likeliest cause of the report. A person decides.
std::string ParentFor(const galen::v1::Report& report) {
  std::vector<std::string> likeliest = {report.primary_cause().label(),
                                        report.presumed_cause().label()};
  for (const auto& cause : report.suspects()) likeliest.push_back(cause.label());
  for (const auto& cause : report.undecided()) likeliest.push_back(cause.label());
  for (const std::string& label : likeliest) {
    if (const std::size_t end = label.rfind('.'); end != std::string::npos) {
      return label.substr(0, end);
    }
  }
  return "OTHER.NOT_YET_SORTED";
}

// The first long words of a text, as the last part of a label.
std::string NameOf(absl::string_view words) {
  constexpr std::size_t kLeastLetters = 4;
  constexpr std::size_t kMostWords = 4;
  std::vector<std::string> chosen;
  std::string word;
  for (std::size_t i = 0; i <= words.size() && chosen.size() < kMostWords; ++i) {
    const unsigned char c = i < words.size() ? static_cast<unsigned char>(words[i]) : ' ';
    if (absl::ascii_isalnum(c)) {
      word += absl::ascii_toupper(c);
      continue;
    }
    if (word.size() >= kLeastLetters && word.size() <= 20) chosen.push_back(word);
    word.clear();
  }
  return chosen.empty() ? "NOT_YET_NAMED" : absl::StrJoin(chosen, "_");
}

absl::StatusOr<Proposal> LabelOf(const Diagnosis& diagnosis, const std::string& subject) {
  const galen::v1::ModelVerdict* const stated = CauseInWords(diagnosis.report());
  if (stated == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(diagnosis.name(), ": its report states no cause in words"));
  }
  const std::string words = WithoutMachines(diagnosis, stated->text(), kMaxLine);
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Label& label = *base.add_labels();
  label.set_label(absl::StrCat(ParentFor(diagnosis.report()), ".", NameOf(words)));
  label.set_title(FirstSentence(words));
  label.set_description(words);
  label.set_owner("either");
  label.set_severity("medium");
  label.set_prior("low");
  label.set_added(Day(diagnosis.confirmation().time()));
  knowledge::v1::PastIncident& incident = *base.add_incidents();
  AddOwnWords(diagnosis, label.label(), incident);
  AddTenantTexts(diagnosis, *incident.mutable_tenant_texts());

  Proposal proposal;
  proposal.kind = "label";
  proposal.id = absl::StrCat(subject, "-", knowledge::Sha256(words).substr(0, kDigest));
  proposal.reason =
      absl::StrCat(CleanText(diagnosis.confirmation().by(), 256),
                   " confirmed a cause that the taxonomy does not have, as stated by the model ",
                   CleanText(stated->model(), 120),
                   "; every tenant will see the title and the description of the label");
  for (const galen::v1::Citation& citation : stated->citations()) {
    const std::string line =
        absl::StrCat(citation.artefact(), " line ", citation.line(), ": ", citation.quote());
    proposal.verification.push_back(Kept(line, kMaxLine));
    incident.mutable_tenant_texts()->add_verification(proposal.verification.back());
  }
  proposal.knowledge = WithRuleNote(knowledge::ToYaml(base));
  return proposal;
}

}  // namespace

absl::StatusOr<Proposal> ProposalOf(const Diagnosis& diagnosis) {
  if (!diagnosis.has_confirmation()) {
    return absl::FailedPreconditionError(
        absl::StrCat(diagnosis.name(), ": nobody has confirmed its cause"));
  }
  const galen::v1::Confirmation& confirmation = diagnosis.confirmation();
  const std::string subject =
      Slug(absl::StrCat("diagnosis-", diagnosis.name().substr(diagnosis.name().rfind('/') + 1)));
  Proposal proposal;
  if (confirmation.label() == kCauseInWords) {
    GALEN_ASSIGN_OR_RETURN(proposal, LabelOf(diagnosis, subject));
  }
  proposal.subject = subject;
  proposal.made = Day(confirmation.time());
  proposal.origin = diagnosis.name();
  if (!proposal.kind.empty()) return proposal;

  knowledge::v1::KnowledgeBase base;
  knowledge::v1::PastIncident& incident = *base.add_incidents();
  AddOwnWords(diagnosis, confirmation.label(), incident);
  AddTenantTexts(diagnosis, *incident.mutable_tenant_texts());
  proposal.id =
      absl::StrCat(subject, "-", knowledge::Sha256(confirmation.label()).substr(0, kDigest));
  proposal.kind = "incident";
  const bool same = diagnosis.report().primary_cause().label() == confirmation.label();
  proposal.reason = absl::StrCat(
      CleanText(confirmation.by(), 256), " confirmed the cause; ",
      same ? "the diagnosis had named it"
      : diagnosis.report().has_primary_cause()
          ? absl::StrCat("the diagnosis had named ", diagnosis.report().primary_cause().label())
          : "the diagnosis had confirmed none");
  proposal.knowledge = knowledge::ToYaml(base);
  return proposal;
}

}  // namespace galen::curation
