#ifndef COMMON_PROFILE_COMPARE_H_
#define COMMON_PROFILE_COMPARE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/profile/families.h"
#include "common/profile/job.h"

namespace galen::profile {

// A value of two jobs, in seconds of a step.
struct Pair {
  double here = 0;
  double against = 0;
  double Difference() const { return here - against; }
};

// A part of a step; the parts add up to it.
struct PartDifference {
  std::string name;  // "compute", "exposed_communication", "memory", "host", "idle"
  std::string title;
  Pair time;
};

struct FamilyDifference {
  std::size_t family = 0;  // of Families::all()
  Pair time;               // of GPUs, of one operation after the other
  Pair calls;
};

struct OperatorDifference {
  std::string name;
  std::size_t family = 0;
  Pair time;
  Pair calls;
  // Seconds of one call.
  double MeanHere() const { return calls.here > 0 ? time.here / calls.here : 0; }
  double MeanAgainst() const { return calls.against > 0 ? time.against / calls.against : 0; }
};

// Origin of the difference of two jobs' step times. Each list begins with the largest difference in
// either direction.
struct Difference {
  Pair step;  // the mean over all GPUs of the mean of their steps
  Pair gpus;
  Pair steps;
  std::vector<PartDifference> parts;
  std::vector<FamilyDifference> families;
  std::vector<OperatorDifference> operators;
  std::vector<std::string> notes;  // why the two may not be alike
};

// Operators that a report needs so that the comparison finds the same ones in both.
inline constexpr std::size_t kComparedKernels = 5000;

// Compares the means over all GPUs. Both jobs have at least one GPU with a step. Pure.
Difference Compare(const JobProfile& here, const JobProfile& against);

// Whether a job has a GPU to compare.
bool IsComparable(const JobProfile& job);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_COMPARE_H_
