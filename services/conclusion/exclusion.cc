#include "services/conclusion/exclusion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::CheckResult;
using galen::v1::Course;
using galen::v1::NodeExclusion;
using galen::v1::Report;

constexpr int kMostCourses = 16;
// A phase that loses less than this share does not count as a loss, as in telemetry.throughput.
constexpr double kLeastLoss = 0.04;

double Seconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * static_cast<double>(time.nanos());
}

double StepOf(const Course& course) {
  return static_cast<double>(course.step().seconds()) +
         1e-9 * static_cast<double>(course.step().nanos());
}

// Mean of the known values between two times; NaN: none is known.
double Mean(const Course& course, double from, double to) {
  const double start = Seconds(course.start_time());
  const double step = StepOf(course);
  double sum = 0;
  double count = 0;
  for (int i = 0; i < course.values_size(); ++i) {
    const double at = start + step * i;
    const auto value = static_cast<double>(course.values(i));
    if (at < from || at >= to || !std::isfinite(value)) continue;
    sum += value;
    count += 1;
  }
  return count > 0 ? sum / count : std::nan("");
}

struct Phase {
  double length = 0;
  double level = 0;
  std::set<std::string> who;  // stands out in it
};

// The suspects of each node, from the citations of the causes.
std::map<std::string, std::vector<const Course*>> SuspectsOf(
    const std::set<std::string>& cited, const galen::v1::EvidenceSet& evidence,
    std::map<std::string, std::set<std::string>>& ids) {
  std::map<std::string, std::vector<const Course*>> suspects;
  for (const CheckResult& result : evidence.results()) {
    if (!cited.contains(result.id())) continue;
    for (const Course& course : result.courses()) {
      if (course.role() != Course::SUSPECT || course.subject().node().empty()) continue;
      suspects[course.subject().node()].push_back(&course);
      ids[course.subject().node()].insert(result.id());
    }
  }
  return suspects;
}

const Course* ThroughputIn(const galen::v1::EvidenceSet& evidence) {
  for (const CheckResult& result : evidence.results()) {
    for (const Course& course : result.courses()) {
      if (course.role() == Course::THROUGHPUT && course.levels_size() > 0) return &course;
    }
  }
  return nullptr;
}

// Whether a course is up between two times: above the middle of its range.
bool IsUp(const Course& course, double from, double to) {
  float low = INFINITY;
  float high = -INFINITY;
  for (const float value : course.values()) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double mean = Mean(course, from, to);
  return high > low && std::isfinite(mean) &&
         mean > static_cast<double>(low) + 0.15 * static_cast<double>(high - low);
}

std::vector<Phase> PhasesOf(const Course& throughput,
                            const std::map<std::string, std::vector<const Course*>>& suspects) {
  std::vector<Phase> phases;
  for (const Course::Level& level : throughput.levels()) {
    const double from = Seconds(level.start_time());
    const double to = Seconds(level.end_time());
    Phase phase{to - from, level.value(), {}};
    for (const auto& [node, courses] : suspects) {
      if (std::any_of(courses.begin(), courses.end(),
                      [&](const Course* course) { return IsUp(*course, from, to); })) {
        phase.who.insert(node);
      }
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

// Throughput gained without the machines in `out`, in % of the throughput of all phases.
double Gain(const std::vector<Phase>& phases, double best, const std::set<std::string>& out) {
  double now = 0;
  double then = 0;
  for (const Phase& phase : phases) {
    const bool loses = phase.level < best * (1 - kLeastLoss);
    const bool regained = loses && !phase.who.empty() &&
                          std::includes(out.begin(), out.end(), phase.who.begin(), phase.who.end());
    now += phase.length * phase.level;
    then += phase.length * (regained ? best : phase.level);
  }
  return now > 0 ? 100 * (then / now - 1) : 0;
}

std::set<std::string> CitedBy(const Report& report) {
  std::set<std::string> cited(report.primary_cause().evidence_ids().begin(),
                              report.primary_cause().evidence_ids().end());
  for (const Cause& cause : report.other_causes()) {
    cited.insert(cause.evidence_ids().begin(), cause.evidence_ids().end());
  }
  return cited;
}

}  // namespace

NodeExclusion ExcludeNodes(const Report& report, const galen::v1::EvidenceSet& evidence) {
  NodeExclusion exclusion;
  if (!report.has_primary_cause()) return exclusion;
  std::map<std::string, std::set<std::string>> ids;
  const auto suspects = SuspectsOf(CitedBy(report), evidence, ids);
  std::set<std::string> nodes;
  for (const CheckResult& result : evidence.results()) nodes.insert(result.node());
  if (suspects.empty() || 2 * suspects.size() > nodes.size()) return exclusion;
  const Course* const throughput = ThroughputIn(evidence);
  std::vector<Phase> phases;
  double best = 0;
  if (throughput != nullptr) {
    phases = PhasesOf(*throughput, suspects);
    for (const Phase& phase : phases) best = std::max(best, phase.level);
  }
  std::set<std::string> left;
  for (const auto& [node, courses] : suspects) left.insert(node);
  std::set<std::string> out;
  double before = 0;
  while (!left.empty()) {
    std::string next;
    double most = -1;
    double stands = -1;  // at equal gains, the node that stands out longer
    for (const std::string& node : left) {
      std::set<std::string> with = out;
      with.insert(node);
      const double gain = Gain(phases, best, with);
      double length = 0;
      for (const Phase& phase : phases) length += phase.who.contains(node) ? phase.length : 0;
      if (std::tie(gain, length) > std::tie(most, stands)) {
        next = node;
        most = gain;
        stands = length;
      }
    }
    out.insert(next);
    left.erase(next);
    NodeExclusion::Node& node = *exclusion.add_nodes();
    node.set_node(next);
    if (best > 0) node.set_gain_pct(most - before);
    const Course& course = *suspects.at(next).front();
    node.set_reason(absl::StrCat(course.name(), " differs from that of the other nodes"));
    for (const std::string& id : ids[next]) node.add_evidence_ids(id);
    before = most;
  }
  if (best > 0 && before > 0) {
    exclusion.set_gain_pct(before);
    exclusion.set_verify(absl::StrFormat(
        "run the job without them and diagnose it with this window as its baseline: "
        "telemetry.throughput must give loss_beside_pct of about %.0f",
        -before));
  } else {
    for (NodeExclusion::Node& node : *exclusion.mutable_nodes()) node.clear_gain_pct();
    exclusion.set_verify(
        "the gain is unknown, since throughput had no better time in the window; run the "
        "job without them and diagnose it with this window as its baseline: telemetry.throughput "
        "must give a loss_beside_pct below 0");
  }
  return exclusion;
}

void FillCourses(const galen::v1::EvidenceSet& evidence, Report& report) {
  const Course* const throughput = ThroughputIn(evidence);
  const Course* first = throughput;
  for (const CheckResult& result : evidence.results()) {
    for (const Course& course : result.courses()) {
      if (first == nullptr && course.role() == Course::THROUGHPUT) first = &course;
    }
  }
  if (first != nullptr) *report.add_courses() = *first;
  const std::set<std::string> cited = CitedBy(report);
  std::set<std::tuple<int, std::string, std::string, std::string>> seen;
  for (const bool wanted : {true, false}) {
    for (const CheckResult& result : evidence.results()) {
      if (cited.contains(result.id()) != wanted) continue;
      for (const Course& course : result.courses()) {
        if (course.role() == Course::THROUGHPUT || report.courses_size() == kMostCourses) continue;
        if (seen.insert({course.role(), course.name(), course.subject().node(),
                         course.subject().device()})
                .second) {
          *report.add_courses() = course;
        }
      }
    }
  }
}

}  // namespace galen::conclusion
