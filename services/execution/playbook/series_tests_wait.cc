// SeriesTests that tell work from waiting: a GPU that waits for others in a kernel is busy, and
// draws the power of one that has nothing to do.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/timeseries/robust.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;

// State of a GPU during a standstill of the job.
enum class Doing { kNotKnown, kNothing, kWorks, kWaits };
struct Gpu {
  telemetry::Place place;
  Doing doing = Doing::kNotKnown;
  std::string why;
  int row = -1;
};

// End of the examined part of the standstill: `tail` samples after the job's last step if the row
// is that long, otherwise the end of the row.
std::size_t StandstillEnd(const SeriesTestInput& input, std::size_t tail) {
  const JobActivity& activity = input.activity;
  const std::size_t size = activity.grid.size;
  return activity.known && activity.end + tail < size ? activity.end + tail : size;
}

// Power of an idle GPU. NaN: it was always busy, or too rarely idle.
float RestLevel(absl::Span<const float> busy, absl::Span<const float> power) {
  constexpr float kNothing = 5;  // %
  constexpr std::size_t kLeast = 6;
  std::vector<float> rest;
  for (std::size_t t = 0; t < std::min(busy.size(), power.size()); ++t) {
    if (IsKnown(busy[t]) && busy[t] < kNothing && IsKnown(power[t])) rest.push_back(power[t]);
  }
  return rest.size() < kLeast ? kUnknown : timeseries::Median(rest);
}

// Classifies GPUs by the measures utilisation and power.
class Looking {
 public:
  explicit Looking(const SeriesTestInput& input)
      : input_(input),
        busy_(*input.of[0]),
        power_(*input.of[1]),
        tail_(PointsOf(input.Number("tail_min"), power_.grid)),
        end_(StandstillEnd(input, tail_)) {
    // Power at work and at rest: of each GPU itself, and the median of all.
    std::vector<float> rests;
    for (std::size_t i = 0; i < power_.places.size(); ++i) {
      levels_.push_back(WorkingLevel(power_.values.Row(i).first(std::min(end_, power_.grid.size)),
                                     PointsOf(2, power_.grid)));
      const int other = RowOf(busy_, power_.places[i]);
      if (other >= 0) {
        rests.push_back(
            RestLevel(busy_.values.Row(static_cast<std::size_t>(other)), power_.values.Row(i)));
      }
    }
    usual_ = timeseries::Median(levels_);
    rest_ = timeseries::Median(rests);
    // Utilisation that says nothing while the GPU works: no rest was seen.
    if (input.activity.known &&
        static_cast<double>(rest_) >= input.Number("idle_share") * static_cast<double>(usual_)) {
      rest_ = kUnknown;
    }
  }

  std::vector<Gpu> All() const {
    std::vector<Gpu> gpus;
    for (std::size_t i = 0; i < power_.places.size(); ++i) gpus.push_back(LookAt(i));
    return gpus;
  }

 private:
  Gpu LookAt(std::size_t i) const {
    Gpu gpu{power_.places[i], Doing::kNotKnown, "", static_cast<int>(i)};
    const int other = RowOf(busy_, gpu.place);
    if (other < 0) {
      gpu.why = "its utilisation is not known";
      return gpu;
    }
    const auto busy = Before(busy_.values.Row(static_cast<std::size_t>(other)), end_, tail_);
    const auto power = Before(power_.values.Row(i), end_, tail_);
    if (KnownShare(busy) < 0.5 || KnownShare(power) < 0.5) {
      gpu.why = "no samples at the end";
      return gpu;
    }
    const auto utilisation = static_cast<double>(timeseries::Median(busy));
    const auto drawn = static_cast<double>(timeseries::Median(power));
    const auto level =
        static_cast<double>(std::max(levels_[i], IsKnown(usual_) ? usual_ : levels_[i]));
    gpu.why = absl::StrCat(Short(utilisation), " % busy at ", Short(drawn), " W, ", Short(level),
                           " W at work");
    if (utilisation < input_.Number("busy_pct")) {
      gpu.doing = Doing::kNothing;
      return gpu;
    }
    const bool at_rest =
        IsKnown(rest_) && drawn < input_.Number("rest_times") * static_cast<double>(rest_);
    const bool far_below = drawn < input_.Number("idle_share") * level;
    // At one level all the time: the level alone does not show whether that is work or waiting.
    if (drawn >= 0.9 * level && !input_.activity.known && !IsKnown(rest_)) {
      absl::StrAppend(&gpu.why, ": what it draws at rest is not known");
      return gpu;
    }
    gpu.doing = at_rest || far_below ? Doing::kWaits : Doing::kWorks;
    return gpu;
  }

  const SeriesTestInput& input_;
  const Rows& busy_;
  const Rows& power_;
  const std::size_t tail_;
  const std::size_t end_;
  std::vector<float> levels_;
  float usual_ = kUnknown;
  float rest_ = kUnknown;
};

std::vector<SeriesTestResult> BusyAtIdle(const SeriesTestInput& input) {
  std::vector<SeriesTestResult> seen;
  for (Gpu& gpu : Looking(input).All()) {
    if (gpu.doing == Doing::kNotKnown) {
      seen.push_back(Unknown(gpu.place, std::move(gpu.why)));
    } else {
      seen.push_back({gpu.place, gpu.doing == Doing::kWaits, std::move(gpu.why), gpu.row});
    }
  }
  return seen;
}

// How many GPUs of a job wait, and whether they are most.
struct Waiting {
  std::size_t all = 0;
  std::size_t known = 0;
  bool enough = false;  // is known to speak of most
  std::size_t waiting = 0;
  bool most = false;
};
Waiting CountOf(const std::vector<Gpu>& gpus, const SeriesTestInput& input) {
  const double most = input.Number("most");
  Waiting all;
  all.all = gpus.size();
  std::size_t busy = 0;
  std::map<std::string, bool> nodes;  // whether some GPU of it waits
  for (const Gpu& gpu : gpus) {
    if (gpu.doing == Doing::kNotKnown) continue;
    const bool waits = gpu.doing == Doing::kWaits;
    bool& some = nodes[gpu.place.node];
    some = some || waits;
    ++all.known;
    all.waiting += waits ? 1 : 0;
    busy += gpu.doing != Doing::kNothing ? 1 : 0;
  }
  const auto of_nodes =
      std::count_if(nodes.begin(), nodes.end(), [](const auto& node) { return node.second; });
  all.enough = all.known > 0 && static_cast<double>(all.known) >=
                                    input.Number("least_known") * static_cast<double>(all.all);
  // At the first collective of a job only some GPUs of each machine may have come to it.
  all.most = all.enough && all.waiting > 0 &&
             static_cast<double>(all.waiting) >= most * static_cast<double>(busy) &&
             static_cast<double>(of_nodes) >= most * static_cast<double>(nodes.size());
  return all;
}

std::vector<SeriesTestResult> MostWait(const SeriesTestInput& input) {
  const Waiting all = CountOf(Looking(input).All(), input);
  if (!all.enough) {
    return {Unknown({}, absl::StrCat("utilisation and power are known of ", all.known, " of ",
                                     all.all, " GPUs: what most do is not"))};
  }
  return {{{},
           all.most,
           absl::StrCat(all.waiting, " of ", all.known, " GPUs are busy at the power of rest"),
           -1}};
}

// Nodes whose waiting GPUs are other ones than on most nodes: only a GPU that entered a collective
// waits in it.
std::vector<SeriesTestResult> WaitsOtherwise(const SeriesTestInput& input) {
  const std::vector<Gpu> gpus = Looking(input).All();
  const Waiting all = CountOf(gpus, input);
  const bool hangs = all.most;
  std::map<std::string, std::string> set_of_node;
  std::set<std::string> unknown;
  for (const Gpu& gpu : gpus) {
    std::string& set = set_of_node[gpu.place.node];
    if (gpu.doing == Doing::kNotKnown) unknown.insert(gpu.place.node);
    if (gpu.doing == Doing::kWaits) absl::StrAppend(&set, " ", gpu.place.device);
  }
  std::map<std::string, std::size_t> counts;
  for (const auto& [node, set] : set_of_node) ++counts[set];
  std::string usual;
  std::size_t most = 0;
  for (const auto& [set, count] : counts) {
    if (count > most) {
      usual = set;
      most = count;
    }
  }
  const bool majority = 2 * most > set_of_node.size() && set_of_node.size() >= 3;
  std::vector<SeriesTestResult> seen;
  for (const auto& [node, set] : set_of_node) {
    if (unknown.contains(node) || !all.enough || (hangs && !majority)) {
      seen.push_back(Unknown({.node = node},
                             "which of its GPUs wait, or which do on most nodes, "
                             "is not known"));
    } else if (!hangs || set == usual) {
      seen.push_back({{.node = node}, std::string(kNobody), "as most nodes", -1});
    } else {
      seen.push_back({{.node = node},
                      node,
                      absl::StrCat("GPUs", set.empty() ? " none" : set, " wait, on most nodes",
                                   usual.empty() ? " none" : usual),
                      -1});
    }
  }
  return seen;
}

std::vector<NumberSpec> WaitNumbers() {
  return {
      {"tail_min", 5, 0.5, 600, "minutes to examine"},
      {"busy_pct", 90, 1, 100, "% of utilisation from which on it is busy"},
      {"idle_share", 0.55, 0.05, 0.95,
       "share of its working power below which it rests: MI355X 300 of 900 W (AMD, "
       "maxtext-slurm), H100 120 to 200 of 600 W"},
      {"rest_times", 1.8, 1, 10,
       "times what it draws while it has nothing to do, below which it rests: waiting takes 42 W "
       "more than the 260 W of an MI355X (AMD, maxtext-slurm); work three times as much"},
      {"most", 0.5, 0.1, 1, "share of the GPUs that are most of them: judgement"},
      {"least_known", 0.5, 0.1, 1,
       "share of the GPUs that have to be known before most of them can be told: more than half of "
       "them may do otherwise else"}};
}

}  // namespace

std::vector<SeriesTest> WaitTests() {
  return {
      {"busy_at_idle",
       "Whether it says that it is busy and draws no more power than at rest, where the job stood "
       "still or at the end.",
       2, "bool", WaitNumbers(), BusyAtIdle},
      {"most_wait", "Whether most GPUs of the job wait: busy at the power of rest.", 2, "bool",
       WaitNumbers(), MostWait},
      {"waits_otherwise", "The node where other GPUs wait than on most nodes, or none.", 2, "text",
       WaitNumbers(), WaitsOtherwise},
  };
}

}  // namespace galen::playbook
