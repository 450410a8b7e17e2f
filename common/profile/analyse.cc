#include "common/profile/analyse.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace galen::profile {
namespace {

// A drawn step is so many points wide at most.
constexpr std::int64_t kPoints = 1000;

// Steps in the order of time; one that reaches into the next ends there.
std::vector<Step> Ordered(std::vector<Step> steps) {
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.when.begin < b.when.begin; });
  std::vector<Step> ordered;
  for (Step& step : steps) {
    if (!ordered.empty() && ordered.back().when.begin == step.when.begin) continue;
    if (!ordered.empty()) {
      ordered.back().when.end = std::min(ordered.back().when.end, step.when.begin);
    }
    if (step.when.Length() > 0) ordered.push_back(std::move(step));
  }
  return ordered;
}

// The program that ran longest, of which each run is a step.
std::vector<Step> LongestModule(const std::vector<Step>& modules, std::string& name) {
  std::map<std::string, std::int64_t> time;
  for (const Step& module : modules) {
    time[module.name] = Sum(time[module.name], module.when.Length());
  }
  std::int64_t most = 0;
  for (const auto& [module, sum] : time) {
    if (sum > most) {
      most = sum;
      name = module;
    }
  }
  std::vector<Step> runs;
  for (const Step& module : modules) {
    if (module.name == name) runs.push_back(module);
  }
  return runs;
}

class DeviceAnalysis {
 public:
  DeviceAnalysis(Device device, const Trace& trace, const Families& families,
                 const AnalyseOptions& options)
      : device_(std::move(device)), trace_(trace), families_(families), options_(options) {}

  DeviceReport Make() {
    report_.name = device_.name;
    ChooseStreams();
    ChooseSteps();
    for (Stream& stream : device_.streams) TakeStream(stream);
    SplitSteps();
    Tables();
    Collectives();
    Draw();
    return std::move(report_);
  }

 private:
  Kind KindOf(const Span& span) const {
    return families_.all()[trace_.names[span.name].family].kind;
  }

  // If a GPU's streams are recorded, XLA's instructions repeat the same time and are dropped.
  void ChooseStreams() {
    std::vector<Stream>& streams = device_.streams;
    const bool told = std::any_of(streams.begin(), streams.end(), [](const Stream& stream) {
      return stream.lane == Lane::kStream && !stream.spans.empty();
    });
    if (told) {
      streams.erase(
          std::remove_if(streams.begin(), streams.end(),
                         [](const Stream& stream) { return stream.lane != Lane::kStream; }),
          streams.end());
    }
    for (Stream& stream : streams) {
      if (stream.lane == Lane::kOps) stream.spans = Innermost(std::move(stream.spans));
    }
  }

  void ChooseSteps() {
    if (!trace_.steps.empty()) {
      steps_ = Ordered(trace_.steps);
      report_.marks = "ProfilerStep";
    } else if (!device_.steps.empty()) {
      steps_ = Ordered(device_.steps);
      report_.marks = "Steps";
    } else if (!device_.modules.empty()) {
      steps_ = Ordered(LongestModule(device_.modules, report_.marks));
    }
    report_.marked = !steps_.empty();
    if (report_.marked) return;
    report_.marks.clear();
    Interval all = {std::numeric_limits<std::int64_t>::max(),
                    std::numeric_limits<std::int64_t>::min()};
    for (const Stream& stream : device_.streams) {
      for (const Span& span : stream.spans) {
        all.begin = std::min(all.begin, span.begin);
        all.end = std::max(all.end, span.end);
      }
    }
    if (all.begin < all.end) steps_.push_back({"", all});
  }

  // The part of a span that lies within steps.
  std::int64_t Within(const Span& span) const {
    std::int64_t within = 0;
    auto it =
        std::lower_bound(steps_.begin(), steps_.end(), span.begin,
                         [](const Step& step, std::int64_t at) { return step.when.end <= at; });
    for (; it != steps_.end() && it->when.begin < span.end; ++it) {
      within += std::min(span.end, it->when.end) - std::max(span.begin, it->when.begin);
    }
    return within;
  }

  void TakeStream(const Stream& stream) {
    for (const Span& span : stream.spans) {
      const std::int64_t within = Within(span);
      report_.outside = Sum(report_.outside, span.end - span.begin - within);
      if (within == 0) continue;
      const Interval when = {span.begin, span.end};
      of_kind_[static_cast<std::size_t>(KindOf(span))].push_back(when);
      KernelTime& kernel = kernels_[span.name];
      ++kernel.count;
      kernel.time = Sum(kernel.time, within);
      kernel.longest = std::max(kernel.longest, span.end - span.begin);
      sums_.push_back({span.begin, span.end});
    }
  }

  void SplitSteps() {
    const auto take = [&](Kind kind) {
      return Union(std::move(of_kind_[static_cast<std::size_t>(kind)]));
    };
    const Intervals compute = take(Kind::kCompute);
    const Intervals communication = take(Kind::kCommunication);
    const Intervals memory = take(Kind::kMemory);
    const Intervals exposed = Subtract(communication, compute);
    const Intervals copies = Subtract(Subtract(memory, compute), communication);
    std::vector<Interval> any = compute;
    any.insert(any.end(), exposed.begin(), exposed.end());
    any.insert(any.end(), copies.begin(), copies.end());
    const Intervals busy = Union(std::move(any));
    for (const Step& step : steps_) {
      Split split;
      split.wall = step.when.Length();
      split.compute = Length(Clip(compute, step.when));
      split.communication = Length(Clip(communication, step.when));
      split.exposed = Length(Clip(exposed, step.when));
      split.memory = Length(Clip(copies, step.when));
      const Interval whole[] = {step.when};
      const Intervals nothing = Subtract(whole, Clip(busy, step.when));
      split.host = Length(Intersect(nothing, Clip(trace_.host, step.when)));
      split.idle = Length(nothing) - split.host;
      report_.steps.push_back({step.name, step.when, split});
    }
    for (const Interval& sum : sums_) AddToSteps(sum);
    for (const StepSplit& step : report_.steps) report_.total += step.split;
  }

  void AddToSteps(Interval when) {
    auto it = std::lower_bound(
        report_.steps.begin(), report_.steps.end(), when.begin,
        [](const StepSplit& step, std::int64_t at) { return step.when.end <= at; });
    for (; it != report_.steps.end() && it->when.begin < when.end; ++it) {
      const std::int64_t within =
          std::min(when.end, it->when.end) - std::max(when.begin, it->when.begin);
      it->split.kernels = Sum(it->split.kernels, within);
    }
  }

  void Tables() {
    std::map<std::size_t, FamilyTime> by_family;
    for (auto& [name, kernel] : kernels_) {
      kernel.name = trace_.names[name].text;
      kernel.family = trace_.names[name].family;
      FamilyTime& family = by_family[kernel.family];
      family.family = kernel.family;
      family.count += kernel.count;
      family.time = Sum(family.time, kernel.time);
      report_.kernels.push_back(kernel);
    }
    for (const auto& [index, family] : by_family) report_.families.push_back(family);
    std::stable_sort(report_.families.begin(), report_.families.end(),
                     [](const FamilyTime& a, const FamilyTime& b) { return a.time > b.time; });
    std::sort(report_.kernels.begin(), report_.kernels.end(),
              [](const KernelTime& a, const KernelTime& b) {
                return a.time != b.time ? a.time > b.time : a.name < b.name;
              });
    report_.kernels_in_all = report_.kernels.size();
    if (report_.kernels.size() > options_.kernels) report_.kernels.resize(options_.kernels);
  }

  // Those that begin within steps.
  void Collectives() {
    absl::flat_hash_map<std::string, std::uint32_t> keys;
    for (const Collective& one : device_.collectives) {
      const auto step = std::lower_bound(
          steps_.begin(), steps_.end(), one.when.begin,
          [](const Step& candidate, std::int64_t at) { return candidate.when.end <= at; });
      if (step == steps_.end() || one.when.begin < step->when.begin) continue;
      const std::string key =
          one.group.empty() ? trace_.names[one.name].text : absl::StrCat("group ", one.group);
      const auto [it, added] =
          keys.try_emplace(key, static_cast<std::uint32_t>(report_.keys.size()));
      if (added) report_.keys.push_back(key);
      report_.met.push_back({it->second, one.sequence, one.when});
    }
    std::sort(report_.met.begin(), report_.met.end(),
              [](const Met& a, const Met& b) { return a.when.begin < b.when.begin; });
  }

  // The step in the middle by its length is drawn.
  void Draw() {
    if (report_.steps.empty()) return;
    std::vector<std::size_t> order(report_.steps.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const std::int64_t wall_a = report_.steps[a].split.wall;
      const std::int64_t wall_b = report_.steps[b].split.wall;
      return wall_a != wall_b ? wall_a < wall_b : a < b;
    });
    const StepSplit& step = report_.steps[order[order.size() / 2]];
    DrawnStep& drawn = report_.drawn;
    drawn.name = step.name;
    drawn.when = step.when;
    const std::int64_t point = std::max<std::int64_t>(step.when.Length() / kPoints, 1);
    std::vector<DrawnStream> streams;
    for (const Stream& stream : device_.streams) {
      std::vector<DrawnPiece> pieces;
      for (const Span& span : stream.spans) {
        const Interval when = {std::max(span.begin, step.when.begin),
                               std::min(span.end, step.when.end)};
        if (when.begin < when.end) pieces.push_back({when, KindOf(span)});
      }
      if (pieces.empty()) continue;
      std::sort(pieces.begin(), pieces.end(), [](const DrawnPiece& a, const DrawnPiece& b) {
        return a.when.begin < b.when.begin;
      });
      DrawnStream one;
      one.name = stream.name;
      std::vector<Interval> busy;
      for (const DrawnPiece& piece : pieces) {
        busy.push_back(piece.when);
        if (!one.pieces.empty() && one.pieces.back().kind == piece.kind &&
            piece.when.begin - one.pieces.back().when.end < point) {
          one.pieces.back().when.end = std::max(one.pieces.back().when.end, piece.when.end);
        } else {
          one.pieces.push_back(piece);
        }
      }
      one.busy = Length(Union(std::move(busy)));
      streams.push_back(std::move(one));
    }
    std::stable_sort(streams.begin(), streams.end(),
                     [](const auto& a, const auto& b) { return a.busy > b.busy; });
    for (DrawnStream& stream : streams) {
      if (drawn.streams.size() < options_.drawn_streams) {
        drawn.streams.push_back(std::move(stream));
      } else {
        ++drawn.more_streams;
      }
    }
    for (const Interval& host : Clip(trace_.host, step.when)) {
      if (!drawn.host.empty() && host.begin - drawn.host.back().end < point) {
        drawn.host.back().end = host.end;
      } else {
        drawn.host.push_back(host);
      }
    }
  }

  Device device_;
  const Trace& trace_;
  const Families& families_;
  const AnalyseOptions& options_;
  std::vector<Step> steps_;
  std::vector<Interval> of_kind_[3];
  std::vector<Interval> sums_;
  absl::flat_hash_map<std::uint32_t, KernelTime> kernels_;
  DeviceReport report_;
};

}  // namespace

Split& operator+=(Split& to, const Split& more) {
  to.wall = Sum(to.wall, more.wall);
  to.compute = Sum(to.compute, more.compute);
  to.exposed = Sum(to.exposed, more.exposed);
  to.memory = Sum(to.memory, more.memory);
  to.host = Sum(to.host, more.host);
  to.idle = Sum(to.idle, more.idle);
  to.communication = Sum(to.communication, more.communication);
  to.kernels = Sum(to.kernels, more.kernels);
  return to;
}

std::vector<Span> Innermost(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<Span> left;
  std::vector<Span> open;
  std::int64_t at = 0;
  const auto until = [&](std::int64_t end) {
    if (at < end) left.push_back({at, end, open.back().name});
    at = std::max(at, end);
  };
  for (const Span& span : spans) {
    while (!open.empty() && open.back().end <= span.begin) {
      until(open.back().end);
      open.pop_back();
    }
    if (!open.empty()) until(span.begin);
    at = span.begin;
    open.push_back(span);
  }
  for (; !open.empty(); open.pop_back()) until(open.back().end);
  return left;
}

TraceReport Analyse(Trace trace, const Families& families, const AnalyseOptions& options) {
  TraceReport report;
  report.xla = trace.xla;
  report.rank = trace.rank;
  report.world_size = trace.world_size;
  report.gpus = trace.gpus;
  report.host_known = trace.host_known;
  report.bytes = trace.bytes;
  report.events = trace.events;
  report.remarks = trace.remarks;
  std::vector<Device> devices = std::move(trace.devices);
  trace.devices.clear();
  for (Device& device : devices) {
    const bool any = std::any_of(device.streams.begin(), device.streams.end(),
                                 [](const Stream& stream) { return !stream.spans.empty(); });
    if (!any) continue;
    report.devices.push_back(DeviceAnalysis(std::move(device), trace, families, options).Make());
  }
  std::sort(report.devices.begin(), report.devices.end(),
            [](const DeviceReport& a, const DeviceReport& b) { return a.name < b.name; });
  if (report.devices.empty()) {
    report.remarks.push_back("no operation of a GPU is in it: it is of the host alone");
  }
  return report;
}

}  // namespace galen::profile
