#include "common/llm/circuit.h"

#include <algorithm>

namespace galen::llm {

std::int64_t Circuit::SliceNumber(absl::Time now) const {
  const absl::Duration step = std::max(policy_.window / kSlices, absl::Milliseconds(1));
  absl::Duration rest;
  return absl::IDivDuration(now - absl::UnixEpoch(), step, &rest);
}

Circuit::Slice& Circuit::SliceAt(absl::Time now) {
  const std::int64_t number = SliceNumber(now);
  Slice& slice = slices_[static_cast<std::size_t>(((number % kSlices) + kSlices) % kSlices)];
  if (slice.number < number) slice = {number, 0, 0};
  return slice;
}

bool Circuit::TooManyFailures(absl::Time now) const {
  if (consecutive_ >= policy_.consecutive) return true;
  int good = 0;
  int bad = 0;
  const std::int64_t oldest = SliceNumber(now) - kSlices + 1;
  for (const Slice& slice : slices_) {
    if (slice.number < oldest) continue;
    good += slice.good;
    bad += slice.bad;
  }
  return good + bad >= policy_.least && bad >= policy_.rate * (good + bad);
}

void Circuit::Open(absl::Time now, double chance) {
  absl::Duration pause = policy_.cool_down;
  for (int i = 0; i < reopened_ && pause < policy_.longest; ++i) pause *= 2;
  pause = std::min(pause, policy_.longest);
  pause += pause * policy_.jitter * std::clamp(chance, 0.0, 1.0);
  closed_ = false;
  probing_ = false;
  open_until_ = now + pause;
  ++opened_;
}

std::optional<std::int64_t> Circuit::Admit(absl::Time now) {
  if (closed_) return opened_;
  if (probing_ || now < open_until_) return std::nullopt;
  probing_ = true;
  return opened_;
}

void Circuit::Report(std::int64_t ticket, Outcome outcome, absl::Time now, double chance) {
  if (ticket != opened_) return;
  if (!closed_) {
    probing_ = false;
    if (outcome == Outcome::kBad) {
      ++reopened_;
      Open(now, chance);
    } else if (outcome == Outcome::kGood) {
      closed_ = true;
      reopened_ = 0;
      consecutive_ = 0;
      slices_ = {};
    }
    return;
  }
  if (outcome == Outcome::kNeither) return;
  Slice& slice = SliceAt(now);
  if (outcome == Outcome::kGood) {
    consecutive_ = 0;
    ++slice.good;
    return;
  }
  ++consecutive_;
  ++slice.bad;
  if (TooManyFailures(now)) Open(now, chance);
}

Health::Circuit Circuit::state(absl::Time now) const {
  if (closed_) return Health::Circuit::kClosed;
  return probing_ || now >= open_until_ ? Health::Circuit::kHalfOpen : Health::Circuit::kOpen;
}

}  // namespace galen::llm
