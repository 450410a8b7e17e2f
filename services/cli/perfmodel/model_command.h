#ifndef SERVICES_CLI_PERFMODEL_MODEL_COMMAND_H_
#define SERVICES_CLI_PERFMODEL_MODEL_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/perfmodel/steady_mean.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen model` as it was called.
struct ModelArguments {
  std::vector<std::string> knowledge;
  std::vector<std::string> measured;  // files of own measurements
  bool alone = false;                 // without the published ones
  // predict, explain
  std::string job;  // a file; or the fields of it:
  std::string shape;
  std::string gpu;
  std::int64_t gpus_per_node = 8;
  std::string nics;
  std::string fabric;
  std::optional<double> took;  // seconds that a step was measured to take
  std::string roofline;        // files to draw into
  std::string mix;
  // calibrate
  bool test = false;
  std::uint32_t splits = 0;
  double confidence = 0.9;
  // steady
  std::string samples;  // a file
  std::string column;   // of it
  perfmodel::StopRule steady;
  bool json = false;
};

CLI::App* DeclareModel(CLI::App& app, ModelArguments& arguments);
ExitCode RunModel(const CLI::App& model, const ModelArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PERFMODEL_MODEL_COMMAND_H_
