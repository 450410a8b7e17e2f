#ifndef SERVICES_CLI_MESH_ARGUMENTS_H_
#define SERVICES_CLI_MESH_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "services/cli/source_options.h"

namespace galen::cli {

// The parts of a mesh in this process, as `galen diagnose` and `galen up` name them.
struct MeshArguments {
  std::vector<std::string> knowledge;
  std::string store;  // declared by each command itself
  std::string history;
  SourceOptions sources;
  std::string llm;
  std::string llm_cache;
};

// Declares --knowledge, --llm, --history, --prometheus with its files, and --llm-cache.
void DeclareMesh(CLI::App& command, MeshArguments& arguments);

}  // namespace galen::cli

#endif  // SERVICES_CLI_MESH_ARGUMENTS_H_
