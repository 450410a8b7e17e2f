#include "services/watch/incident.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/base/text.h"
#include "google/protobuf/util/time_util.h"

namespace galen::watch {
namespace {

using google::protobuf::util::TimeUtil;

constexpr int kMostEvents = 10'000;
constexpr std::size_t kMostNameBytes = 256;
constexpr std::size_t kMostSourceBytes = 64;
constexpr std::size_t kMostFindingBytes = std::size_t{16} << 10;
constexpr std::size_t kMostLineBytes = 512;
// An incident takes logs of 2 MiB each.
constexpr std::size_t kMostLogBytes = (std::size_t{2} << 20) - 1024;

absl::Status NotUsable(int number, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("events[", number, "]", what, "; none of this call was taken"));
}

const knowledge::v1::ErrorCode* CodeOf(const v1::HealthEvent& event,
                                       const knowledge::Knowledge& knowledge) {
  int code = 0;
  if (!event.finding().has_event_value() ||
      !absl::SimpleAtoi(event.finding().event_value().code(), &code)) {
    return nullptr;
  }
  return knowledge.FindErrorCode(event.finding().name(), code);
}

// The event as a line of a log.
std::string LineOf(const v1::HealthEvent& event) {
  const galen::v1::Finding& finding = event.finding();
  const std::string text = finding.has_event_value() && !finding.event_value().text().empty()
                               ? finding.event_value().text()
                               : KindOf(event);
  return absl::StrCat(
      event.has_noticed_at() ? absl::StrCat(TimeUtil::ToString(event.noticed_at()), " ") : "",
      event.node(), " ", CleanText(text, kMostLineBytes), "\n");
}

}  // namespace

absl::Status CheckEvents(const v1::ReportHealthRequest& request) {
  if (request.events().empty() || request.events_size() > kMostEvents) {
    return absl::InvalidArgumentError(
        absl::StrCat("events: ", request.events_size(), "; a call takes 1 to ", kMostEvents));
  }
  for (int i = 0; i < request.events_size(); ++i) {
    const v1::HealthEvent& event = request.events(i);
    if (event.node().empty() || event.node().size() > kMostNameBytes ||
        CleanText(event.node(), kMostNameBytes) != event.node()) {
      return NotUsable(i, ".node: must be the name of a machine");
    }
    if (event.check().empty() || event.check().size() > kMostNameBytes ||
        CleanText(event.check(), kMostNameBytes) != event.check()) {
      return NotUsable(i, ".check: must be the name of a check");
    }
    if (event.finding().name().empty()) return NotUsable(i, ".finding.name: is missing");
    if (event.finding().ByteSizeLong() > kMostFindingBytes) {
      return NotUsable(i, absl::StrCat(".finding: has more than ", kMostFindingBytes, " bytes"));
    }
    if (event.source().size() > kMostSourceBytes) {
      return NotUsable(i, absl::StrCat(".source: has more than ", kMostSourceBytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

std::string KindOf(const v1::HealthEvent& event) {
  const galen::v1::Finding& finding = event.finding();
  std::string kind = absl::StrCat(event.check(), " ", finding.name());
  if (finding.has_event_value()) absl::StrAppend(&kind, " ", finding.event_value().code());
  return CleanText(kind, 2 * kMostNameBytes);
}

bool IsGrave(const v1::HealthEvent& event, const knowledge::Knowledge& knowledge) {
  if (event.severity() != v1::HealthEvent::SEVERITY_UNSPECIFIED) {
    return event.severity() == v1::HealthEvent::FATAL;
  }
  const knowledge::v1::ErrorCode* code = CodeOf(event, knowledge);
  return code != nullptr && code->severity() == "critical";
}

galen::v1::CreateDiagnosisRequest IncidentOf(const Outbreak& outbreak,
                                             const knowledge::Knowledge& knowledge,
                                             const std::string& parent) {
  galen::v1::CreateDiagnosisRequest request;
  request.set_parent(parent);
  request.set_request_id(
      absl::StrCat("watch-", outbreak.begin, ".", outbreak.begin_index, ".", outbreak.part));
  galen::v1::Incident& incident = *request.mutable_diagnosis()->mutable_incident();
  const std::size_t machines = outbreak.events.size();
  std::string what = outbreak.kind;
  if (machines > 0) {
    if (const auto* code = CodeOf(outbreak.events.front(), knowledge); code != nullptr) {
      absl::StrAppend(&what, ": ", code->meaning());
    }
  }
  incident.set_description(
      machines == 1 ? absl::StrCat(outbreak.events.front().node(), " reports ", what)
                    : absl::StrFormat("%d machines report within %.2f s %s", machines,
                                      absl::ToDoubleSeconds(outbreak.last - outbreak.first), what));
  *incident.mutable_start_time() = ToTimestamp(outbreak.first);
  galen::v1::LogSource& log = *incident.add_logs();
  log.set_path("health-events.log");
  log.set_kind(galen::v1::LogSource::SYSTEM);
  for (const v1::HealthEvent& event : outbreak.events) {
    incident.add_nodes(event.node());
    const std::string line = LineOf(event);
    if (log.content().size() + line.size() <= kMostLogBytes) log.mutable_content()->append(line);
  }
  return request;
}

}  // namespace galen::watch
