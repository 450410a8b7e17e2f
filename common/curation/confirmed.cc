#include "common/curation/confirmed.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/text.h"
#include "common/knowledge/files.h"
#include "common/knowledge/rules.h"
#include "common/knowledge/write_yaml.h"

namespace galen::curation {
namespace {

using galen::v1::Diagnosis;

// The parts of a report that a past incident keeps: enough to find it again, and to read it.
constexpr std::size_t kMaxDescription = 8000;
constexpr std::size_t kMaxTitle = 120;
constexpr std::size_t kMaxLine = 400;
constexpr int kMaxLogs = 20;
constexpr int kMaxSteps = 12;
constexpr std::size_t kDigest = 8;  // characters of a label

std::string Day(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixSeconds(time.seconds()), absl::UTCTimeZone());
}

std::string FirstSentence(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::size_t stop = line.find(". ");
  return CleanText(stop == std::string::npos ? line : line.substr(0, stop), kMaxTitle);
}

void AddEnvironment(const galen::v1::Incident& reported, knowledge::v1::PastIncident& incident) {
  const galen::v1::Environment& environment = reported.environment();
  const auto add = [&](const std::string& key, const std::string& value) {
    if (!value.empty()) {
      (*incident.mutable_environment())[CleanText(key, 64)] = CleanText(value, kMaxLine);
    }
  };
  for (const auto& [key, value] : environment.attributes()) add(key, value);
  add("gpu", environment.gpu());
  add("driver", environment.driver());
  add("cuda", environment.cuda());
  add("os", environment.os());
  add("nic", environment.nic());
  add("framework", reported.workload().framework());
}

// The evidence of the verdict on the cause; without a verdict, the abnormal findings.
void AddVerification(const Diagnosis& diagnosis, knowledge::v1::PastIncident& incident) {
  const auto add = [&](const std::string& step) {
    const auto& steps = incident.verification();
    if (incident.verification_size() >= kMaxSteps ||
        std::find(steps.begin(), steps.end(), step) != steps.end()) {
      return;
    }
    incident.add_verification(step);
  };
  for (const auto& hypothesis : diagnosis.hypotheses()) {
    if (hypothesis.label() != incident.label()) continue;
    for (const auto& reason : hypothesis.verdict().reasons()) {
      if (reason.direction() == galen::v1::Reason::SUPPORTS) {
        add(CleanText(reason.text(), kMaxLine));
      }
    }
  }
  if (incident.verification_size() > 0) return;
  for (const auto& result : diagnosis.check_results()) {
    for (const auto& finding : result.findings()) {
      if (!finding.abnormal()) continue;
      add(CleanText(
          absl::StrCat(result.check(), ": ", finding.name(), " is ", knowledge::ValueText(finding)),
          kMaxLine));
    }
  }
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
  incident.set_id(subject);
  incident.set_date(Day(diagnosis.create_time()));
  incident.set_title(FirstSentence(diagnosis.incident().description()));
  incident.set_description(CleanText(diagnosis.incident().description(), kMaxDescription));
  for (const auto& signal : diagnosis.summary().signals()) {
    if (incident.logs_size() >= kMaxLogs) break;
    // Lines from the description are there already.
    if (!signal.excerpt().empty() && signal.where() != galen::v1::DESCRIPTION) {
      incident.add_logs(CleanText(signal.excerpt(), kMaxLine));
    }
  }
  AddEnvironment(diagnosis.incident(), incident);
  if (incident.title().empty()) {
    incident.set_title(absl::StrCat("Incident of ", diagnosis.name()));
  }
  incident.set_label(confirmation.label());
  AddVerification(diagnosis, incident);
  incident.set_resolution(CleanText(confirmation.note(), 2000));
  incident.set_reference(diagnosis.name());

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
