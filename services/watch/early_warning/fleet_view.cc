#include "services/watch/early_warning/fleet_view.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/timeseries/robust.h"

namespace galen::watch::early_warning {
namespace {

using telemetry::Measured;
using watch::detection::Of;
using watch::detection::Where;

constexpr std::size_t kMostSubjects = 200'000;
constexpr std::int64_t kDay = 1440;  // minutes
constexpr float kSecondsAMinute = 60;

// Longer than any machine's name, so a cut label never equals one.
constexpr std::size_t kMostLabel = 320;

// A stored text must be bounded, and be valid text.
std::string LabelOf(const std::string& label) {
  if (label.size() <= kMostLabel && IsUtf8(label)) return label;
  return CleanText(label, kMostLabel);
}

std::int64_t MinuteAt(absl::Time time) { return absl::ToUnixSeconds(time) / 60; }

}  // namespace

std::map<std::string, std::string> JobsOf(const std::map<std::string, Measured>& measured) {
  std::map<std::string, std::set<std::string>> all;
  for (const auto& [name, each] : measured) {
    for (std::size_t row = 0; row < each.rows.size(); ++row) {
      const telemetry::Place& place = each.rows[row].place;
      if (place.job.empty() || place.node.empty()) continue;
      // A series that ended before the window's last minutes is a finished job.
      const absl::Span<const float> values = each.values.Row(row);
      const bool lives = std::any_of(values.end() - std::min<std::ptrdiff_t>(3, values.size()),
                                     values.end(), timeseries::IsKnown);
      if (lives) all[place.node].insert(place.job);
    }
  }
  std::map<std::string, std::string> jobs;
  for (const auto& [node, names] : all) {
    if (names.size() == 1) jobs[node] = *names.begin();
  }
  return jobs;
}

FleetView::FleetView(const watch::detection::RuleSet& rule_set, Of of)
    : rule_set_(rule_set), of_(of), detectors_(rule_set, of) {
  columns_.resize(detectors_.measures().size());
}

std::string FleetView::KeyOf(const Where& where) const {
  switch (of_) {
    case Of::kGpu:
      return absl::StrCat(where.node, "\n", where.device);
    case Of::kNode:
      return where.node;
    case Of::kJob:
      return where.job;
  }
  return "";
}

std::size_t FleetView::SlotOf(const Where& where) {
  const auto [at, is_new] = slots_.try_emplace(KeyOf(where), 0);
  if (is_new) {
    if (free_.empty()) {
      at->second = subjects_.size();
      subjects_.emplace_back();
    } else {
      at->second = free_.back();
      free_.pop_back();
    }
    subjects_[at->second] = {where, 0, true};
  }
  return at->second;
}

void FleetView::Expire(std::int64_t minute) {
  for (auto it = slots_.begin(); it != slots_.end();) {
    if (minute - subjects_[it->second].heard <= kDay) {
      ++it;
      continue;
    }
    detectors_.Forget(it->second);
    subjects_[it->second] = {};
    free_.push_back(it->second);
    it = slots_.erase(it);
  }
}

// Jobs are numbered in order of arrival; GPUs of an unknown job are compared with those of their
// machine.
std::int32_t FleetView::GroupOf(const Where& where) {
  std::string group = where.job;
  if (group.empty() && of_ == Of::kGpu) group = absl::StrCat("\n", where.node);
  if (group.empty()) return -1;
  if (groups_.size() > kMostSubjects) groups_.clear();
  return groups_.try_emplace(group, static_cast<std::int32_t>(groups_.size())).first->second;
}

void FleetView::Take(const std::map<std::string, Measured>& measured,
                     const std::map<std::string, std::string>& jobs, const Assumed& assumed) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    column = {};
    const auto found = measured.find(detectors_.measures()[c]);
    if (found == measured.end()) continue;
    column.measured = &found->second;
    grid_ = found->second.grid;
    const telemetry::Quantity& quantity = *found->second.quantity;
    // A counter gives growth per second, but a minute's growth is wanted; a counter in seconds
    // gives the share.
    if (quantity.counter && quantity.unit != "s") column.scale = kSecondsAMinute;
    if (of_ == Of::kNode) {
      column.join = quantity.counter ? Column::Join::kSum : Column::Join::kHighest;
      for (const watch::detection::Rule* rule : detectors_.rules()) {
        if (rule->measure == quantity.name && rule->low && !quantity.counter) {
          column.join = Column::Join::kLowest;
        }
      }
    }
    const std::int64_t minute = MinuteAt(grid_.At(grid_.size - 1));
    for (std::size_t row = 0; row < found->second.rows.size(); ++row) {
      const telemetry::Place& place = found->second.rows[row].place;
      Where where;
      if (of_ != Of::kJob) where.node = LabelOf(place.node);
      if (of_ == Of::kGpu) where.device = LabelOf(place.device);
      where.job = LabelOf(place.job);
      if (const auto job = jobs.find(place.node); where.job.empty() && job != jobs.end()) {
        where.job = LabelOf(job->second);
      }
      const bool named = of_ == Of::kJob   ? !where.job.empty()
                         : of_ == Of::kGpu ? !where.node.empty() && !where.device.empty()
                                           : !where.node.empty();
      if (!named || (slots_.size() >= kMostSubjects && !slots_.contains(KeyOf(where)))) continue;
      const absl::Span<const float> values = found->second.values.Row(row);
      if (std::none_of(values.begin(), values.end(), timeseries::IsKnown)) continue;
      const std::size_t slot = SlotOf(where);
      subjects_[slot].where = where;
      subjects_[slot].heard = minute;
      if (column.rows.size() <= slot) column.rows.resize(slot + 1);
      column.rows[slot].push_back(static_cast<std::uint32_t>(row));
    }
  }
  if (grid_.size > 0) Expire(MinuteAt(grid_.At(grid_.size - 1)));
  Assume(assumed);
  group_of_.assign(subjects_.size(), -1);
  for (std::size_t slot = 0; slot < subjects_.size(); ++slot) {
    if (subjects_[slot].used) group_of_[slot] = GroupOf(subjects_[slot].where);
  }
}

void FleetView::Assume(const Assumed& assumed) {
  if (of_ != Of::kJob) return;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto found = assumed.find(detectors_.measures()[c]);
    if (found == assumed.end()) continue;
    Column& column = columns_[c];
    column.assumed.assign(subjects_.size(), timeseries::kUnknown);
    for (const auto& [job, value] : found->second) {
      const auto slot = slots_.find(KeyOf({.node = "", .device = "", .job = job}));
      if (slot == slots_.end()) continue;
      const bool measured = slot->second < column.rows.size() && !column.rows[slot->second].empty();
      if (!measured) column.assumed[slot->second] = value;
    }
  }
}

void FleetView::Fill(Column& column, std::size_t sample) const {
  column.values.assign(subjects_.size(), timeseries::kUnknown);
  std::copy(column.assumed.begin(), column.assumed.end(), column.values.begin());
  std::vector<float> known;
  for (std::size_t slot = 0; slot < column.rows.size(); ++slot) {
    known.clear();
    for (const std::uint32_t row : column.rows[slot]) {
      const float value = column.measured->values.Row(row)[sample];
      if (timeseries::IsKnown(value)) known.push_back(value * column.scale);
    }
    if (known.empty()) continue;
    float& value = column.values[slot];
    switch (column.join) {
      case Column::Join::kSum:
        value = 0;
        for (const float each : known) value += each;
        break;
      case Column::Join::kLowest:
        value = *std::min_element(known.begin(), known.end());
        break;
      case Column::Join::kHighest:
        value = *std::max_element(known.begin(), known.end());
        break;
      case Column::Join::kMiddle:
        value = timeseries::Median(known);
        break;
    }
  }
}

std::vector<watch::detection::Notice> FleetView::Step(std::size_t sample) {
  std::vector<watch::detection::Notice> notices;
  if (sample >= grid_.size) return notices;
  const absl::Time at = grid_.At(sample);
  watch::detection::Moment moment;
  moment.minute = MinuteAt(at);
  moment.groups = group_of_;
  silent_.assign(subjects_.size(), 0);
  for (const watch::detection::Silence& silence : rule_set_.silences) {
    for (std::size_t slot = 0; slot < subjects_.size(); ++slot) {
      const Where& where = subjects_[slot].where;
      if (silence.Covers(where.node, where.job, at)) silent_[slot] = 1;
    }
  }
  moment.silent = silent_;
  for (Column& column : columns_) {
    if (column.measured == nullptr && column.assumed.empty()) {
      moment.columns.emplace_back();
      continue;
    }
    Fill(column, sample);
    moment.columns.emplace_back(column.values);
  }
  for (const watch::detection::Sign& sign : detectors_.Step(moment)) {
    watch::detection::Notice notice;
    notice.rule = detectors_.rules()[sign.rule]->name;
    notice.where = subjects_[sign.slot].where;
    notice.score = static_cast<double>(sign.score);
    notice.value = static_cast<double>(sign.value);
    notice.expected = static_cast<double>(sign.expected);
    notice.since = absl::FromUnixSeconds(60 * sign.since);
    notices.push_back(std::move(notice));
  }
  return notices;
}

std::vector<FleetView::Kept> FleetView::Save() const {
  std::vector<Kept> all;
  for (const auto& [key, slot] : slots_) {
    std::vector<float> numbers = detectors_.Save(slot);
    if (!numbers.empty()) all.push_back({subjects_[slot].where, std::move(numbers)});
  }
  return all;
}

void FleetView::Restore(const Kept& kept) {
  if (slots_.size() >= kMostSubjects) return;
  const std::size_t slot = SlotOf(kept.where);
  subjects_[slot].heard = detectors_.minute();
  if (!detectors_.Restore(slot, GroupOf(kept.where), kept.numbers).ok()) detectors_.Forget(slot);
}

}  // namespace galen::watch::early_warning
