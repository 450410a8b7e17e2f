#ifndef TESTS_UNIT_COMMON_PERFMODEL_WORLD_H_
#define TESTS_UNIT_COMMON_PERFMODEL_WORLD_H_

#include <map>
#include <string>

#include "common/perfmodel/factors.h"
#include "common/perfmodel/job.h"
#include "common/perfmodel/machine.h"

namespace galen::perfmodel {

// A machine and factors of round numbers.
inline Machine SomeMachine() {
  Machine machine;
  machine.gpu = "X";
  machine.vendor = "nvidia";
  machine.peaks = {{"bf16", 100e12}, {"fp32", 10e12}};
  machine.memory = 1e12;
  machine.links = "nvlink";
  machine.link = machine.pair = 100e9;
  machine.host = 31.5e9;
  machine.power = 700;
  machine.gpus_per_node = 8;
  machine.nics = 100e9;
  machine.fabric = "roce";
  return machine;
}

inline Factors SomeFactors() {
  Factors factors;
  factors.Set("compute", 0.8);
  factors.Set("memory", 0.9);
  factors.Set("ring", 0.75);
  factors.Set("switch", 1.0);
  factors.Set("pair", 0.9);
  factors.Set("net", 0.9);
  factors.Set("latency.node", 1e-5);
  factors.Set("latency.net", 2e-5);
  factors.Set("step", 0.7);
  factors.Set("overlap", 1.0);
  return factors;
}

inline constexpr char kSmall[] =
    "layers=8,hidden=1024,heads=16,vocabulary=32000,sequence=1024,batch=64,precision=bf16,";

// The job that ParseJob reads from kSmall and `more`; a job without layers if it is refused.
inline Job SmallJob(const std::string& more) {
  const auto job = ParseJob(kSmall + more);
  return job.ok() ? *job : Job{};
}

}  // namespace galen::perfmodel

#endif  // TESTS_UNIT_COMMON_PERFMODEL_WORLD_H_
