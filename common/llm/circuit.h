#ifndef COMMON_LLM_CIRCUIT_H_
#define COMMON_LLM_CIRCUIT_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "common/llm/client.h"

namespace galen::llm {

// When a circuit opens and for how long. The numbers are priors: a call costs a diagnosis seconds,
// so that five failures in a row are a minute lost already.
struct CircuitPolicy {
  int consecutive = 5;                           // failures in a row that open it
  double rate = 0.5;                             // share of failures in the window that opens it,
  int least = 10;                                // once the window has so many outcomes
  absl::Duration window = absl::Minutes(1);      // failures and successes count for so long
  absl::Duration cool_down = absl::Seconds(15);  // it stays open at first; doubled each time that
  absl::Duration longest = absl::Minutes(5);     // a probe fails, up to this
  double jitter = 0.2;  // up to this share longer, so that many clients do not come back at once
};

// How an attempt ended, as far as it says something about the endpoint.
enum class Outcome {
  kGood,     // it works
  kBad,      // it does not
  kNeither,  // the request was at fault, the caller went away, or it asked to wait
};

// A circuit breaker: closed, it lets all calls pass; open, none; half-open, one at a time, whose
// end closes or opens it. It has no clock, randomness or lock: its owner supplies them. If time
// runs backwards, no time has passed.
class Circuit {
 public:
  explicit Circuit(const CircuitPolicy& policy) : policy_(policy) {}

  // A ticket if a call may go now, which has to be followed by one Report with it.
  std::optional<std::int64_t> Admit(absl::Time now);
  // `chance` in [0, 1) scales the jitter. Reports of calls sent before the circuit opened are
  // ignored.
  void Report(std::int64_t ticket, Outcome outcome, absl::Time now, double chance);

  // As a call at `now` would find it.
  Health::Circuit state(absl::Time now) const;
  // When the next call may go; the past when one may go now.
  absl::Time open_until() const { return open_until_; }
  std::int64_t opened() const { return opened_; }

 private:
  // The window moves in steps of a tenth of it.
  static constexpr int kSlices = 10;
  struct Slice {
    std::int64_t number = -1;  // since the epoch
    int good = 0;
    int bad = 0;
  };

  Slice& SliceAt(absl::Time now);
  bool TooManyFailures(absl::Time now) const;
  std::int64_t SliceNumber(absl::Time now) const;
  void Open(absl::Time now, double chance);

  CircuitPolicy policy_;
  std::array<Slice, kSlices> slices_;
  int consecutive_ = 0;
  bool closed_ = true;
  bool probing_ = false;  // half-open, and the one call that may go has gone
  int reopened_ = 0;      // times that a probe failed since it was closed
  absl::Time open_until_ = absl::InfinitePast();
  std::int64_t opened_ = 0;
};

}  // namespace galen::llm

#endif  // COMMON_LLM_CIRCUIT_H_
