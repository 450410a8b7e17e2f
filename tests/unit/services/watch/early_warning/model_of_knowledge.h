#ifndef TESTS_UNIT_SERVICES_WATCH_EARLY_WARNING_MODEL_OF_KNOWLEDGE_H_
#define TESTS_UNIT_SERVICES_WATCH_EARLY_WARNING_MODEL_OF_KNOWLEDGE_H_

#include <map>
#include <string>

#include "common/knowledge/load.h"
#include "common/perfmodel/calibrate.h"
#include "common/perfmodel/tables/read_table.h"
#include "services/watch/early_warning/predictions.h"

// The performance model as the knowledge has it.
namespace galen::watch::early_warning {

inline const HardwareFacts& Facts() {
  static const HardwareFacts facts = [] {
    HardwareFacts read;
    const auto knowledge = knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, {}).value();
    for (const auto& hardware : knowledge->base().hardware()) {
      read[hardware.model()] = {hardware.facts().begin(), hardware.facts().end()};
    }
    return read;
  }();
  return facts;
}

inline const perfmodel::Calibration& Calibrated() {
  static const perfmodel::Calibration calibration = [] {
    const auto find = [](const std::string& model) -> const std::map<std::string, double>* {
      const auto found = Facts().find(model);
      return found != Facts().end() ? &found->second : nullptr;
    };
    return perfmodel::Calibrate(
               perfmodel::LoadTables({GALEN_SOURCE_DIR "/knowledge"}, find).value())
        .value();
  }();
  return calibration;
}

// Two machines.
inline constexpr char kJob[] =
    "gpu: A100-SXM4-80GB\nnics: 8x200\nfabric: infiniband\n"
    "shape: "
    "layers=8,hidden=1024,heads=16,vocabulary=32000,sequence=2048,batch=64,gpus=16,tp=2,precision="
    "bf16\n";

}  // namespace galen::watch::early_warning

#endif  // TESTS_UNIT_SERVICES_WATCH_EARLY_WARNING_MODEL_OF_KNOWLEDGE_H_
