#ifndef TESTS_SCENARIOS_SIGNALS_H_
#define TESTS_SCENARIOS_SIGNALS_H_

#include <vector>

#include "tests/scenarios/plan.h"

namespace galen::scenarios {

// The activity of a node, which follows its job.
enum class Activity { kIdle, kStarting, kTraining, kCheckpoint, kHung };

struct Levels {
  double idle = 0;
  double starting = 0;
  double training = 0;
  double checkpoint = 0;
  double hung = 0;  // waits busily in a collective

  double At(Activity activity) const;
};

// The name of a signal in an exporter. `scale` converts it to the exporter's unit.
struct Exported {
  const char* metric = nullptr;  // null: it does not have it
  const char* target = "";       // which exporter of the node
  double scale = 1;
  const char* label = nullptr;  // one more
  const char* value = nullptr;
};

enum class Of { kGpu, kPort, kHost };

struct SignalRow {
  Signal signal = Signal::kPower;
  const char* quantity = "";
  Of of = Of::kHost;
  bool counter = false;
  double spread = 0;  // between devices, as a share
  double noise = 0;   // of a sample, as a share
  double jitter = 0;  // of a sample, in its unit
  double waits = 0;   // the share of it that is lost while GPUs wait for others
  double grain = 0;   // it is a multiple of that; 0: any
  double most = 1e300;
  Levels amd = {};
  Levels nvidia = {};
  Exported of_amd = {};
  Exported of_nvidia = {};
};

const std::vector<SignalRow>& SignalRows();

}  // namespace galen::scenarios

#endif  // TESTS_SCENARIOS_SIGNALS_H_
