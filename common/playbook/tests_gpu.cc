// Tests that tell work from waiting: a GPU that waits for others in a kernel is busy, and draws the
// power of one that has nothing to do.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/playbook/test_parts.h"
#include "common/series/frozen.h"
#include "common/series/robust.h"

namespace galen::playbook {
namespace {

using series::IsKnown;
using series::kUnknown;

// Where the job stands still: behind its last step where enough is known behind it, else the end.
std::size_t StandstillEnd(const TestInput& input, std::size_t tail) {
  const Scene& scene = input.scene;
  const std::size_t size = scene.grid.size;
  return scene.known && scene.end + tail < size ? scene.end + tail : size;
}

constexpr char kWorks[] = ": it works";

// What it draws while it has nothing to do. NaN: it always had, or hardly ever had not.
float RestLevel(absl::Span<const float> busy, absl::Span<const float> power) {
  constexpr float kNothing = 5;  // %
  constexpr std::size_t kLeast = 6;
  std::vector<float> rest;
  for (std::size_t t = 0; t < std::min(busy.size(), power.size()); ++t) {
    if (IsKnown(busy[t]) && busy[t] < kNothing && IsKnown(power[t])) rest.push_back(power[t]);
  }
  return rest.size() < kLeast ? kUnknown : series::Median(rest);
}

// Of the measures utilisation and power: busy, and drawing no more than at rest, at the end.
std::vector<Seen> BusyAtIdle(const TestInput& input) {
  const Rows& busy = *input.of[0];
  const Rows& power = *input.of[1];
  const std::size_t tail = PointsOf(input.Number("tail_min"), power.grid);
  const std::size_t end = StandstillEnd(input, tail);
  const std::size_t shortest = PointsOf(2, power.grid);
  // What working takes: of each GPU itself, else of the others.
  std::vector<float> levels;
  for (std::size_t i = 0; i < power.places.size(); ++i) {
    levels.push_back(WorkingLevel(power.values.Row(i).first(std::min(end, power.grid.size)),
                                  shortest));
  }
  const float usual = series::Median(levels);
  std::vector<float> rests;
  for (std::size_t i = 0; i < power.places.size(); ++i) {
    const int other = RowOf(busy, power.places[i]);
    rests.push_back(other < 0 ? kUnknown
                              : RestLevel(busy.values.Row(static_cast<std::size_t>(other)),
                                          power.values.Row(i)));
  }
  const float rest = series::Median(rests);
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < power.places.size(); ++i) {
    const telemetry::Place& place = power.places[i];
    const int other = RowOf(busy, place);
    if (other < 0) {
      seen.push_back(Unknown(place, "its utilisation is not known"));
      continue;
    }
    const auto busy_tail =
        Before(busy.values.Row(static_cast<std::size_t>(other)), end, tail);
    const auto power_tail = Before(power.values.Row(i), end, tail);
    const float utilisation = series::Median(busy_tail);
    const float drawn = series::Median(power_tail);
    if (KnownShare(busy_tail) < 0.5 || KnownShare(power_tail) < 0.5) {
      seen.push_back(Unknown(place, "no samples at the end"));
      continue;
    }
    const float level = std::max(levels[i], IsKnown(usual) ? usual : levels[i]);
    const auto said = absl::StrCat(Short(static_cast<double>(utilisation)), " % busy at ",
                                   Short(static_cast<double>(drawn)), " W, ",
                                   Short(static_cast<double>(level)), " W at work");
    if (static_cast<double>(utilisation) < input.Number("busy_pct")) {
      seen.push_back({place, false, said, static_cast<int>(i)});
      continue;
    }
    const bool rests_now = IsKnown(rest) && static_cast<double>(drawn) <
                                                input.Number("rest_times") * static_cast<double>(rest);
    const bool idle = rests_now || static_cast<double>(drawn) < input.Number("idle_share") *
                                                                    static_cast<double>(level);
    // All the time at one level: whether that is work or waiting cannot be told from itself.
    const bool moved = static_cast<double>(drawn) < 0.9 * static_cast<double>(level) ||
                       input.scene.known || IsKnown(rest);
    if (!moved) {
      seen.push_back(Unknown(place, absl::StrCat(said, ": what it draws at rest is not known")));
      continue;
    }
    seen.push_back({place, idle, idle ? said : absl::StrCat(said, kWorks), static_cast<int>(i)});
  }
  return seen;
}

// Whether most of those that are known wait.
bool MostWait(const std::vector<Seen>& seen, const TestInput& input, std::size_t& waiting,
              std::size_t& known) {
  waiting = 0;
  known = 0;
  std::size_t busy = 0;
  std::map<std::string, bool> nodes;  // whether some GPU of it waits
  for (const Seen& each : seen) {
    const bool* const waits = std::get_if<bool>(&each.value);
    if (waits == nullptr) continue;
    bool& some = nodes[each.place.node];
    some = some || *waits;
    ++known;
    waiting += *waits ? 1 : 0;
    busy += *waits || each.why.find(kWorks) != std::string::npos ? 1 : 0;
  }
  const auto of_nodes = std::count_if(nodes.begin(), nodes.end(),
                                      [](const auto& node) { return node.second; });
  const double most = input.Number("most");
  // At the first collective of a job only some GPUs of each machine may have come to it.
  return waiting > 0 &&
         static_cast<double>(waiting) >= most * static_cast<double>(busy) &&
         static_cast<double>(of_nodes) >= most * static_cast<double>(nodes.size());
}

std::vector<Seen> MostOfThemWait(const TestInput& input) {
  std::size_t waiting = 0;
  std::size_t known = 0;
  const bool most = MostWait(BusyAtIdle(input), input, waiting, known);
  if (known == 0) return {Unknown({}, "utilisation or power is not known of any GPU")};
  return {{{}, most, absl::StrCat(waiting, " of ", known, " GPUs are busy at the power of rest"),
           -1}};
}

// Where the GPUs that wait are other ones than on most nodes: only what entered a collective waits
// in it.
std::vector<Seen> WaitsOtherwise(const TestInput& input) {
  const std::vector<Seen> gpus = BusyAtIdle(input);
  std::size_t waiting = 0;
  std::size_t known = 0;
  const bool hangs = MostWait(gpus, input, waiting, known);
  std::map<std::string, std::string> set_of_node;
  std::map<std::string, bool> whole;
  for (const Seen& each : gpus) {
    const bool* const waits = std::get_if<bool>(&each.value);
    std::string& set = set_of_node[each.place.node];
    if (waits == nullptr) whole[each.place.node] = false;
    if (waits != nullptr && *waits) absl::StrAppend(&set, " ", each.place.device);
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
  std::vector<Seen> seen;
  for (const auto& [node, set] : set_of_node) {
    if (whole.contains(node) || (hangs && !majority)) {
      seen.push_back(Unknown({.node = node}, "which of its GPUs wait, or which do on most nodes, "
                                             "is not known"));
    } else if (!hangs || set == usual) {
      seen.push_back({{.node = node}, std::string(kNobody), "as most nodes", -1});
    } else {
      seen.push_back({{.node = node}, node,
                      absl::StrCat("GPUs", set.empty() ? " none" : set, " wait, on most nodes",
                                   usual.empty() ? " none" : usual),
                      -1});
    }
  }
  return seen;
}

// Whether a place worked until the job stopped, as its neighbours did.
std::vector<Seen> WorkedToTheEnd(const TestInput& input) {
  const Rows& rows = *input.of[0];
  const std::size_t tail = PointsOf(input.Number("tail_min"), rows.grid);
  const std::size_t end = input.scene.known ? input.scene.end : rows.grid.size;
  std::vector<float> levels;
  std::vector<float> tails;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const auto row = rows.values.Row(i).first(end);
    levels.push_back(WorkingLevel(row, PointsOf(2, rows.grid)));
    tails.push_back(series::Median(Before(row, end, tail)));
  }
  const float usual = series::Median(tails);
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const telemetry::Place& place = rows.places[i];
    const auto before = Before(rows.values.Row(i), end, tail);
    // The last minutes count by themselves: who died just before the end had worked, too.
    const auto last = Before(rows.values.Row(i), end, PointsOf(1, rows.grid));
    if (!IsKnown(levels[i])) {
      seen.push_back(Unknown(place, "no samples in the window"));
      continue;
    }
    if (KnownShare(before) < 0.8 || KnownShare(last) == 0) {
      const auto known = series::LastKnown(rows.values.Row(i).first(end));
      seen.push_back({place, false,
                      known.has_value()
                          ? absl::StrCat("its numbers end at ", Clock(rows.grid, *known), ", the "
                                         "job went on to ", Clock(rows.grid, end))
                          : "no samples before the end",
                      static_cast<int>(i)});
      continue;
    }
    const double share = input.Number("work_share");
    const auto level = static_cast<double>(tails[i]);
    const bool as_before = level >= share * static_cast<double>(levels[i]);
    const bool as_others = !IsKnown(usual) || level >= share * static_cast<double>(usual);
    seen.push_back({place, as_before && as_others,
                    absl::StrCat(Short(level), " ", rows.unit, " in the ",
                                 Short(input.Number("tail_min")), " minutes before ",
                                 Clock(rows.grid, end), ", ",
                                 Short(static_cast<double>(levels[i])), " at work, ",
                                 Short(static_cast<double>(usual)), " its peers"),
                    static_cast<int>(i)});
  }
  return seen;
}

// Whether the numbers of a place end while those of others go on.
std::vector<Seen> Ended(const TestInput& input) {
  const Rows& rows = *input.of[0];
  const std::size_t least = PointsOf(input.Number("least_min"), rows.grid);
  std::vector<float> ends;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    const auto last = series::LastKnown(rows.values.Row(i));
    ends.push_back(last.has_value() ? static_cast<float>(*last) : kUnknown);
  }
  const float usual = series::Median(ends);
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < rows.places.size(); ++i) {
    if (!IsKnown(ends[i]) || series::KnownOf(ends).size() < 3) {
      seen.push_back(Unknown(rows.places[i], "no samples, or too few to compare"));
      continue;
    }
    const bool ended = static_cast<double>(ends[i]) + static_cast<double>(least) <
                       static_cast<double>(usual);
    const auto at = static_cast<std::size_t>(ends[i]);
    seen.push_back({rows.places[i], ended,
                    ended ? absl::StrCat("its numbers end at ", Clock(rows.grid, at),
                                         ", those of others at ",
                                         Clock(rows.grid, static_cast<std::size_t>(usual)))
                          : "its numbers go on",
                    ended ? static_cast<int>(i) : -1});
  }
  return seen;
}

std::vector<NumberSpec> WaitNumbers() {
  return {{"tail_min", 5, 0.5, 600, "minutes that are looked at"},
          {"busy_pct", 90, 1, 100, "% of utilisation from which on it is busy"},
          {"idle_share", 0.55, 0.05, 0.95,
           "share of its working power below which it rests: MI355X 300 of 900 W (AMD, "
           "maxtext-slurm), H100 120 to 200 of 600 W"},
          {"rest_times", 1.8, 1, 10,
           "times what it draws while it has nothing to do, below which it rests: waiting takes 42 W "
           "more than the 260 W of an MI355X (AMD, maxtext-slurm); work three times as much"},
          {"most", 0.5, 0.1, 1, "share of the GPUs that are most of them: judgement"}};
}

}  // namespace

std::vector<Test> GpuTests() {
  return {
      {"busy_at_idle",
       "Whether it says that it is busy and draws no more power than at rest, where the job stood "
       "still or at the end.",
       2,
       "bool",
       WaitNumbers(),
       BusyAtIdle},
      {"most_wait",
       "Whether most GPUs of the job wait: busy at the power of rest.",
       2,
       "bool",
       WaitNumbers(),
       MostOfThemWait},
      {"waits_otherwise",
       "Where other GPUs wait than on most nodes: its name, or none.",
       2,
       "text",
       WaitNumbers(),
       WaitsOtherwise},
      {"worked_to_the_end",
       "Whether it held its working level, as its peers did, in the minutes before the job's last "
       "step.",
       1,
       "bool",
       {{"tail_min", 15, 0.5, 600, "minutes that are looked at: AMD's method takes 15"},
        {"work_share", 0.6, 0.05, 1, "share of the working level that still is work: judgement"}},
       WorkedToTheEnd},
      {"ended",
       "Whether its numbers end while those of its peers go on.",
       1,
       "bool",
       {{"least_min", 3, 0.1, 600, "minutes earlier: judgement"}},
       Ended},
  };
}

}  // namespace galen::playbook
