#include "services/cli/mesh_arguments.h"

#include "services/cli/answer.h"

namespace galen::cli {

void DeclareMesh(CLI::App& command, MeshArguments& arguments) {
  DeclareKnowledge(command, arguments.knowledge);
  command
      .add_option("--llm", arguments.llm,
                  "Endpoint file of a language model (docs/llm.md); none: nothing is sent anywhere")
      ->envname("GALEN_LLM")
      ->type_name("FILE");
  command
      .add_option("--history", arguments.history,
                  "The site's own past incidents (`galen kb history`), in addition to those of the "
                  "knowledge")
      ->type_name("DIR");
  DeclarePrometheus(command, arguments.sources);
  command
      .add_option("--llm-cache", arguments.llm_cache,
                  "Keep the model's answers in this file or Redis")
      ->type_name("FILE|URL");
}

}  // namespace galen::cli
