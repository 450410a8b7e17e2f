#include "services/execution/playbook/results.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/knowledge/clean_result.h"
#include "common/knowledge/findings.h"
#include "common/knowledge/make_result.h"
#include "services/execution/playbook/courses.h"

namespace galen::playbook {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using knowledge::v1::FindingSpec;

constexpr std::size_t kMostSaid = 4;
constexpr int kMostSuspects = 4;

// "gpu:3", "nic:mlx5_0/port:1", "rank:7": as the catalogue names devices.
std::string DeviceOf(const telemetry::Place& place, absl::string_view subject) {
  if (subject == "rank") return place.rank.empty() ? "" : absl::StrCat("rank:", place.rank);
  if (place.device.empty()) return "";
  if (subject == "gpu") return absl::StrCat("gpu:", place.device);
  if (subject == "nic" || subject == "port" || subject == "link") {
    return absl::StrCat("nic:", place.device,
                        place.port.empty() ? "" : absl::StrCat("/port:", place.port));
  }
  if (subject == "node" || subject == "job" || subject == "cluster" || subject == "fabric")
    return "";
  return absl::StrCat(subject, ":", place.device);
}

Finding FindingOf(const FindingSpec& spec, const Observation& observation) {
  const std::string& node = observation.place.node;
  const std::string device = DeviceOf(observation.place, spec.subject());
  const Value& value = observation.value;
  if (const bool* flag = std::get_if<bool>(&value); flag != nullptr && spec.type() == "bool") {
    return knowledge::BoolFinding(spec.name(), node, device, *flag);
  }
  if (const double* number = std::get_if<double>(&value)) {
    if (spec.type() == "int" && std::abs(*number) < 9e15) {
      return knowledge::IntFinding(spec.name(), node, device,
                                   static_cast<std::int64_t>(std::llround(*number)));
    }
    return knowledge::FloatFinding(spec.name(), node, device, *number);
  }
  if (const std::string* text = std::get_if<std::string>(&value)) {
    return knowledge::TextFinding(spec.name(), node, device, *text);
  }
  return knowledge::UnknownFinding(spec.name(), node, device);
}

// Adds what the step wants collected, once.
void Want(const Step& step, CheckResult& result) {
  if (step.collect.empty()) return;
  const auto& wanted = result.wanted();
  if (std::find(wanted.begin(), wanted.end(), step.collect) == wanted.end()) {
    result.add_wanted(step.collect);
  }
}

// Which counters of errors of a machine grow that nothing reads; "" for none.
std::string UnreadOf(const knowledge::v1::Check& spec, const Examination& examination,
                     const std::string& node) {
  if (examination.unread == nullptr || spec.family().empty()) return "";
  std::vector<std::string> grow;
  for (const telemetry::GrowingError& error : *examination.unread) {
    if (error.clears != spec.family()) continue;
    if (!error.place.node.empty() && error.place.node != node) continue;
    grow.push_back(absl::StrCat(error.metric, " of ", Shown(error.place), " by ",
                                static_cast<std::int64_t>(std::ceil(error.growth))));
  }
  if (grow.empty()) return "";
  const std::size_t more = grow.size() - std::min(grow.size(), kMostSaid);
  grow.resize(grow.size() - more);
  return absl::StrCat("counters of errors grow that nothing here reads, so that nothing is clear: ",
                      absl::StrJoin(grow, ", "),
                      more == 0 ? "" : absl::StrCat(", ", more, " more"));
}

// The missing part of the time series, such as a source that did not answer; "": not told.
std::string GapOf(const Examination& examination) {
  for (const telemetry::Answer& answer : examination.answers) {
    if (!answer.complete && !answer.warnings.empty()) return answer.warnings.front();
  }
  return examination.remarks.empty() ? "" : examination.remarks.back();
}

std::string QueriesText(const Examination& examination) {
  std::string text;
  for (const telemetry::Answer& answer : examination.answers) {
    absl::StrAppend(&text, answer.source, ": ", answer.query, "\n");
  }
  for (const std::string& remark : examination.remarks) absl::StrAppend(&text, remark, "\n");
  return text;
}

}  // namespace

std::vector<CheckResult> ResultsOf(const knowledge::v1::Check& spec, const Examination& examination,
                                   const std::vector<std::string>& nodes) {
  std::map<absl::string_view, const FindingSpec*> declared;
  for (const FindingSpec& finding : spec.findings()) declared[finding.name()] = &finding;
  const std::string asked = QueriesText(examination);
  const std::string gap = examination.complete ? "" : GapOf(examination);
  std::vector<CheckResult> results;
  for (const std::string& node : nodes) {
    if (!examination.status.ok()) {
      CheckResult result = knowledge::MakeResult(spec, node, examination.status);
      for (const Observation& observation : examination.observations)
        Want(*observation.step, result);
      knowledge::CleanWanted(result);
      results.push_back(std::move(result));
      continue;
    }
    knowledge::CheckOutput output;
    std::vector<const Observation*> of_finding;  // in the order of the findings
    std::vector<const Step*> steps;
    std::set<const Step*> seen;
    std::set<std::string> missing;
    for (const Observation& observation : examination.observations) {
      const auto finding = declared.find(observation.step->finding);
      if (finding == declared.end()) continue;  // lint says so
      if (!observation.place.node.empty() && observation.place.node != node) continue;
      seen.insert(observation.step);
      output.findings.push_back(FindingOf(*finding->second, observation));
      of_finding.push_back(&observation);
      steps.push_back(observation.step);
      if (std::holds_alternative<std::monostate>(observation.value)) {
        missing.insert(absl::StrCat(observation.step->finding, ": ", observation.why));
      }
    }
    for (const Observation& observation : examination.observations) {
      if (!seen.insert(observation.step).second) continue;
      const auto finding = declared.find(observation.step->finding);
      if (finding == declared.end()) continue;
      output.findings.push_back(knowledge::UnknownFinding(observation.step->finding, node, ""));
      of_finding.push_back(nullptr);
      steps.push_back(observation.step);
      missing.insert(absl::StrCat(observation.step->finding, ": no series of this node"));
    }
    output.excerpt = asked;
    CheckResult result = knowledge::MakeResult(spec, node, std::move(output));
    if (result.findings_size() != static_cast<int>(of_finding.size())) {
      results.push_back(std::move(result));  // an ERROR, or cut
      continue;
    }
    if (!examination.complete && result.status() == CheckResult::PASS) {
      results.push_back(knowledge::MakeResult(
          spec, node,
          absl::UnavailableError(
              absl::StrCat("the time series are incomplete, so the absence of abnormal values is "
                           "not an all-clear",
                           gap.empty() ? "" : ": ", gap))));
      continue;
    }
    if (const std::string grows = UnreadOf(spec, examination, node);
        !grows.empty() && result.status() == CheckResult::PASS) {
      // An error counter that nothing reads may be the very fault, so the rest gives no all-clear.
      results.push_back(knowledge::MakeResult(spec, node, absl::UnavailableError(grows)));
      continue;
    }
    std::vector<std::string> said;
    std::size_t abnormal = 0;
    int suspects = 0;
    for (int i = 0; i < result.findings_size(); ++i) {
      const Observation* const observation = of_finding[static_cast<std::size_t>(i)];
      if (observation == nullptr || !result.findings(i).abnormal()) continue;
      if (++abnormal <= kMostSaid) {
        said.push_back(absl::StrCat(Shown(observation->place), ": ", observation->step->finding,
                                    ": ", observation->why));
      }
      const bool job = observation->place.node.empty();
      const bool draw =
          observation->rows != nullptr && observation->row >= 0 && (!job || node == nodes.front());
      if (!draw || suspects >= kMostSuspects) continue;
      *result.add_courses() = SuspectCourse(*observation);
      if (!job && suspects == 0) *result.add_courses() = PeersCourse(*observation);
      ++suspects;
    }
    if (abnormal > kMostSaid) said.push_back(absl::StrCat(abnormal - kMostSaid, " more"));
    if (said.empty()) said.emplace_back("nothing abnormal in the examined time series");
    if (!gap.empty()) said.push_back(absl::StrCat("the time series are incomplete: ", gap));
    for (const std::string& each : missing) said.push_back(absl::StrCat("not known: ", each));
    for (int i = 0; i < result.findings_size(); ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (result.findings(i).value_case() == Finding::VALUE_NOT_SET) Want(*steps[place], result);
    }
    if (result.status() == CheckResult::PASS) {
      for (int i = 0; i < result.findings_size(); ++i) {
        if (!steps[static_cast<std::size_t>(i)]->needed ||
            result.findings(i).value_case() != Finding::VALUE_NOT_SET) {
          continue;
        }
        // The known findings are reported, but do not clear the node.
        result.set_status(CheckResult::SKIPPED);
        said.front() = absl::StrCat("no all-clear without ", result.findings(i).name());
        break;
      }
    }
    result.set_message(absl::StrJoin(said, "; "));
    if (examination.activity != nullptr && (suspects > 0 || node == nodes.front())) {
      galen::v1::Course course = ThroughputCourse(*examination.activity);
      if (course.values_size() > 0) *result.add_courses() = std::move(course);
    }
    knowledge::CleanResult(result);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace galen::playbook
