#ifndef SERVICES_CLI_KB_INGEST_COMMAND_H_
#define SERVICES_CLI_KB_INGEST_COMMAND_H_

#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen kb ingest` as it was called.
struct IngestArguments {
  std::vector<std::string> knowledge;
  std::string site;
  std::vector<std::string> files;
  bool dry_run = false;  // nothing is written
  std::string llm;       // endpoint of a model that is asked too; "": none
  std::string llm_cache;
  bool json = false;
};

// Makes proposals of past tickets in the site's folder `proposals`; none becomes knowledge before a
// person accepted it. Says what each ticket was taken for, and what could not be read.
ExitCode IngestTickets(const IngestArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_INGEST_COMMAND_H_
