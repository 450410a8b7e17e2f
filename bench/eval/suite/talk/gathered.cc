#include "bench/eval/suite/talk/gathered.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace galen::talk {
namespace {

// The index among `count` that an ordinal means.
std::optional<std::size_t> PlaceOf(absl::string_view ordinal, std::size_t count,
                                   const TalkWords& words) {
  if (words.last.In(ordinal) || words.latter.In(ordinal)) return count - 1;
  if (words.former.In(ordinal)) return 0;
  const std::array<const phrases::Phrases*, 4> places = {&words.first, &words.second, &words.third,
                                                         &words.fourth};
  for (std::size_t i = 0; i < places.size() && i < count; ++i) {
    if (places[i]->In(ordinal)) return i;
  }
  return std::nullopt;
}

}  // namespace

void Gathered::Add(Found found) {
  if (found_.size() < kMostTargets) found_.push_back(std::move(found));
}

Found* Gathered::FindAddress(absl::string_view address) {
  const auto found = std::find_if(found_.begin(), found_.end(), [&](const Found& each) {
    return each.target.address == address;
  });
  return found == found_.end() ? nullptr : &*found;
}

Found* Gathered::LastIn() {
  const auto found = std::find_if(found_.rbegin(), found_.rend(),
                                  [](const Found& each) { return each.verdict.in; });
  return found == found_.rend() ? nullptr : &*found;
}

Found* Gathered::Meant(absl::string_view said, const TalkWords& words) {
  std::optional<phrases::Span> last;
  for (auto next = words.ordinal_one.Find(said); next.has_value();
       next = words.ordinal_one.Find(said, next->end)) {
    last = next;
  }
  if (!last.has_value()) return nullptr;
  std::vector<Found*> in;
  for (Found& each : found_) {
    if (each.verdict.in) in.push_back(&each);
  }
  if (in.empty()) return nullptr;
  const auto at = PlaceOf(said.substr(last->begin, last->end - last->begin), in.size(), words);
  return at.has_value() ? in[*at] : nullptr;
}

Talk Gathered::Take() && {
  Talk talk;
  for (Found& each : found_) {
    if (each.verdict.in) {
      talk.targets.push_back(std::move(each.target));
    } else {
      const bool left_alone = each.verdict.why == kLeftAlone;
      talk.excluded.push_back(
          {std::move(each.target.address), left_alone, std::move(each.verdict.why)});
    }
  }
  return talk;
}

}  // namespace galen::talk
