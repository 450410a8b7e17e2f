// A libnvidia-ml.so.1 with the few calls that a stress test makes, from the same script.
#include <cstdio>

#include "tests/unit/services/node/checks/cuda/fake_script.h"

namespace {

const galen::fake::Script& TheScript() {
  static const galen::fake::Script script = galen::fake::ReadScript();
  return script;
}

int number = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  *device = &number;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = static_cast<unsigned>(TheScript().power * 1000);
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = static_cast<unsigned>(TheScript().power_limit * 1000);
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1410;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return 0;
}

}  // extern "C"
