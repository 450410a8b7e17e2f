#include "services/watch/early_warning/request.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_time.h"
#include "common/base/text.h"

namespace galen::watch::early_warning {
namespace {

constexpr std::size_t kMostNodes = 256;
constexpr std::size_t kMostName = 256;
constexpr std::size_t kMostTelling = 512;
constexpr std::size_t kMostLog = 32 << 10;
// Length of a DNS name: the orchestrator refuses longer ones.
constexpr std::size_t kMostNodeName = 253;

std::string PlaceOf(const watch::detection::Where& where) {
  std::vector<std::string> parts;
  if (!where.node.empty()) parts.push_back(CleanText(where.node, kMostName));
  if (!where.device.empty()) {
    parts.push_back(absl::StrCat("GPU ", CleanText(where.device, kMostName)));
  }
  if (where.node.empty()) parts.push_back(absl::StrCat("job ", CleanText(where.job, kMostName)));
  return absl::StrJoin(parts, " ");
}

std::string Telling(const watch::detection::Notice& notice,
                    const watch::detection::RuleSet& rule_set) {
  const watch::detection::Rule* const rule = rule_set.Find(notice.rule);
  if (rule == nullptr) return notice.rule;
  switch (rule->test) {
    case watch::detection::Test::kGrowth:
      return absl::StrFormat("%s (%s: %.4g a minute, up to %.4g are allowed)", rule->title,
                             rule->measure, notice.value, notice.expected);
    case watch::detection::Test::kLeak:
      return absl::StrFormat("%s (%s: %.4g of %.4g are left; %.1f hours at this pace)", rule->title,
                             rule->measure, notice.value, notice.expected,
                             static_cast<double>(rule->limit) / std::max(notice.score, 0.01));
    case watch::detection::Test::kPeers:
    case watch::detection::Test::kOwn:
    case watch::detection::Test::kBound:
      break;
  }
  return absl::StrFormat("%s (%s: %.4g beside %.4g)", rule->title, rule->measure, notice.value,
                         notice.expected);
}

std::string TellingOf(const watch::detection::Notice& notice,
                      const watch::detection::RuleSet& rule_set) {
  return CleanText(Telling(notice, rule_set), kMostTelling);
}

}  // namespace

galen::v1::CreateDiagnosisRequest RequestOf(const watch::detection::Alarm& alarm,
                                            const watch::detection::RuleSet& rule_set,
                                            const std::map<std::string, std::string>& jobs,
                                            const std::string& parent) {
  galen::v1::CreateDiagnosisRequest request;
  request.set_parent(parent);
  request.set_request_id(absl::StrCat("early-", alarm.id, "-", absl::ToUnixSeconds(alarm.first)));
  galen::v1::Incident& incident = *request.mutable_diagnosis()->mutable_incident();
  galen::v1::LogSource log;
  log.set_path("early-warning.log");
  log.set_kind(galen::v1::LogSource::SYSTEM);
  absl::Time since = alarm.first;
  std::vector<std::string> nodes;
  std::vector<std::string> unfit;
  const auto add = [&](const std::string& node) {
    // An invalid name must not cost the diagnosis.
    if (node.size() > kMostNodeName) {
      if (std::find(unfit.begin(), unfit.end(), node) == unfit.end()) unfit.push_back(node);
      return;
    }
    if (!node.empty() && nodes.size() < kMostNodes &&
        std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
      nodes.push_back(node);
    }
  };
  for (const watch::detection::Notice& notice : alarm.notices) {
    since = std::min(since, notice.since);
    add(notice.where.node);
    if (log.content().size() > kMostLog) continue;
    absl::StrAppend(log.mutable_content(),
                    absl::FormatTime(absl::RFC3339_sec, notice.since, absl::UTCTimeZone()), " ",
                    PlaceOf(notice.where), " ", TellingOf(notice, rule_set), "\n");
  }
  if (nodes.empty()) {
    for (const auto& [node, job] : jobs) {
      if (job == alarm.notices.front().where.job) add(node);
    }
  }
  for (const std::string& node : nodes) incident.add_nodes(node);
  for (const std::string& node : unfit) {
    if (log.content().size() > kMostLog) break;
    absl::StrAppend(log.mutable_content(), "not among the machines, since its name has more than ",
                    kMostNodeName, " bytes: ", CleanText(node, kMostName), "\n");
  }
  const watch::detection::Notice& first = alarm.notices.front();
  std::string what =
      absl::StrCat("Early warning: ", PlaceOf(first.where), ": ", TellingOf(first, rule_set));
  if (alarm.notices.size() > 1) {
    absl::StrAppend(&what, "; and ", alarm.notices.size() - 1, " more signs of it");
  }
  if (!first.where.job.empty() && !first.where.node.empty()) {
    absl::StrAppend(&what, "; works for job ", CleanText(first.where.job, kMostName));
  }
  incident.set_description(what);
  *incident.mutable_start_time() = ToTimestamp(since);
  // When it was noticed: the minute in which it is reported.
  if (alarm.told > since) {
    *incident.mutable_end_time() = ToTimestamp(alarm.told);
  }
  *incident.add_logs() = std::move(log);
  return request;
}

}  // namespace galen::watch::early_warning
