#ifndef SERVICES_ADVISOR_LEARNING_ONLINE_H_
#define SERVICES_ADVISOR_LEARNING_ONLINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/advisor/learning/learner.h"
#include "services/advisor/learning/signs.h"

// The warnings about a job while it runs. A hazard alone never raises an alarm: a micro-benchmark
// for the sign has to fail first.
namespace galen::advisor {

struct RunningJob {
  std::string archetype;
  std::string stack;
  std::string context;
  std::int64_t gpus = 1;
  double hours = 0;  // since its start
  Signs signs{};
};

struct Hazard {
  bool known = false;  // false: nothing was learned yet, `why` gives the reason
  std::string why;
  double probability = 0;    // probability of failure within the horizon
  double horizon = 0;        // hours
  HazardModel::Ratio ratio;  // compared with the same job without signs
  struct Because {
    std::size_t sign = 0;
    double ratio = 1;
  };
  std::vector<Because> because;  // the strongest first; signs without an effect are not in it
};
Hazard HazardOf(const Learned& learned, const RunningJob& job, double horizon_hours);

struct AlarmOptions {
  double least_probability = 0.05;  // within the horizon
  double least_ratio =
      2;  // and this multiple of the hazard without signs, by the lower end of its interval
  absl::Duration retry = absl::Minutes(30);  // after a test that did not run
  absl::Duration quiet = absl::Hours(6);     // after one that passed, unless the hazard doubles
  absl::Duration lost = absl::Hours(2);      // after one that was never answered
};

// State of the confirmation of one job. Plain data, to be stored (to the nanosecond).
struct Confirmation {
  enum class Stage {
    kQuiet,
    kTesting,    // the check was requested and has not answered
    kConfirmed,  // it failed: the owner was alarmed
    kRefuted,    // the check passed: the sign was false, for now
    kUntested,   // it could not run: unknown, which is neither
  };
  Stage stage = Stage::kQuiet;
  std::string check;
  absl::Time since = absl::InfinitePast();
  double probability = 0;  // when the check was requested
};

// The next step.
struct Step {
  enum class Do { kNothing, kRunCheck, kAlarm };
  Do what = Do::kNothing;
  std::string check;   // of kRunCheck
  std::string reason;  // one sentence
};

// The next step for a job. Requests at most one check at a time. Pure.
Step OnHazard(const Hazard& hazard, const BuildUpSigns& signs, absl::Time now,
              const AlarmOptions& options, Confirmation& confirmation);

// Takes the result of the check. This is the only way to an alarm.
enum class TestResult { kPassed, kFailed, kNotRun };
Step OnTest(absl::string_view check, TestResult result, absl::Time now, Confirmation& confirmation);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_ONLINE_H_
