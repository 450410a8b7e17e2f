#include "services/watch/correlator.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

#include "common/base/proto_time.h"

namespace galen::watch {
namespace {}  // namespace

void Correlator::Add(const std::string& kind, v1::HealthEvent event, std::int64_t position,
                     int index, absl::Time received) {
  const auto told = told_.find({kind, event.node()});
  if (told != told_.end() && received < told->second) return;
  auto [at, is_new] = open_.try_emplace(kind);
  Outbreak& outbreak = at->second;
  if (is_new) {
    outbreak.kind = kind;
    outbreak.begin = position;
    outbreak.begin_index = index;
    outbreak.first = received;
  }
  outbreak.last = std::max(outbreak.last, received);
  if (members_[kind].insert(event.node()).second) {
    outbreak.events.push_back(std::move(event));
  }
}

bool Correlator::IsDue(const Outbreak& outbreak, absl::Time now) const {
  return now >= outbreak.last + options_.quiet || now >= outbreak.first + options_.longest ||
         outbreak.events.size() > options_.most_machines;
}

void Correlator::Split(Outbreak outbreak, std::vector<Outbreak>& into) const {
  while (outbreak.events.size() > options_.most_machines) {
    const auto end = outbreak.events.begin() + static_cast<std::ptrdiff_t>(options_.most_machines);
    Outbreak part = outbreak;
    part.events.assign(outbreak.events.begin(), end);
    outbreak.events.erase(outbreak.events.begin(), end);
    into.push_back(std::move(part));
    ++outbreak.part;
  }
  into.push_back(std::move(outbreak));
}

std::vector<Outbreak> Correlator::Due(absl::Time now) {
  std::vector<Outbreak> due;
  for (auto it = open_.begin(); it != open_.end();) {
    if (!IsDue(it->second, now)) {
      ++it;
      continue;
    }
    for (const v1::HealthEvent& event : it->second.events) {
      told_[{it->first, event.node()}] = now + options_.repeat;
    }
    members_.erase(it->first);
    Split(std::move(it->second), due);
    it = open_.erase(it);
  }
  if (!due.empty()) {
    for (auto it = told_.begin(); it != told_.end();) {
      it = it->second <= now ? told_.erase(it) : std::next(it);
    }
    while (told_.size() > options_.most_remembered) {
      told_.erase(std::min_element(told_.begin(), told_.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      }));
    }
  }
  std::sort(due.begin(), due.end(), [](const Outbreak& a, const Outbreak& b) {
    return std::tie(a.begin, a.begin_index, a.part) < std::tie(b.begin, b.begin_index, b.part);
  });
  return due;
}

absl::Time Correlator::NextDue() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [kind, outbreak] : open_) {
    next = std::min({next, outbreak.last + options_.quiet, outbreak.first + options_.longest});
    if (outbreak.events.size() > options_.most_machines) next = absl::InfinitePast();
  }
  return next;
}

v1::Progress Correlator::Save(std::int64_t position) const {
  v1::Progress progress;
  for (const auto& [kind, outbreak] : open_) position = std::min(position, outbreak.begin - 1);
  progress.set_position(position);
  for (const auto& [key, until] : told_) {
    v1::Progress::Told& told = *progress.add_told();
    told.set_kind(key.first);
    told.set_node(key.second);
    *told.mutable_until() = ToTimestamp(until);
  }
  return progress;
}

void Correlator::Restore(const v1::Progress& progress) {
  for (const v1::Progress::Told& told : progress.told()) {
    told_[{told.kind(), told.node()}] = ToTime(told.until());
  }
}

}  // namespace galen::watch
