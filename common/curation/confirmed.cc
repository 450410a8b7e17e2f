#include "common/curation/confirmed.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
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
void AddOwnWords(const Diagnosis& diagnosis, knowledge::v1::PastIncident& incident) {
  incident.set_id(
      absl::StrCat("learned-", knowledge::Sha256(diagnosis.name()).substr(0, kIdDigest)));
  incident.set_date(Day(diagnosis.create_time()));
  incident.set_label(diagnosis.confirmation().label());
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

}  // namespace

absl::StatusOr<Proposal> ProposalOf(const Diagnosis& diagnosis) {
  if (!diagnosis.has_confirmation()) {
    return absl::FailedPreconditionError(
        absl::StrCat(diagnosis.name(), ": nobody has confirmed its cause"));
  }
  const galen::v1::Confirmation& confirmation = diagnosis.confirmation();
  const std::string subject =
      Slug(absl::StrCat("diagnosis-", diagnosis.name().substr(diagnosis.name().rfind('/') + 1)));
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::PastIncident& incident = *base.add_incidents();
  AddOwnWords(diagnosis, incident);
  AddTenantTexts(diagnosis, *incident.mutable_tenant_texts());

  Proposal proposal;
  proposal.id =
      absl::StrCat(subject, "-", knowledge::Sha256(confirmation.label()).substr(0, kDigest));
  proposal.subject = subject;
  proposal.kind = "incident";
  proposal.made = Day(confirmation.time());
  proposal.origin = diagnosis.name();
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
