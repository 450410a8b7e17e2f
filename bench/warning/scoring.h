#ifndef BENCH_WARNING_SCORING_H_
#define BENCH_WARNING_SCORING_H_

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/detection/made_up_fleet.h"

namespace galen::bench {

// A report and its subject. -1: not a machine; also a job, if there is one.
struct Told {
  int minute = 0;
  int node = -1;
  int job = -1;
  std::string what;
};

// All reports about one fleet, and its true faults.
struct Telling {
  std::vector<Told> told;
  std::vector<testing::PlantedFault> faults;
  int minutes = 0;
};

struct Score {
  struct Kind {
    int visible = 0;             // that showed within the time
    int before = 0;              // reported before people notice (thirty minutes)
    int before10 = 0;            // before ten minutes
    int found = 0;               // reported at all
    int hidden = 0;              // that never showed
    std::vector<double> delays;  // minutes from the beginning
    std::vector<double> leads;   // minutes left until people notice; below 0: late
  };
  std::array<Kind, testing::kFaultKinds> kinds;
  int false_alarms = 0;
  int told = 0;
  double weeks = 0;
  std::vector<Told> wrong;

  Kind All() const;
};

// A telling is right when it names the fault's machine (of slow storage: a machine of the job), or
// a job that runs on it, from its beginning until three hours after its end. All others are false,
// one of the wrong machine of the right job, too.
void AddScore(const Telling& telling, Score& score);
bool IsRight(const Told& told, const testing::PlantedFault& fault);

std::string Row(const std::string& name, const Score& score);
std::string Table(const Score& score);

}  // namespace galen::bench

#endif  // BENCH_WARNING_SCORING_H_
